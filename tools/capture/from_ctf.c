/* SPDX-License-Identifier: MIT */
/*
 * --from-ctf: a trace of this program back to packets. A stream may be in
 * several files, one for each trace chunk: files with the same trace UUID and
 * stream instance are read one after another. The packets of all streams are
 * merged by time.
 */
#include "tools/capture/capture.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/heap.h"
#include "tools/capture/privileges.h"
#include "tools/capture/console.h"
#include "tools/capture/sink.h"
#include "tools/capture/source.h"
#include "tools/send/trace.h"

/* One file of a stream, with its first packet's place in the stream. */
struct input_file {
	struct trace_stream *file;
	uint8_t uuid[CTF_UUID_LEN];
	uint64_t instance, seq;
};

struct input_stream {
	struct input_file *part; /* the current one */
	size_t n_parts;		 /* with those that follow */
	bool has_packet;
	uint64_t seq, discarded; /* of the last CTF packet */
	struct reader events;	 /* the rest of it */
	struct record next;	 /* a packet of the network, in the heap */
	const uint8_t *bytes;
};

struct conversion {
	const struct capture_options *options;
	struct traces traces;
	struct input_file *parts; /* of all streams, one stream after another */
	size_t n_parts;
	struct input_stream *streams;
	struct heap heap; /* streams that have a next packet, by its time */
	struct conversion_counts counts;
	struct sink *sink;
	struct console console;
	char error[SINK_ERROR_MAX];
};

static volatile sig_atomic_t is_interrupted;

static enum status PRINTF_LIKE(2, 3)
    fail(struct conversion *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->error, sizeof(c->error), fmt, args);
	va_end(args);
	return E_REFUSED;
}

static enum status
check_trace(struct conversion *c, const struct disk_trace *t)
{
	struct buf text = { 0 };
	const char *why;
	enum status st = tsdl_unpack(&text, t->metadata.p, t->metadata.n, &why);

	if (st == OK)
		st = ctf_metadata_check(
		    (const char *)buf_data(&text), buf_len(&text), &why);
	buf_free(&text);
	return st == OK ? OK
			: fail(c, "%s: a trace %s", c->options->from_ctf, why);
}

static enum status
add_part(struct conversion *c, struct trace_stream *file)
{
	struct input_file *p = &c->parts[c->n_parts];
	struct client_packet first;

	if (packets_next(&file->packets, &first) != OK)
		return OK; /* the file is empty */
	packets_rewind(&file->packets);
	p->file = file;
	p->instance = first.index.ctf_instance;
	p->seq = first.index.packet_seq_num;
	if (first.size < CTF_HEADER_LEN)
		return fail(c, "%s: a packet is too short", file->name);
	memcpy(p->uuid, first.data + CTF_UUID_AT, CTF_UUID_LEN);
	c->n_parts++;
	return OK;
}

static bool
is_same_stream(const struct input_file *a, const struct input_file *b)
{
	return a->instance == b->instance &&
	       memcmp(a->uuid, b->uuid, CTF_UUID_LEN) == 0;
}

