/* SPDX-License-Identifier: MIT */
#include "tools/capture/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/capture/source.h"

struct ctf_packet
sink_header(const struct sink *sink, unsigned stream, struct batch *b,
    uint64_t seq, uint64_t lost)
{
	const struct ctf_packet packet = {
		.instance = stream,
		.timestamp_begin = b->begin_ns,
		.timestamp_end = b->end_ns,
		.content_size = b->used,
		.packet_size = b->used,
		.packet_seq_num = seq,
		.events_discarded = b->discarded + lost,
		.cpu_id = b->worker,
		.input = b->input,
	};

	assert(stream < sink->config.n_streams);
	assert(b->used >= CTF_HEADER_LEN && b->used <= b->size);
	assert(b->begin_ns <= b->end_ns);
	ctf_header_encode(b->mem, &sink->config.trace, &packet);
	return packet;
}

enum status
sink_fail(struct sink *sink, enum status st, const char *fmt, ...)
{
	va_list ap;

	assert(st != OK);
	if (sink->error[0] == '\0') {
		va_start(ap, fmt);
		vsnprintf(sink->error, sizeof(sink->error), fmt, ap);
		va_end(ap);
	}
	return st;
}

void
sink_count(struct sink *sink, uint32_t packets, uint32_t n, uint32_t used)
{
	sink->ctf_packets++;
	sink->events += n;
	sink->written += packets;
	sink->bytes += used;
}

enum status
sink_finish(struct sink *sink)
{
	const enum status st = sink->ops->finish(sink);

	if (st != OK || sink->written > 0 || sink->left_out == 0)
		return st;
	return sink_fail(sink, E_REFUSED,
	    "nothing was written: the output does not support the link type "
	    "of any packet");
}

static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool
stat_input(const char *uri, struct stat *s)
{
	const char *path = source_place(uri);

	return strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, s) == 0
				      : stat(path, s) == 0;
}

/* The input that the file FD is; NULL: none. */
static const char *
input_of(const struct sink *sink, int fd)
{
	const struct ctf_trace *t = &sink->config.trace;
	struct stat output, input;

	if (fstat(fd, &output) != 0 || !S_ISREG(output.st_mode))
		return NULL;
	for (unsigned i = 0; i < t->n_uris; i++)
		if (stat_input(t->uris[i], &input) &&
		    is_same_file(&input, &output))
			return t->uris[i];
	return NULL;
}

enum status
sink_open_file(struct sink *sink, const char *path, int *fd)
{
	const char *input;

	sink->uses_stdout = strcmp(path, "-") == 0;
	*fd = sink->uses_stdout
		  ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
		  : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (*fd < 0)
		return sink_fail(
		    sink, E_REFUSED, "%s: %s", path, strerror(errno));
	input = input_of(sink, *fd);
	/* Only a file can be emptied. */
	if (input == NULL && !sink->uses_stdout)
		(void)!ftruncate(*fd, 0);
	if (input == NULL)
		return OK;
	close(*fd);
	return sink_fail(
	    sink, E_REFUSED, "%s: this file is the input %s", path, input);
}

void
sink_destroy(struct sink *sink)
{
	if (sink == NULL)
		return;
	sink->ops->destroy(sink);
	free(sink);
}

void *
sink_new(size_t size, const struct sink_ops *ops,
    const struct sink_config *config, char why[SINK_ERROR_MAX])
{
	struct sink *sink = calloc(1, size);

	if (sink == NULL) {
		snprintf(why, SINK_ERROR_MAX, "%s", status_text(E_NOMEM));
		return NULL;
	}
	sink->ops = ops;
	sink->config = *config;
	return sink;
}

enum status
sink_opened(struct sink **out, struct sink *sink, enum status st,
    char why[SINK_ERROR_MAX])
{
	*out = st == OK ? sink : NULL;
	if (st == OK)
		return OK;
	snprintf(why, SINK_ERROR_MAX, "%s",
	    sink->error[0] != '\0' ? sink->error : status_text(st));
	sink_destroy(sink);
	return st;
}
