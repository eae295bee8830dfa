/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace convert: converts a finished trace.dat to CTF. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/client/mapped.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/kernel_stream.h"
#include "tools/ftrace/dat_pages.h"
#include "tools/ftrace/order.h"
#include "tools/sink/sink.h"

#define PROGRAM "tracepulse-ftrace convert"
#define SESSION_SIZE 200

struct convert_options {
	const char *file;
	const char *directory, *relay; /* one of them is NULL */
	struct send_sink_config target;
	char session[SESSION_SIZE];
	enum kernel_names names;
	bool has_offset, is_quiet, has_symbols;
	int64_t offset_ns;
};

static enum status
take_offset(const struct option_row *r, void *to, const char *arg)
{
	struct convert_options *o = to;
	char *end;

	(void)r;
	errno = 0;
	o->offset_ns = strtoll(arg, &end, 10);
	o->has_offset = true;
	return errno == 0 && end != arg && *end == '\0' &&
		       o->offset_ns <= KERNEL_OFFSET_MAX &&
		       o->offset_ns >= -KERNEL_OFFSET_MAX
		   ? OK
		   : E_MALFORMED;
}

static enum status
take_session(const struct option_row *r, void *to, const char *arg)
{
	struct convert_options *o = to;

	(void)r;
	(void)snprintf(o->session, sizeof(o->session), "%s", arg);
	return *arg != '\0' && strlen(arg) < sizeof(o->session) ? OK
								: E_MALFORMED;
}

#define OPTIONS_TABLE "tools/ftrace/convert_options.tbl.h"
#define OPTIONS_STRUCT struct convert_options
#include "common/option_rows.h"

static const struct option_table table = { COMMAND_TABLE("convert",
    "[OPTION]... FILE DIRECTORY\n"
    "       " PROGRAM " [OPTION]... FILE --relay=URL\n"
    "Converts a trace.dat of trace-cmd to CTF 1.8.\n") };

/* The name of the file, without ".dat". */
static void
name_session(struct convert_options *o)
{
	const char *base = strrchr(o->file, '/');
	const size_t most = sizeof(o->session) - 1;
	size_t n;

	base = base == NULL ? o->file : base + 1;
	n = strlen(base);
	if (n > 4 && strcmp(base + n - 4, ".dat") == 0)
		n -= 4;
	(void)snprintf(o->session, sizeof(o->session), "%.*s",
	    (int)(n < most ? n : most), base);
}

static enum status
take_operands(struct convert_options *o, int n, char **operands)
{
	const char *to, *why;
	enum status st;

	if (n < 1)
		return option_refuse(&table, "FILE is required; see --help");
	o->file = operands[0];
	o->directory = n == 2 ? operands[1] : NULL;
	if ((o->directory == NULL) == (o->relay == NULL))
		return option_refuse(
		    &table, "either DIRECTORY or --relay is required");
	if (o->relay == NULL && o->session[0] != '\0')
		return option_refuse(&table, "--session requires --relay");
	if (o->session[0] == '\0')
		name_session(o);
	to = o->relay != NULL ? o->relay : o->directory;
	st = o->relay != NULL ? send_sink_remote(&o->target, to, &why)
			      : send_sink_address(&o->target, to, &why);
	if (st != OK)
		return option_refuse(&table, "%s: %s", to, why);
	if (o->relay == NULL && o->target.target != SEND_DIR)
		return option_refuse(
		    &table, "%s: a directory is required; or --relay", to);
	if (o->target.kafka_config != NULL && o->target.target != SEND_TOPIC)
		return option_refuse(
		    &table, "--kafka-config requires a kafka:// URL");
	return OK;
}

/* The main ring buffer has no name. */
#define MAIN_BUFFER "kernel"

struct convert {
	const struct convert_options *options;
	struct mapped file;
	struct dat *dat;
	struct send_sink *sink;
	struct send_output *out;
	char host[DAT_NAME_MAX];
	enum status failed;	   /* of OUT */
	char folder[DAT_NAME_MAX]; /* of the ring buffer */
	unsigned stream;	   /* of the CPU, if it has one */
	bool has_stream;
	struct kernel_counts counts;
	unsigned n_buffers; /* with pages */
	unsigned n_cpus;    /* with pages, in all buffers */
};