static int
compare_parts(const void *left, const void *right)
{
	const struct input_file *a = left, *b = right;
	const int order = memcmp(a->uuid, b->uuid, CTF_UUID_LEN);

	if (order != 0)
		return order;
	if (a->instance != b->instance)
		return a->instance < b->instance ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static enum status
read_traces(struct conversion *c)
{
	const char *dir = c->options->from_ctf;
	enum status st = traces_add(&c->traces, dir, false);
	size_t n = 0;

	if (st == E_STOPPED)
		return fail(c, "%s: stopped by a signal", dir);
	if (st != OK)
		return fail(c, "%.600s", c->traces.error);
	for (unsigned i = 0; i < c->traces.n && st == OK; i++) {
		st = check_trace(c, c->traces.traces[i]);
		n += c->traces.traces[i]->n_streams;
	}
	if (st != OK)
		return st;
	c->parts = calloc(n + 1, sizeof(*c->parts));
	c->streams = calloc(n + 1, sizeof(*c->streams));
	if (c->parts == NULL || c->streams == NULL)
		return fail(c, "out of memory");
	for (unsigned i = 0; i < c->traces.n; i++)
		for (unsigned k = 0; k < c->traces.traces[i]->n_streams; k++)
			if (add_part(c, &c->traces.traces[i]->streams[k]) != OK)
				return E_REFUSED;
	qsort(c->parts, c->n_parts, sizeof(*c->parts), compare_parts);
	return OK;
}

/* Count what was lost before a packet. If the beginning of a stream is not in
 * the trace, its first packet only says where counting starts. */
static void
count_losses(
    struct conversion *c, struct input_stream *s, const struct relay_index *i)
{
	if (!s->has_packet && i->packet_seq_num > 0)
		s->discarded = i->events_discarded;
	if (s->has_packet && i->packet_seq_num > s->seq + 1)
		c->counts.missing += i->packet_seq_num - s->seq - 1;
	if (i->events_discarded > s->discarded)
		c->counts.discarded += i->events_discarded - s->discarded;
	s->has_packet = true;
	s->seq = i->packet_seq_num;
	s->discarded = i->events_discarded;
}

/* Go to the next CTF packet; E_NOENT: there is none. */
static enum status
next_ctf_packet(struct conversion *c, struct input_stream *s)
{
	struct client_packet k;
	enum status st;

	/* A trace may be there twice: a packet that was read is left out. */
	do {
		while ((st = packets_next(&s->part->file->packets, &k)) ==
			   E_NOENT &&
		       s->n_parts > 1) {
			s->part++;
			s->n_parts--;
		}
	} while (st == OK && s->has_packet && k.index.packet_seq_num <= s->seq);
	if (st == E_NOENT)
		return st;
	if (st != OK || k.index.content_size / 8 < CTF_HEADER_LEN)
		return fail(c, "%s/%s: invalid packet",
		    s->part->file->trace->path, s->part->file->name);
	count_losses(c, s, &k.index);
	s->events = reader_over(
	    k.data + CTF_HEADER_LEN, k.index.content_size / 8 - CTF_HEADER_LEN);
	return OK;
}

/* Put the next packet of a stream into the heap, if there is one. */
static enum status
next_packet(struct conversion *c, struct input_stream *s)
{
	enum status st;

	do {
		while (reader_left(&s->events) == 0)
			if ((st = next_ctf_packet(c, s)) != OK)
				return st == E_NOENT ? OK : st;
		if (event_decode(&s->events, &s->next, &s->bytes) != OK)
			return fail(c, "%s/%s: invalid event",
			    s->part->file->trace->path, s->part->file->name);
	} while (s->next.kind != RECORD_PACKET);
	if (heap_push(&c->heap, s->next.ns, s) != OK)
		return fail(c, "out of memory");
	return OK;
}

static enum status
begin_streams(struct conversion *c)
{
	struct input_stream *s = c->streams;
	enum status st = OK;

	for (size_t i = 0; i < c->n_parts && st == OK; i += s++->n_parts) {
		s->part = &c->parts[i];
		while (i + s->n_parts < c->n_parts &&
		       is_same_stream(s->part, &s->part[s->n_parts]))
			s->n_parts++;
		st = next_packet(c, s);
	}
	return st;
}

static enum status
write_packets(struct conversion *c)
{
	struct input_stream *s;
	enum status st = begin_streams(c);

	while (st == OK && (s = heap_pop(&c->heap)) != NULL) {
		if (is_interrupted)
			return fail(c,
			    "%s: stopped by a signal; the rest of the packets "
			    "were "
			    "not written",
			    c->options->from_ctf);
		c->counts.read++;
		st = c->sink->ops->record(c->sink, &s->next, s->bytes);
		if (st == OK)
			st = next_packet(c, s);
	}
	return st;
}

/* Is the output an existing file of the trace? */
static bool
is_own_file(const struct capture_options *o)
{
	char *top = realpath(o->from_ctf, NULL),
	     *out = realpath(source_place(o->write), NULL);
	const size_t n = top != NULL ? strlen(top) : 0;
	const bool is_own = top != NULL && out != NULL &&
			    strncmp(top, out, n) == 0 && out[n] == '/';

	free(top);
	free(out);
	return is_own;
}

static enum status
convert(struct conversion *c)
{
	const struct capture_options *o = c->options;
	const struct sink_config config = { 0 };
	enum status st = read_traces(c), finished;

	if (st == OK && is_own_file(o))
		return fail(c, "%s: this file is within the trace %s", o->write,
		    o->from_ctf);
	/* A trace that is refused does not overwrite an existing file. */
	if (st == OK)
		st = sink_file_create(&c->sink, &config, o, c->error);
	if (st != OK)
		return st;
	st = write_packets(c);
	/* Packets written before a failure or a signal stay readable. */
	finished = sink_finish(c->sink);
	if (c->sink->error[0] != '\0')
		(void)fail(c, "%s", c->sink->error);
	return st == OK ? finished : st;
}

static void
on_signal(int number)
{
	(void)number;
	is_interrupted = 1;
}

static void
watch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal,
		.sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int
from_ctf_run(const struct capture_options *o)
{
	struct conversion c = { .options = o,
		.traces = { .stop = &is_interrupted } };
	enum status st;

	if (privileges_keep_capture() != OK) {
		console_error(strerror(errno));
		return 1;
	}
	watch_signals();
	console_begin(&c.console);
	st = convert(&c);
	if (st != OK)
		console_error(c.error);
	if (c.sink != NULL && o->json)
		console_conversion_json(&c.console, &c.counts, c.sink);
	else if (c.sink != NULL && !o->quiet)
		console_conversion(&c.console, &c.counts, c.sink);
	sink_destroy(c.sink);
	heap_free(&c.heap);
	free(c.streams);
	free(c.parts);
	traces_free(&c.traces);
	return fflush(stdout) == 0 && st == OK ? 0 : 1;
}
