/* SPDX-License-Identifier: MIT */
/*
 * The sink "a directory": DIR/HOST/SESSION-TIME/PATH has metadata, stream files
 * and their index files (streaming 5.6), as a relay writes them. A record
 * follows its packet, so they can be read at any time. After a crash the files
 * are cut to the last record whose packet is whole, and continued; so only what
 * is never continued is not synced.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/relpath.h"
#include "ctf/index.h"
#include "tools/client/trace_dir.h"
#include "tools/sink/sink.h"

#define STAMP_MAX 32

struct to_dir {
	struct send_sink sink; /* first */
	const struct send_sink_config *config;
	int root;
};

struct dir_stream {
	char *name; /* PATH/CHANNEL */
	bool is_metadata;
	int data, index; /* -1: closed, or none */
	uint64_t at, index_at;
	struct client_answered written;
	bool is_synced;
};

struct dir_output {
	struct send_output output; /* first */
	char *path;
	int dir;      /* locked: one writer at a time */
	bool is_once; /* it is never continued */
	struct dir_stream *streams;
	unsigned n;
	struct client_stats stats;
	enum status failed;
	char error[SEND_ERROR_MAX];
};

static struct dir_output *
dir_of(const struct send_output *o)
{
	return (struct dir_output *)(uintptr_t)o;
}

static enum status PRINTF_LIKE(3, 4)
    fail(struct dir_output *d, enum status st, const char *fmt, ...)
{
	va_list args;

	if (d->failed != OK)
		return d->failed;
	va_start(args, fmt);
	vsnprintf(d->error, sizeof(d->error), fmt, args);
	va_end(args);
	return d->failed = st;
}

static enum status
fail_errno(struct dir_output *d, const char *name)
{
	const enum status st = errno == ENOSPC ? E_NOSPC : E_IO;

	return fail(d, st, "%s/%s: %s", d->path, name, strerror(errno));
}