static void
on_bus_error(int number)
{
	static const char text[] = PROGRAM
	    ": the file was cut short while it was read\n";

	(void)number;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

static enum status
complain(const char *about, const char *what)
{
	fprintf(stderr, PROGRAM ": %s: %s\n", about, what);
	return E_IO;
}

/* ST is the result of a function of the output. */
static enum status
check(struct convert *c, enum status st)
{
	const char *why = c->out->ops->error(c->out);

	if (st == OK || c->failed != OK)
		return st;
	c->failed = st;
	(void)complain(
	    c->options->file, why[0] != '\0' ? why : status_text(st));
	return st;
}

static enum status
add_stream(struct convert *c, const char *name, unsigned *number)
{
	send_position position;

	return c->out->ops->add_stream(
	    c->out, c->folder, name, number, &position);
}

static enum status
begin_buffer(
    struct convert *c, const char *name, const struct kernel_trace *trace)
{
	const bool is_top = c->options->target.target == SEND_DIR &&
			    c->n_buffers == 1;
	unsigned metadata;
	enum status st;

	kernel_file_name(c->folder, name, MAIN_BUFFER);
	if (is_top)
		c->folder[0] = '\0';
	st = add_stream(c, "metadata", &metadata);
	if (st == OK)
		st = c->out->ops->metadata(c->out, metadata,
		    buf_data(&trace->metadata), buf_len(&trace->metadata));
	return check(c, st);
}

static enum status
begin_stream(struct convert *c, unsigned cpu)
{
	char name[32];
	enum status st;

	(void)snprintf(name, sizeof(name), "cpu_%u", cpu);
	st = add_stream(c, name, &c->stream);
	c->has_stream = st == OK;
	return st == OK ? c->out->ops->streams_sent(c->out) : st;
}

static enum status
end_stream(struct convert *c)
{
	if (!c->has_stream)
		return OK;
	c->has_stream = false;
	return check(c, c->out->ops->close_stream(c->out, c->stream));
}

static enum status
send_packet(void *arg, const struct kernel_packet *p)
{
	struct convert *c = arg;
	struct client_packet packet = kernel_client_packet(p);
	enum status st = c->has_stream ? OK : begin_stream(c, p->cpu);

	if (st == OK && c->out->ops->keeps_packets)
		st = kernel_client_packet_copy(&packet, p);
	if (st != OK)
		return check(c, st);
	st = c->out->ops->packet(c->out, c->stream, &packet);
	if (st != OK)
		client_packet_done(&packet); /* on failure it stays ours */
	return check(c, st);
}

static enum status
take_page(void *arg, const uint8_t *page)
{
	return kernel_stream_page(arg, page);
}

/* After broken compressed pages the CPU's other pages cannot be read. */
static enum status
check_pages(struct convert *c, unsigned cpu, enum status st)
{
	if (c->failed != OK || st == OK)
		return c->failed;
	fprintf(stderr, PROGRAM ": %s: CPU %u: cannot read its pages: %s\n",
	    c->options->file, cpu, status_text(st));
	c->counts.malformed++;
	return st == E_NOMEM || st == E_REFUSED ? st : OK;
}

static enum status
convert_cpu(struct convert *c, const struct kernel_trace *trace,
    const struct dat_buffer *b, const struct dat_pages *cpu)
{
	const struct kernel_stream_config config = {
		.trace = trace,
		.cpu = cpu->cpu,
		.page_size = b->page_size,
		.packet = send_packet,
		.arg = c,
	};
	struct kernel_stream *s;
	enum status st = kernel_stream_create(&s, &config);

	if (st != OK)
		return complain(c->options->file, status_text(st));
	st = dat_pages_each(c->dat, b, cpu, c->file.p, c->file.n, take_page, s);
	if (c->failed == OK && kernel_stream_flush(s) == OK &&
	    end_stream(c) != OK && st == OK)
		st = E_IO;
	st = check_pages(c, cpu->cpu, st);
	kernel_counts_add(&c->counts, &s->counts);
	kernel_stream_destroy(s);
	return st;
}

static void
set_offset(const struct convert *c, struct kernel_settings *s)
{
	const struct convert_options *o = c->options;

	kernel_settings_offset(s, c->dat);
	if (!o->has_offset)
		return;
	s->has_offset = true;
	s->offset_ns = o->offset_ns;
	s->offset_from = "given";
}

static enum status
convert_buffer(struct convert *c, const struct dat_buffer *b)
{
	struct kernel_settings settings = { .names = c->options->names,
		.buffer = b->name };
	char why[DAT_WHY_MAX];
	struct kernel_trace *trace;
	enum status st;

	/* A page begins with its time; recordings with compressed pages have an
	 * id of their own. */
	if (b->cpus[0].size >= sizeof(uint64_t))
		settings.some_time = order_u64(
		    c->dat->is_big, c->file.p + b->cpus[0].at);
	set_offset(c, &settings);
	st = kernel_trace_create(&trace, c->dat, &settings, why);
	if (st != OK)
		return complain(c->options->file, why);
	st = begin_buffer(c, b->name, trace);
	for (unsigned i = 0; i < b->n_cpus && st == OK; i++)
		st = convert_cpu(c, trace, b, &b->cpus[i]);
	kernel_trace_destroy(trace);
	return st;
}

static enum status
open_file(struct convert *c)
{
	const char *name = c->options->file;
	char why[DAT_WHY_MAX];
	enum status st = mapped_open(&c->file, name, false);

	if (st != OK)
		return complain(name,
		    errno == EINVAL ? "not a regular file" : strerror(errno));
	st = dat_read_symbols(
	    &c->dat, c->file.p, c->file.n, c->options->has_symbols, why);
	if (st != OK)
		return complain(name, why);
	for (unsigned i = 0; i < c->dat->n_buffers; i++) {
		c->n_buffers += c->dat->buffers[i].n_cpus > 0;
		c->n_cpus += c->dat->buffers[i].n_cpus;
	}
	if (c->n_buffers == 0)
		return complain(
		    name, "no events to convert: the file has no pages");
	return OK;
}

/* A signal ends the program. */
static bool
always(void *arg)
{
	(void)arg;
	return true;
}

static enum status
open_sink(struct convert *c)
{
	const struct convert_options *o = c->options;
	const char *about = o->relay != NULL ? o->relay : o->file;
	char why[SEND_ERROR_MAX];
	const struct send_output_config config = {
		.session = { .hostname = c->host,
		    .name = o->relay != NULL ? o->session : "" },
		.goes_on = always,
	};
	enum status st;

	kernel_file_name(c->host, c->dat->hostname, "unknown");
	st = send_sink_open(&c->sink, &o->target, why);
	if (st == OK)
		st = c->sink->ops->open(c->sink, &config, &c->out, why);
	return st == OK ? OK : complain(about, why);
}

static void
report(const struct convert *c)
{
	const struct kernel_counts *n = &c->counts;

	if (!c->options->is_quiet)
		printf("%" PRIu64 " events of %u CPUs in %" PRIu64
		       " packets, %" PRIu64 " bytes\n",
		    n->events, c->n_cpus, n->packets, n->bytes);
	if (n->lost + n->unknown + n->malformed + n->late == 0)
		return;
	fprintf(stderr,
	    PROGRAM ": %s: not in the trace: %" PRIu64
		    " events that the kernel lost, %" PRIu64
		    " that are not described, %" PRIu64
		    " that cannot be read, %" PRIu64
		    " older than the event before them\n",
	    c->options->file, n->lost, n->unknown, n->malformed, n->late);
}

static enum status
convert_all(struct convert *c)
{
	enum status st = open_file(c);

	if (st == OK)
		st = open_sink(c);
	for (unsigned i = 0; st == OK && i < c->dat->n_buffers; i++)
		if (c->dat->buffers[i].n_cpus > 0)
			st = convert_buffer(c, &c->dat->buffers[i]);
	if (st == OK)
		st = check(c, c->out->ops->finish(c->out));
	if (st == OK)
		report(c);
	return st;
}

int
command_convert(int argc, char **argv)
{
	struct convert_options o = { .target = { .program = PROGRAM,
					 .is_new_dir = true } };
	struct convert c = { .options = &o };
	enum status st;
	struct option_words words;
	int status;

	status = command_parse(&table, &o, argc, argv, 0, 2, &words);
	if (status != COMMAND_RUNS)
		return status;
	if (take_operands(&o, argc - words.first, argv + words.first) != OK)
		return EXIT_USAGE;
	signal(SIGBUS, on_bus_error);
	st = convert_all(&c);
	if (c.out != NULL)
		c.out->ops->destroy(c.out);
	if (c.sink != NULL)
		c.sink->ops->destroy(c.sink);
	dat_free(c.dat);
	mapped_close(&c.file);
	return st == OK ? 0 : 1;
}
