/* SPDX-License-Identifier: MIT */
/* Packets to an output of libtrace. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/capture/sink.h"

struct sink_file {
	struct sink sink; /* first */
	struct writer *writer;
};

static struct sink_file *
file_of(struct sink *sink)
{
	return (struct sink_file *)sink;
}

static enum status
put_record(struct sink *sink, const struct record *r, const uint8_t *bytes)
{
	struct sink_file *f = file_of(sink);
	enum status st;

	if (r->kind != RECORD_PACKET)
		return OK;
	st = writer_packet(f->writer, r, bytes);
	if (st == E_MALFORMED) {
		sink->left_out++;
		return OK;
	}
	if (st != OK)
		return sink_fail(sink, st, "%s", writer_error(f->writer));
	sink->written++;
	sink->bytes += r->len;
	return OK;
}

/* Packets that were counted may still be in libtrace's buffers. */
static enum status
finish(struct sink *sink)
{
	struct sink_file *f = file_of(sink);

	const enum status st = writer_finish(f->writer);

	if (st != OK)
		return sink_fail(sink, st, "%s", writer_error(f->writer));
	return OK;
}

static void
destroy(struct sink *sink)
{
	writer_close(file_of(sink)->writer);
	free(sink);
}

static const struct sink_ops ops = {
	.record = put_record,
	.finish = finish,
	.destroy = destroy,
};

enum status
sink_file_create(struct sink **out, const struct sink_config *config,
    const struct sink_file_config *file, char why[SINK_ERROR_MAX])
{
	struct sink_file *f = calloc(1, sizeof(*f));
	char reason[WRITER_WHY_MAX];
	enum status st;

	*out = NULL;
	snprintf(why, SINK_ERROR_MAX, "%s", status_text(E_NOMEM));
	if (f == NULL)
		return E_NOMEM;
	f->sink.ops = &ops;
	f->sink.config = *config;
	st = writer_open(
	    &f->writer, file->uri, file->compression, file->level, reason);
	if (st != OK) {
		snprintf(why, SINK_ERROR_MAX, "%s", reason);
		free(f);
		return st;
	}
	*out = &f->sink;
	return OK;
}
