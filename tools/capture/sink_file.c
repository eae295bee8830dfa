/* SPDX-License-Identifier: MIT */
/*
 * Packets to an output of libtrace: compressed pcap files (in microseconds),
 * erf: (Ethernet to less than a nanosecond, others in microseconds), ... Other
 * pcap files are those of sink_pcap.c. libtrace 3
 * writes lengths below 65536, of Ethernet including the checksum: of longer
 * packets the first 65531 bytes are written (65535 of other types, 65517 to
 * erf:), and the length on the wire is limited likewise.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libtrace.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/publish.h"
#include "common/thread.h"
#include "tools/capture/libtrace_packet.h"
#include "tools/capture/little.h"
#include "tools/capture/options.h"
#include "tools/capture/privileges.h"
#include "tools/capture/sink.h"
#include "tools/capture/source.h"

/* Fewer switches between both threads; a larger pipe is refused. */
#define PIPE_SIZE (1 << 20)
#define COPY_SIZE (1 << 16)

/*
 * A file written by a library that does not report failures: the library writes
 * to a pipe, and a thread of ours from there to the file.
 */
struct outfile {
	int fd;
	int reading, writing; /* the ends of the pipe */
	pthread_t thread;
	bool has_thread;
	struct published error; /* errno */
	char path[32];		/* for the library to open */
	uint8_t copy[COPY_SIZE];
};

/* The errno of the first failure; 0: none yet. */
static int
outfile_error(const struct outfile *f)
{
	return (int)published(&f->error);
}

