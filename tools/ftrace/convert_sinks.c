/* SPDX-License-Identifier: MIT */
/* The destinations of a conversion. A directory: metadata, and for each CPU a
 * file and its index. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "ctf/index.h"
#include "tools/client/client.h"
#include "tools/client/trace_dir.h"
#include "tools/ftrace/convert.h"
#include "tools/ftrace/kernel_stream.h"

#define NAME_SIZE 64
#define INDEX_MINOR 1

struct convert_dir {
	struct convert_sink sink; /* first */
	const char *path;
	bool is_one;
	int base;	/* descriptor of PATH */
	int dir, index; /* of the ring buffer; -1: closed */
	int file;	/* of the CPU; -1: closed */
	unsigned cpu;
	uint64_t at;
	struct buf records; /* the index of FILE */
};

enum status
convert_fail(struct convert_sink *sink, enum status st, const char *fmt, ...)
{
	va_list ap;

	if (sink->error[0] == '\0') {
		va_start(ap, fmt);
		(void)vsnprintf(sink->error, sizeof(sink->error), fmt, ap);
		va_end(ap);
	}
	return st;
}

static enum status
fail_errno(struct convert_dir *d, const char *name)
{
	return convert_fail(
	    &d->sink, E_IO, "%s: %s: %s", d->path, name, strerror(errno));
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int
make_folder(int at, const char *name)
{
	if (mkdirat(at, name, 0777) != 0)
		return -1;
	return openat(
	    at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static enum status
write_file(
    struct convert_dir *d, int dir, const char *name, const struct buf *bytes)
{
	int fd = trace_dir_create(dir, name);
	enum status st = OK;

	if (fd < 0 || !trace_dir_write(fd, buf_data(bytes), buf_len(bytes), 0))
		st = fail_errno(d, name);
	close_fd(&fd);
	return st;
}

static enum status
dir_begin(struct convert_sink *sink, const char *name,
    const struct kernel_trace *trace)
{
	struct convert_dir *d = (struct convert_dir *)sink;

	close_fd(&d->dir);
	close_fd(&d->index);
	d->dir = d->is_one ? dup(d->base) : make_folder(d->base, name);
	if (d->dir < 0)
		return fail_errno(d, name);
	d->index = make_folder(d->dir, "index");
	if (d->index < 0)
		return fail_errno(d, "index");
	return write_file(d, d->dir, "metadata", &trace->metadata);
}

static enum status
dir_begin_stream(struct convert_dir *d, unsigned cpu)
{
	char name[NAME_SIZE];

	d->cpu = cpu;
	d->at = 0;
	(void)snprintf(name, sizeof(name), "cpu_%u", cpu);
	d->file = trace_dir_create(d->dir, name);
	if (d->file < 0)
		return fail_errno(d, name);
	if (buf_reserve(&d->records, INDEX_HEADER_LEN) != NULL) {
		index_header_encode(d->records.mem, INDEX_MINOR);
		buf_added(&d->records, INDEX_HEADER_LEN);
	}
	return OK;
}

static void
add_record(struct convert_dir *d, const struct kernel_packet *p)
{
	const struct index_record record = {
		.offset = d->at,
		.packet_size = (uint64_t)p->size * 8,
		.content_size = (uint64_t)p->size * 8,
		.timestamp_begin = p->begin,
		.timestamp_end = p->end,
		.events_discarded = p->discarded,
		.ctf_stream = KERNEL_STREAM_CLASS,
		.ctf_instance = p->cpu,
		.packet_seq_num = p->seq,
	};
	uint8_t *at = buf_reserve(&d->records, INDEX_RECORD_MAX);

	if (at == NULL)
		return;
	index_encode(at, &record, INDEX_MINOR);
	buf_added(&d->records, index_record_len(INDEX_MINOR));
}

static enum status
dir_packet(void *arg, const struct kernel_packet *p)
{
	struct convert_dir *d = arg;
	enum status st = OK;

	if (d->file < 0)
		st = dir_begin_stream(d, p->cpu);
	if (st != OK)
		return st;
	if (!trace_dir_write(d->file, p->data, p->size, d->at)) {
		st = fail_errno(d, "a packet");
		/* Keep the file readable: whole packets only. */
		(void)!ftruncate(d->file, (off_t)d->at);
		return st;
	}
	add_record(d, p);
	d->at += p->size;
	return OK;
}

static enum status
dir_end_stream(struct convert_sink *sink)
{
	struct convert_dir *d = (struct convert_dir *)sink;
	char name[NAME_SIZE];
	enum status st;

	if (d->file < 0)
		return OK;
	(void)snprintf(name, sizeof(name), "cpu_%u.idx", d->cpu);
	st = d->records.bad ? convert_fail(sink, E_NOMEM, "out of memory")
			    : write_file(d, d->index, name, &d->records);
	buf_truncate(&d->records, 0);
	if (close(d->file) != 0 && st == OK)
		st = fail_errno(d, "a packet");
	d->file = -1;
	return st;
}

static void
dir_destroy(struct convert_sink *sink)
{
	struct convert_dir *d = (struct convert_dir *)sink;

	close_fd(&d->file);
	close_fd(&d->index);
	close_fd(&d->dir);
	close_fd(&d->base);
	buf_free(&d->records);
	free(d);
}

static const struct convert_ops dir_ops = {
	.begin = dir_begin,
	.packet = dir_packet,
	.end_stream = dir_end_stream,
	.destroy = dir_destroy,
};

struct convert_sink *
convert_dir_create(const char *path, bool is_one, char why[CONVERT_ERROR_MAX])
{
	struct convert_dir *d = calloc(1, sizeof(*d));

	(void)snprintf(why, CONVERT_ERROR_MAX, "%s", status_text(E_NOMEM));
	if (d == NULL)
		return NULL;
	*d = (struct convert_dir){ .sink.ops = &dir_ops,
		.path = path,
		.is_one = is_one,
		.base = -1,
		.dir = -1,
		.index = -1,
		.file = -1 };
	if (trace_dir_open(&d->base, path, why, CONVERT_ERROR_MAX) != OK) {
		dir_destroy(&d->sink);
		return NULL;
	}
	return &d->sink;
}

/* A session of a relay, which records it. */

struct convert_relay {
	struct convert_sink sink; /* first */
	struct client *client;
	char folder[DAT_NAME_MAX];
	unsigned stream; /* of CPU */
	unsigned cpu;	 /* the current one */
	bool has_stream;
};

static enum status
relay_check(struct convert_relay *r, enum status st)
{
	if (st == OK)
		return OK;
	return convert_fail(&r->sink, st, "%s",
	    r->client != NULL && client_error(r->client)[0] != '\0'
		? client_error(r->client)
		: status_text(st));
}

static enum status
relay_begin(struct convert_sink *sink, const char *name,
    const struct kernel_trace *trace)
{
	struct convert_relay *r = (struct convert_relay *)sink;
	unsigned metadata;
	enum status st;

	(void)snprintf(r->folder, sizeof(r->folder), "%s", name);
	r->has_stream = false;
	st = client_add_stream(r->client, r->folder, "metadata", &metadata);
	if (st == OK)
		st = client_metadata(r->client, metadata,
		    buf_data(&trace->metadata), buf_len(&trace->metadata));
	return relay_check(r, st);
}

static enum status
relay_begin_stream(struct convert_relay *r, unsigned cpu)
{
	char name[32];
	enum status st;

	(void)snprintf(name, sizeof(name), "cpu_%u", cpu);
	st = client_add_stream(r->client, r->folder, name, &r->stream);
	if (st == OK)
		st = client_streams_sent(r->client);
	r->cpu = cpu;
	r->has_stream = st == OK;
	return relay_check(r, st);
}

static enum status
relay_packet(void *arg, const struct kernel_packet *p)
{
	struct convert_relay *r = arg;
	enum status st = r->has_stream && r->cpu == p->cpu
			     ? OK
			     : relay_begin_stream(r, p->cpu);
	struct client_packet packet;

	if (st != OK)
		return st;
	st = kernel_client_packet(&packet, p);
	if (st != OK)
		return relay_check(r, st);
	st = client_packet(r->client, r->stream, &packet);
	if (st != OK)
		client_packet_done(&packet); /* on failure it stays ours */
	return relay_check(r, st);
}

static enum status
relay_finish(struct convert_sink *sink)
{
	struct convert_relay *r = (struct convert_relay *)sink;

	return relay_check(r, client_finish(r->client));
}

static void
relay_destroy(struct convert_sink *sink)
{
	struct convert_relay *r = (struct convert_relay *)sink;

	client_destroy(r->client);
	free(r);
}

static const struct convert_ops relay_ops = {
	.begin = relay_begin,
	.packet = relay_packet,
	.finish = relay_finish,
	.destroy = relay_destroy,
};

struct convert_sink *
convert_relay_create(const struct url *url, const char *session,
    const char *hostname, char why[CONVERT_ERROR_MAX])
{
	const struct client_config client = {
		.url = *url,
		.session_name = session,
		.waits = true,
		.hostname = hostname,
	};
	struct convert_relay *r = calloc(1, sizeof(*r));
	enum status st;

	(void)snprintf(why, CONVERT_ERROR_MAX, "%s", status_text(E_NOMEM));
	if (r == NULL)
		return NULL;
	r->sink.ops = &relay_ops;
	st = client_create(&r->client, &client);
	if (st == OK)
		st = client_open(r->client);
	if (st == OK)
		return &r->sink;
	(void)relay_check(r, st);
	memcpy(why, r->sink.error, CONVERT_ERROR_MAX);
	relay_destroy(&r->sink);
	return NULL;
}
