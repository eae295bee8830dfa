/* SPDX-License-Identifier: MIT */
/* A trace in a directory: metadata, and a file per stream. */
#include "config.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/capture/options.h"
#include "tools/capture/sink.h"
#include "tools/client/trace_dir.h"

#define NAME_MAX_LEN 64

struct stream_file {
	int fd; /* -1: nothing was written yet */
	uint64_t at;
	uint64_t seq; /* continues in the next file */
};

struct sink_dir {
	struct sink sink; /* first */
	const char *path; /* borrowed */
	struct rotation rotation;
	struct buf metadata;
	int base; /* the directory that the user named */
	int dir;  /* where files are written; base without rotation */
	unsigned n_dirs;
	struct stream_file *streams;
};

static struct sink_dir *
dir_of(struct sink *sink)
{
	return (struct sink_dir *)sink;
}

static enum status
write_metadata(struct sink_dir *d)
{
	const int fd = trace_dir_create(d->dir, "metadata");
	bool is_written;

	if (fd < 0)
		return sink_fail(&d->sink, E_IO, "%s: metadata: %s", d->path,
		    strerror(errno));
	is_written = trace_dir_write(
	    fd, buf_data(&d->metadata), buf_len(&d->metadata), 0);
	if (!is_written)
		(void)sink_fail(&d->sink, E_IO, "%s: metadata: %s", d->path,
		    strerror(errno));
	close(fd);
	return is_written ? OK : E_IO;
}

/* Create a directory named like a trace chunk of LTTng: its time, with the
 * zone, and a number. */
static enum status
make_chunk_dir(struct sink_dir *d)
{
	char stamp[NAME_MAX_LEN / 2], name[NAME_MAX_LEN];
	const time_t now = (time_t)clock_wall_s();
	struct tm tm;

	if (localtime_r(&now, &tm) == NULL ||
	    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S%z", &tm) == 0)
		return sink_fail(
		    &d->sink, E_IO, "cannot determine the local time");
	snprintf(name, sizeof(name), "%s-%u", stamp, d->n_dirs++);
	if (mkdirat(d->base, name, 0777) == 0)
		d->dir = openat(
		    d->base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->dir < 0)
		return sink_fail(&d->sink, E_IO, "%s/%s: %s", d->path, name,
		    strerror(errno));
	return OK;
}

static void
close_files(struct sink_dir *d)
{
	for (unsigned i = 0; i < d->sink.config.n_streams; i++) {
		if (d->streams[i].fd >= 0)
			close(d->streams[i].fd);
		d->streams[i].fd = -1;
		d->streams[i].at = 0;
	}
	if (d->dir >= 0 && d->dir != d->base)
		close(d->dir);
	d->dir = -1;
}

static enum status
begin_dir(struct sink_dir *d)
{
	enum status st = OK;

	close_files(d);
	rotation_begin(&d->rotation, clock_now_ns());
	if (d->rotation.max_bytes > 0 || d->rotation.max_ns > 0)
		st = make_chunk_dir(d);
	else
		d->dir = d->base;
	return st == OK ? write_metadata(d) : st;
}

static enum status
rotate_if_due(struct sink_dir *d, uint32_t size)
{
	if (d->dir >= 0 && !rotation_is_full(&d->rotation, size) &&
	    !rotation_is_over(&d->rotation, clock_now_ns()))
		return OK;
	return begin_dir(d);
}

static enum status
append_packet(struct sink_dir *d, unsigned stream, const struct batch *b)
{
	struct stream_file *f = &d->streams[stream];
	char name[NAME_MAX_LEN];
	int error;

	assert(d->dir >= 0);
	snprintf(name, sizeof(name), "stream_%u", stream);
	if (f->fd < 0)
		f->fd = trace_dir_create(d->dir, name);
	if (f->fd >= 0 && trace_dir_write(f->fd, b->mem, b->used, f->at)) {
		f->at += b->used;
		f->seq++;
		d->rotation.bytes += b->used;
		sink_count(&d->sink, b->packets, b->n, b->used);
		return OK;
	}
	error = errno;
	/* Keep only whole packets, so that the file stays readable. */
	if (f->fd >= 0)
		(void)!ftruncate(f->fd, (off_t)f->at);
	return sink_fail(
	    &d->sink, E_IO, "%s/%s: %s", d->path, name, strerror(error));
}

static enum status
put_packet(struct sink *sink, unsigned stream, struct batch *b)
{
	struct sink_dir *d = dir_of(sink);
	enum status st = rotate_if_due(d, b->used);

	if (st == OK) {
		(void)sink_header(sink, stream, b, d->streams[stream].seq, 0);
		st = append_packet(d, stream, b);
	}
	batch_done(b);
	return st;
}

static enum status
finish(struct sink *sink)
{
	struct sink_dir *d = dir_of(sink);

	/* A capture without packets is a trace without streams. */
	if (d->dir < 0)
		return begin_dir(d);
	return OK;
}

static void
destroy(struct sink *sink)
{
	struct sink_dir *d = dir_of(sink);

	if (d->streams != NULL)
		close_files(d);
	if (d->base >= 0)
		close(d->base);
	buf_free(&d->metadata);
	free(d->streams);
}

static const struct sink_ops ops = {
	.packet = put_packet,
	.finish = finish,
	.destroy = destroy,
};

static enum status
prepare_files(struct sink_dir *d)
{
	const unsigned n = d->sink.config.n_streams;
	enum status st;

	d->streams = calloc(n, sizeof(*d->streams));
	if (d->streams == NULL)
		return E_NOMEM;
	for (unsigned i = 0; i < n; i++)
		d->streams[i].fd = -1;
	st = ctf_metadata(&d->metadata, &d->sink.config.trace);
	if (st != OK)
		return st;
	return trace_dir_open(
	    &d->base, d->path, d->sink.error, sizeof(d->sink.error));
}

enum status
sink_dir_create(struct sink **out, const struct sink_config *config,
    const struct capture_options *options, char why[SINK_ERROR_MAX])
{
	struct sink_dir *d = sink_new(sizeof(*d), &ops, config, why);

	if (d == NULL)
		return E_NOMEM;
	d->path = options->output;
	d->rotation = options->rotation;
	d->base = d->dir = -1;
	return sink_opened(out, &d->sink, prepare_files(d), why);
}