static bool
write_out(int fd, const uint8_t *p, size_t n)
{
	while (n > 0) {
		const ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

/* After a failure the pipe is still emptied, so that the library does not
 * block. */
static void *
copy_all(void *arg)
{
	struct outfile *f = arg;
	ssize_t n;

	if (privileges_drop_own() != OK)
		publish(&f->error, (uint64_t)errno);
	while ((n = read(f->reading, f->copy, COPY_SIZE)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			publish(&f->error, (uint64_t)errno);
			break;
		}
		if (outfile_error(f) == 0 &&
		    !write_out(f->fd, f->copy, (size_t)n))
			publish(&f->error, (uint64_t)errno);
	}
	return NULL;
}

/* Call it when the library has closed its end: writes the rest. Returns as
 * outfile_error(). Some file systems report only now that the disk was full. */
static int
outfile_finish(struct outfile *f)
{
	if (f->writing >= 0)
		close(f->writing);
	f->writing = -1;
	if (f->has_thread)
		pthread_join(f->thread, NULL);
	f->has_thread = false;
	if (f->fd >= 0 && close(f->fd) != 0 && outfile_error(f) == 0)
		publish(&f->error, (uint64_t)errno);
	f->fd = -1;
	return outfile_error(f);
}

static void
outfile_destroy(struct outfile *f)
{
	const int saved = errno;

	if (f == NULL)
		return;
	(void)!outfile_finish(f);
	if (f->reading >= 0)
		close(f->reading);
	free(f);
	errno = saved;
}

/* Takes FD. Not OK: errno. */
static enum status
outfile_create(struct outfile **out, int take_fd)
{
	struct outfile *f = calloc(1, sizeof(*f));
	int ends[2];

	*out = NULL;
	if (f == NULL) {
		close(take_fd);
		return E_NOMEM;
	}
	f->reading = f->writing = -1;
	f->fd = take_fd;
	if (pipe2(ends, O_CLOEXEC) != 0)
		goto fail;
	f->reading = ends[0];
	f->writing = ends[1];
	(void)fcntl(f->writing, F_SETPIPE_SZ, PIPE_SIZE);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->writing);
	errno = thread_start(&f->thread, copy_all, f);
	f->has_thread = errno == 0;
	if (!f->has_thread)
		goto fail;
	*out = f;
	return OK;
fail:
	outfile_destroy(f);
	return E_IO;
}

/* A packet that libtrace constructs has this header before its bytes, in host
 * order (the pcap format's record header). */
struct constructed {
	uint32_t seconds, microseconds, cap_len, wire_len;
};

/* A record of Endace's Extensible Record Format, with a resolution of 2^-32 s;
 * packets of Ethernet have two more bytes before them. */
#define ERF_HEADER_LEN 16
#define ERF_PAD_LEN 2
#define ERF_VARYING_LENGTH 4 /* of the flags */
#define ERF_ETHERNET 2
#define ETHERNET_CHECKSUM_LEN 4
#define ERF_LEN_MAX (UINT16_MAX - ERF_HEADER_LEN - ERF_PAD_LEN)

struct sink_file {
	struct sink sink; /* first */
	libtrace_out_t *out;
	libtrace_packet_t *packet;
	libtrace_packet_t *erf_packet;
	libtrace_t *erf; /* the input that such packets claim, or NULL */
	uint8_t record[UINT16_MAX];
	struct outfile *file; /* NULL: the output is not a file */
	const char *uri;      /* borrowed */
	bool has_one_type;    /* the output takes one link type only */
	libtrace_linktype_t
	    type; /* that type; unknown before the first packet */
};

static const trace_option_compresstype_t compressions[] = {
	[SINK_GZIP] = TRACE_OPTION_COMPRESSTYPE_ZLIB,
	[SINK_BZIP2] = TRACE_OPTION_COMPRESSTYPE_BZ2,
	[SINK_XZ] = TRACE_OPTION_COMPRESSTYPE_LZMA,
	[SINK_PLAIN] = TRACE_OPTION_COMPRESSTYPE_NONE,
};

static struct sink_file *
file_of(struct sink *sink)
{
	return (struct sink_file *)sink;
}

/* Note libtrace's last error. Returns ST. */
static enum status
libtrace_failed(struct sink_file *f, enum status st)
{
	const libtrace_err_t e = trace_get_err_output(f->out);
	const char *what = e.problem[0] != '\0' ? e.problem
						: "cannot write to the output";

	return sink_fail(
	    &f->sink, st, "%s: %.*s", f->uri, (int)strcspn(what, "\n"), what);
}

/* Formats whose outputs are files. The first is that of a plain name. */
static const struct format {
	const char *prefix;
	bool is_pcap; /* a file has one link type */
	bool is_ng;
} formats[] = {
	{ "pcapfile:", true, false },
	{ "pcap:", true, false },
	{ "pcapng:", false, true },
	{ "erf:", false, false },
};

static bool
ends_in(const char *s, const char *end)
{
	const size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* The format of URI, and the file. NULL: it is not a file. */
static const struct format *
format_of(const char *uri, const char **path)
{
	const struct format *format = NULL;

	for (size_t i = 0; i < ARRAY_LEN(formats) && format == NULL; i++)
		if (strncmp(
			uri, formats[i].prefix, strlen(formats[i].prefix)) == 0)
			format = &formats[i];
	*path = format == NULL ? uri : uri + strlen(format->prefix);
	if (format == NULL && source_place(uri) == uri)
		format = &formats[0];
	if (format != NULL && format->is_pcap && ends_in(*path, ".pcapng"))
		format = &formats[2];
	return format;
}

/* An output of libtrace that writes to a file of ours. */
static enum status
create_file(struct sink_file *f, const struct format *format, const char *path)
{
	enum status st;
	char uri[64];
	int fd;

	st = sink_open_file(&f->sink, path, &fd);
	if (st != OK)
		return st;
	if (outfile_create(&f->file, fd) != OK)
		return sink_fail(
		    &f->sink, E_REFUSED, "%s: %s", path, strerror(errno));
	f->has_one_type = format->is_pcap;
	if (!format->is_pcap)
		f->erf = trace_create_dead("erf:-");
	snprintf(uri, sizeof(uri), "%s%s", format->prefix, f->file->path);
	f->out = trace_create_output(uri);
	return OK;
}

static enum status
create_output(struct sink_file *f)
{
	const char *path;
	const struct format *format = format_of(f->uri, &path);
	enum status st;

	if (format != NULL && format->is_ng)
		return sink_fail(&f->sink, E_REFUSED,
		    "%s: pcapng is written without --compress", f->uri);

	/* libtrace 3 reads freed memory to report this. */
	if (format == NULL && strncmp(f->uri, "int:", 4) != 0 &&
	    strncmp(f->uri, "ring:", 5) != 0)
		return sink_fail(&f->sink, E_REFUSED,
		    "%s: unknown output (not FILE, pcapfile:FILE, pcapng:FILE, "
		    "erf:FILE, int:INTERFACE or ring:INTERFACE)",
		    f->uri);
	if (format == NULL)
		f->out = trace_create_output(f->uri);
	else if ((st = create_file(f, format, path)) != OK)
		return st;
	if (f->out == NULL)
		return sink_fail(&f->sink, E_REFUSED,
		    "%s: libtrace does not support this output", f->uri);
	return trace_is_err_output(f->out) ? libtrace_failed(f, E_REFUSED) : OK;
}

static enum status
start_output(struct sink_file *f, const struct capture_options *options)
{
	trace_option_compresstype_t type = compressions[options->compression];
	int level = (int)options->level;

	/* An output without compression may refuse these options. */
	if ((trace_config_output(
		 f->out, TRACE_OPTION_OUTPUT_COMPRESS, &level) != 0 ||
		trace_config_output(
		    f->out, TRACE_OPTION_OUTPUT_COMPRESSTYPE, &type) != 0) &&
	    options->compression != SINK_PLAIN)
		return libtrace_failed(f, E_REFUSED);
	if (trace_start_output(f->out) != 0)
		return libtrace_failed(f, E_REFUSED);
	f->packet = trace_create_packet();
	f->erf_packet = trace_create_packet();
	if (f->packet == NULL || f->erf_packet == NULL)
		return sink_fail(&f->sink, E_NOMEM, "out of memory");
	return OK;
}

/* Report a failure of the file. */
static enum status
check_file(struct sink_file *f, int error)
{
	if (error == 0)
		return OK;
	return sink_fail(&f->sink, E_IO, "%s: %s", f->uri, strerror(error));
}

/* libtrace ends the program if a packet with its checksum is longer. */
static uint32_t
wire_max(libtrace_linktype_t type)
{
	return UINT16_MAX -
	       (type == TRACE_TYPE_ETH ? ETHERNET_CHECKSUM_LEN : 0);
}

static void
construct(struct sink_file *f, libtrace_linktype_t type,
    const struct record *record, const uint8_t *bytes)
{
	const uint32_t most = wire_max(type);
	const uint32_t len = record->len <= most ? record->len : most;
	struct constructed *h;

	trace_construct_packet(f->packet, type, bytes, (uint16_t)len);
	h = f->packet->header;
	h->seconds = (uint32_t)(record->ns / NS_PER_S);
	h->microseconds = (uint32_t)(record->ns % NS_PER_S / 1000);
	h->wire_len = record->wire_len <= most ? record->wire_len : most;
	PACKET_CACHE(f->packet)->wire_length = -1; /* libtrace's cached value */
}

static enum status
write_packet(struct sink_file *f, libtrace_packet_t *packet)
{
	libtrace_err_t e;

	/* pcap: returns 0 for success */
	if (trace_write_packet(f->out, packet) >= 0)
		return f->file != NULL ? check_file(f, outfile_error(f->file))
				       : OK;
	e = trace_get_err_output(f->out);
	if (e.err_num == TRACE_ERR_NO_CONVERSION ||
	    e.err_num == TRACE_ERR_BAD_PACKET)
		return E_MALFORMED;
	return libtrace_failed(f, E_IO);
}

/* Rounded up, so that a reader that rounds down gets the same nanoseconds. */
static uint64_t
erf_time(uint64_t ns)
{
	const uint64_t fraction = ((ns % NS_PER_S << 32) + NS_PER_S - 1) /
				  NS_PER_S;

	return ns / NS_PER_S << 32 | fraction;
}

static uint8_t *
big_u16(uint8_t *out, unsigned v)
{
	out = little_u8(out, (uint8_t)(v >> 8));
	return little_u8(out, (uint8_t)v);
}

static void
make_erf(struct sink_file *f, const struct record *r, const uint8_t *bytes)
{
	const uint32_t len = r->len <= ERF_LEN_MAX ? r->len : ERF_LEN_MAX;
	const uint32_t most = wire_max(TRACE_TYPE_ETH);
	/* libtrace counts the checksum. */
	const uint32_t wire = ETHERNET_CHECKSUM_LEN +
			      (r->wire_len <= most ? r->wire_len : most);
	uint8_t *at = little_u64(f->record, erf_time(r->ns));

	at = little_u8(at, ERF_ETHERNET);
	at = little_u8(at, ERF_VARYING_LENGTH);
	at = big_u16(at, ERF_HEADER_LEN + ERF_PAD_LEN + len);
	at = big_u16(at, 0); /* lost before it */
	at = big_u16(at, wire);
	at = big_u16(at, 0); /* the pad */
	(void)little_bytes(at, bytes, len);
}

/* Write a packet as if it had been read from a file of that format. */
static enum status
write_erf(struct sink_file *f, const struct record *r, const uint8_t *bytes)
{
	libtrace_packet_t *p = f->erf_packet;

	make_erf(f, r, bytes);
	p->trace = f->erf;
	p->type = TRACE_RT_DATA_ERF;
	p->buf_control = TRACE_CTRL_EXTERNAL;
	p->buffer = p->header = f->record;
	p->payload = f->record + ERF_HEADER_LEN + ERF_PAD_LEN;
	PACKET_CACHE(p)->capture_length = PACKET_CACHE(p)->wire_length = -1;
	PACKET_CACHE(p)->payload_length = -1;
	PACKET_CACHE(p)->link_type = TRACE_TYPE_ETH;
	return write_packet(f, p);
}

/* E_MALFORMED: the output does not support the link type, or, as a pcap file,
 * only that of its first packet. A failure to write buffered packets may be
 * reported later, at last by finish(). */
static enum status
write_by_type(struct sink_file *f, const struct record *r, const uint8_t *bytes)
{
	const libtrace_linktype_t type = linktype_to_libtrace(r->link_type);

	/* ERF has no packets without bytes. */
	if (type == TRACE_TYPE_UNKNOWN || (f->erf != NULL && r->len == 0))
		return E_MALFORMED;
	/* libtrace would write it with the first packet's type. */
	if (f->has_one_type && f->type != TRACE_TYPE_UNKNOWN && f->type != type)
		return E_MALFORMED;
	f->type = type;
	if (f->erf != NULL && type == TRACE_TYPE_ETH)
		return write_erf(f, r, bytes);
	construct(f, type, r, bytes);
	return write_packet(f, f->packet);
}

static enum status
put_record(struct sink *sink, const struct record *r, const uint8_t *bytes)
{
	enum status st;

	if (r->kind != RECORD_PACKET)
		return OK;
	st = write_by_type(file_of(sink), r, bytes);
	if (st == OK) {
		sink->written++;
		sink->bytes += r->len;
	} else if (st == E_MALFORMED) {
		sink->left_out++;
		st = OK;
	}
	return st;
}

/* Packets that were counted may still be in libtrace's buffers. libtrace must
 * close its end of the pipe before we close ours. An output that is a file
 * reports every failure; others do not. */
static enum status
finish(struct sink *sink)
{
	struct sink_file *f = file_of(sink);

	if (f->out != NULL)
		trace_destroy_output(f->out);
	f->out = NULL;
	return f->file != NULL ? check_file(f, outfile_finish(f->file)) : OK;
}

static void
destroy(struct sink *sink)
{
	struct sink_file *f = file_of(sink);

	if (f->packet != NULL)
		trace_destroy_packet(f->packet);
	if (f->erf_packet != NULL) {
		f->erf_packet->buffer = NULL; /* the buffer is ours */
		trace_destroy_packet(f->erf_packet);
	}
	if (f->erf != NULL)
		trace_destroy_dead(f->erf);
	if (f->out != NULL)
		trace_destroy_output(f->out);
	outfile_destroy(f->file);
}

static const struct sink_ops ops = {
	.record = put_record,
	.finish = finish,
	.destroy = destroy,
};

enum status
sink_file_create(struct sink **out, const struct sink_config *config,
    const struct capture_options *options, char why[SINK_ERROR_MAX])
{
	const char *path;
	const struct format *format = format_of(options->write, &path);
	struct sink_file *f;
	enum status st;

	if (options->compression == SINK_PLAIN && format != NULL &&
	    (format->is_pcap || format->is_ng))
		return sink_pcap_create(
		    out, config, path, format->is_ng, options, why);
	f = sink_new(sizeof(*f), &ops, config, why);
	if (f == NULL)
		return E_NOMEM;
	if (options->precision == PRECISION_MICRO ||
	    options->is_packet_buffered || options->rotation.max_bytes != 0 ||
	    options->rotation.max_ns != 0)
		return sink_opened(out, &f->sink,
		    sink_fail(&f->sink, E_REFUSED,
			"%s: -C, -G, -U and --time-stamp-precision are for "
			"pcap and pcapng files without --compress",
			options->write),
		    why);
	f->uri = options->write;
	f->type = TRACE_TYPE_UNKNOWN;
	st = create_output(f);
	if (st == OK)
		st = start_output(f, options);
	return sink_opened(out, &f->sink, st, why);
}
