/* SPDX-License-Identifier: MIT */
#include "tools/capture/sink.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct ctf_packet
sink_header(
    const struct sink *sink, unsigned stream, struct batch *b, uint64_t seq)
{
	const struct ctf_packet packet = {
		.instance = stream,
		.timestamp_begin = b->begin_ns,
		.timestamp_end = b->end_ns,
		.content_size = b->used,
		.packet_size = b->used,
		.packet_seq_num = seq,
		.events_discarded = b->discarded,
		.cpu_id = b->worker,
		.input = b->input,
	};

	assert(stream < sink->config.n_streams);
	assert(b->used >= CTF_HEADER_LEN && b->used <= BATCH_SIZE);
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
sink_count(struct sink *sink, const struct batch *b)
{
	sink->ctf_packets++;
	sink->events += b->n;
	sink->written += b->packets;
	sink->bytes += b->used;
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