/* Open NAME in the directory DIR; a link is not followed. */
static int
open_file(int dir, const char *name)
{
	return openat(
	    dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/* Bytes of a file; -1 with errno. */
static off_t
size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_size : -1;
}

static bool
read_record(const struct dir_stream *s, uint64_t n, struct index_record *r)
{
	uint8_t bytes[INDEX_RECORD_MAX];

	if (pread(s->index, bytes, sizeof(bytes),
		(off_t)(INDEX_HEADER_LEN + n * sizeof(bytes))) != sizeof(bytes))
		return false;
	index_decode(bytes, r, 1);
	return true;
}

/* The last record whose packet is whole. False: there is none. */
static bool
last_record(struct dir_stream *s, off_t index_size, off_t data_size,
    struct index_record *r)
{
	struct index_record before;
	uint64_t n = (uint64_t)(index_size - INDEX_HEADER_LEN) /
		     INDEX_RECORD_MAX;

	s->at = 0;
	s->index_at = INDEX_HEADER_LEN;
	for (; n > 0; n--) {
		if (!read_record(s, n - 1, r) ||
		    (n > 1 && !read_record(s, n - 2, &before)))
			return false;
		if (index_is_whole(
			r, n > 1 ? &before : NULL, (uint64_t)data_size)) {
			s->at = index_end(r);
			s->index_at += n * INDEX_RECORD_MAX;
			return true;
		}
	}
	return false;
}

/* Begin an index file, or check that it can be continued. */
static enum status
open_header(struct dir_output *d, struct dir_stream *s, off_t index_size)
{
	uint8_t header[INDEX_HEADER_LEN];
	unsigned minor;

	if (index_size < INDEX_HEADER_LEN) {
		index_header_encode(header, 1);
		return trace_dir_write(s->index, header, sizeof(header), 0)
			   ? OK
			   : fail_errno(d, s->name);
	}
	if (pread(s->index, header, sizeof(header), 0) != sizeof(header) ||
	    index_header_decode(header, &minor) != OK || minor != 1)
		return fail(d, E_EXISTS,
		    "%s/%s: its index file was not written by this program",
		    d->path, s->name);
	return OK;
}

/* Cut both files to what is whole. */
static enum status
continue_stream(
    struct dir_output *d, struct dir_stream *s, send_position *position)
{
	const off_t index_size = size_of(s->index);
	const off_t data_size = size_of(s->data);
	struct index_record r;
	enum status st = open_header(d, s, index_size);

	if (st != OK)
		return st;
	if (last_record(s, index_size, data_size, &r))
		*position = r.packet_seq_num + 1;
	if (ftruncate(s->data, (off_t)s->at) != 0 ||
	    ftruncate(s->index, (off_t)s->index_at) != 0)
		return fail_errno(d, s->name);
	return OK;
}

static enum status
open_stream(struct dir_output *d, struct dir_stream *s, int dir,
    const char *channel, send_position *position)
{
	char *name;
	int index_dir;

	s->data = open_file(dir, channel);
	if (s->data < 0)
		return fail_errno(d, s->name);
	if (s->is_metadata) {
		*position = s->at = (uint64_t)size_of(s->data);
		return OK;
	}
	index_dir = trace_dir_below(dir, "index");
	if (index_dir >= 0 && asprintf(&name, "%s.idx", channel) > 0) {
		s->index = open_file(index_dir, name);
		free(name);
	}
	if (index_dir >= 0)
		close(index_dir);
	if (s->index < 0)
		return fail_errno(d, s->name);
	return continue_stream(d, s, position);
}

/* A new stream with checked names; NULL: not valid, or out of memory. */
static struct dir_stream *
new_stream(struct dir_output *d, const char *path, const char *channel)
{
	const bool has_path = path[0] != '\0';
	struct relpath *p = NULL, *c = NULL;
	struct dir_stream *more = NULL;
	char *name = NULL;

	if ((!has_path ||
		relpath_parse(&p, (struct span){ path, strlen(path) }) == OK) &&
	    relname_parse(&c, (struct span){ channel, strlen(channel) }) == OK)
		more = realloc(d->streams, (d->n + 1) * sizeof(*more));
	if (more != NULL)
		d->streams = more;
	if (more != NULL && asprintf(&name, "%s%s%s", has_path ? p->s : "",
				has_path ? "/" : "", c->s) > 0)
		more[d->n++] = (struct dir_stream){ .name = name,
			.is_metadata = strcmp(channel, "metadata") == 0,
			.data = -1,
			.index = -1 };
	relpath_free(p);
	relpath_free(c);
	return name == NULL ? NULL : &d->streams[d->n - 1];
}

static enum status
add_stream(struct send_output *o, const char *path, const char *channel,
    unsigned *number, send_position *position)
{
	struct dir_output *d = dir_of(o);
	struct dir_stream *s;
	enum status st;
	int dir;

	if (d->failed != OK)
		return d->failed;
	*position = 0;
	*number = d->n;
	s = new_stream(d, path, channel);
	if (s == NULL)
		return fail(d, E_MALFORMED, "\"%s/%s\": not a name for a file",
		    path, channel);
	dir = trace_dir_below(d->dir, path);
	if (dir < 0)
		return fail_errno(d, s->name);
	st = open_stream(d, s, dir, channel, position);
	close(dir);
	return st;
}

static enum status
metadata(struct send_output *o, unsigned number, const void *data, size_t size)
{
	struct dir_output *d = dir_of(o);
	struct dir_stream *s = &d->streams[number];

	if (d->failed == OK && !trace_dir_write(s->data, data, size, s->at))
		return fail_errno(d, s->name);
	s->at += size;
	s->is_synced = false;
	return d->failed;
}

static bool
write_packet(struct dir_stream *s, const struct client_packet *p)
{
	const uint64_t data_at = s->at + p->head_size;
	const uint32_t size = p->size - p->head_size;

	return trace_dir_write(s->data, p->head, p->head_size, s->at) &&
	       trace_dir_write(s->data, p->data, size, data_at) &&
	       (p->padding == 0 ||
		   ftruncate(s->data, (off_t)(s->at + p->size + p->padding)) ==
		       0);
}

static bool
write_record(struct dir_stream *s, const struct relay_index *i)
{
	const struct index_record r = { .offset = s->at,
		.packet_size = i->packet_size,
		.content_size = i->content_size,
		.timestamp_begin = i->timestamp_begin,
		.timestamp_end = i->timestamp_end,
		.events_discarded = i->events_discarded,
		.ctf_stream = i->ctf_stream,
		.ctf_instance = i->ctf_instance,
		.packet_seq_num = i->packet_seq_num };
	uint8_t bytes[INDEX_RECORD_MAX];

	index_encode(bytes, &r, 1);
	return trace_dir_write(s->index, bytes, sizeof(bytes), s->index_at);
}

static enum status
packet(struct send_output *o, unsigned number, const struct client_packet *p)
{
	struct dir_output *d = dir_of(o);
	struct dir_stream *s = &d->streams[number];

	if (d->failed != OK)
		return d->failed;
	if (!write_packet(s, p) || !write_record(s, &p->index)) {
		(void)fail_errno(d, s->name);
		(void)!ftruncate(s->index, (off_t)s->index_at);
		(void)!ftruncate(s->data, (off_t)s->at);
		return d->failed;
	}
	s->at += p->size + p->padding;
	s->index_at += INDEX_RECORD_MAX;
	s->is_synced = false;
	s->written.packets++;
	s->written.bytes += p->size;
	d->stats.packets++;
	d->stats.indexes++;
	d->stats.bytes += p->size;
	client_packet_done(p);
	return OK;
}

/* Who reads files waits for nobody. */
static enum status
beacon(struct send_output *o, unsigned number, uint64_t timestamp,
    uint64_t ctf_stream)
{
	(void)number;
	(void)timestamp;
	(void)ctf_stream;
	return dir_of(o)->failed;
}

static enum status
nothing_to_do(struct send_output *o)
{
	return dir_of(o)->failed;
}

static enum status
sync_stream(struct dir_output *d, struct dir_stream *s)
{
	if (d->is_once || s->is_synced || s->data < 0)
		return OK;
	if (fdatasync(s->data) != 0 ||
	    (s->index >= 0 && fdatasync(s->index) != 0))
		return fail_errno(d, s->name);
	s->is_synced = true;
	return OK;
}

static void
close_files(struct dir_stream *s)
{
	if (s->data >= 0)
		close(s->data);
	if (s->index >= 0)
		close(s->index);
	s->data = s->index = -1;
}

static enum status
close_stream(struct send_output *o, unsigned number)
{
	struct dir_output *d = dir_of(o);
	enum status st = d->failed;

	if (st == OK)
		st = sync_stream(d, &d->streams[number]);
	close_files(&d->streams[number]);
	return st;
}

static enum status
work(struct send_output *o, int timeout_ms)
{
	(void)poll(NULL, 0, timeout_ms);
	return dir_of(o)->failed;
}

static enum status
stored(struct send_output *o, bool *is_all)
{
	struct dir_output *d = dir_of(o);
	enum status st = d->failed;

	for (unsigned i = 0; i < d->n && st == OK; i++)
		st = sync_stream(d, &d->streams[i]);
	*is_all = st == OK;
	return st;
}

static void
cut(struct send_output *o)
{
	(void)o;
}

static enum status
finish(struct send_output *o)
{
	bool is_all;

	return stored(o, &is_all);
}

static const char *
error(const struct send_output *o)
{
	return dir_of(o)->error;
}

static const char *
path(const struct send_output *o)
{
	return dir_of(o)->path;
}

static void
stats(const struct send_output *o, struct send_stats *out)
{
	*out = (struct send_stats){ .sent = dir_of(o)->stats,
		.bytes_out = dir_of(o)->stats.bytes };
}

static struct client_answered
answered(const struct send_output *o, unsigned number)
{
	return dir_of(o)->streams[number].written;
}

static void
destroy(struct send_output *o)
{
	struct dir_output *d = dir_of(o);

	for (unsigned i = 0; i < d->n; i++) {
		close_files(&d->streams[i]);
		free(d->streams[i].name);
	}
	if (d->dir >= 0)
		close(d->dir);
	free(d->streams);
	free(d->path);
	free(d);
}

static const struct send_output_ops output_ops = {
	.add_stream = add_stream,
	.streams_sent = nothing_to_do,
	.metadata = metadata,
	.packet = packet,
	.beacon = beacon,
	.close_stream = close_stream,
	.work = work,
	.stored = stored,
	.flush = nothing_to_do,
	.cut = cut,
	.finish = finish,
	.error = error,
	.path = path,
	.stats = stats,
	.answered = answered,
	.destroy = destroy,
};

/* "HOST/SESSION-TIME", as a relay names it, unless CONFIG says otherwise. NULL:
 * not valid. */
static char *
session_path(
    const struct send_sink_config *config, const struct send_session *s)
{
	const time_t t = (time_t)(s->creation_time != 0 ? s->creation_time
							: clock_wall_s());
	char stamp[STAMP_MAX] = "", *out = NULL;
	struct relpath *host = NULL, *name = NULL;
	struct tm tm;

	if (config->is_new_dir)
		return strdup(s->name);
	if (!s->name_has_time && localtime_r(&t, &tm) != NULL)
		(void)strftime(stamp, sizeof(stamp), "-%Y%m%d-%H%M%S", &tm);
	if (relname_parse(&host,
		(struct span){ s->hostname, strlen(s->hostname) }) == OK &&
	    relname_parse(&name, (struct span){ s->name, strlen(s->name) }) ==
		OK &&
	    asprintf(&out, "%s/%s%s", host->s, name->s, stamp) < 0)
		out = NULL;
	relpath_free(host);
	relpath_free(name);
	return out;
}

/* Open the session's directory; WHY not. */
static enum status
open_dir(struct dir_output *d, const struct to_dir *t,
    const struct send_session *s, char why[SEND_ERROR_MAX])
{
	const char *const to = t->config->to;
	char *below = session_path(t->config, s);
	struct stat st;
	int error = EEXIST;

	if (below == NULL) {
		(void)snprintf(why, SEND_ERROR_MAX,
		    "\"%s/%s\": not a name for a directory", s->hostname,
		    s->name);
		return E_MALFORMED;
	}
	d->is_once = relay_uuid_is_nil(&s->identity);
	if (!d->is_once || fstatat(t->root, below, &st, 0) != 0) {
		d->dir = trace_dir_below(t->root, below);
		error = errno;
	}
	if (d->dir >= 0 && flock(d->dir, LOCK_EX | LOCK_NB) == 0)
		error = 0;
	else if (d->dir >= 0)
		error = errno;
	if (asprintf(&d->path, "%s%s%s", to, *below == '\0' ? "" : "/", below) <
	    0) {
		d->path = NULL;
		error = ENOMEM;
	}
	free(below);
	if (error == 0)
		return OK;
	(void)snprintf(why, SEND_ERROR_MAX, "%s: %s",
	    d->path == NULL ? to : d->path,
	    error == EWOULDBLOCK ? "another program writes to it"
				 : strerror(error));
	return E_IO;
}

static enum status
open_output(struct send_sink *sink, const struct send_output_config *config,
    struct send_output **out, char why[SEND_ERROR_MAX])
{
	struct dir_output *d = calloc(1, sizeof(*d));
	enum status st;

	why[0] = '\0';
	if (d == NULL) {
		(void)snprintf(why, SEND_ERROR_MAX, "%s", status_text(E_NOMEM));
		return E_NOMEM;
	}
	d->output.ops = &output_ops;
	d->dir = -1;
	st = open_dir(d, (const struct to_dir *)sink, &config->session, why);
	if (st == OK)
		*out = &d->output;
	else
		destroy(&d->output);
	return st;
}

static void
destroy_sink(struct send_sink *sink)
{
	close(((struct to_dir *)sink)->root);
	free(sink);
}

static const struct send_sink_ops sink_ops = {
	.open = open_output,
	.destroy = destroy_sink,
};

enum status
to_dir_create(struct send_sink **out, const struct send_sink_config *config,
    char why[SEND_ERROR_MAX])
{
	const char *const to = config->to;
	struct to_dir *t = calloc(1, sizeof(*t));
	enum status st = E_IO;

	if (t == NULL) {
		(void)snprintf(why, SEND_ERROR_MAX, "%s", status_text(E_NOMEM));
		return E_NOMEM;
	}
	*t = (struct to_dir){
		.sink.ops = &sink_ops, .config = config, .root = -1
	};
	if (config->is_new_dir) {
		st = trace_dir_open(&t->root, to, why, SEND_ERROR_MAX);
	} else {
		if (mkdir(to, 0777) == 0 || errno == EEXIST)
			t->root = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)snprintf(
		    why, SEND_ERROR_MAX, "%s: %s", to, strerror(errno));
	}
	if (t->root < 0) {
		free(t);
		return st;
	}
	*out = &t->sink;
	return OK;
}
