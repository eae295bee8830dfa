/* SPDX-License-Identifier: MIT */
#include "tools/send/schedule.h"

#include <assert.h>
#include <stdlib.h>

static enum status
fetch(struct schedule *s, struct schedule_stream *one)
{
	enum status st = packets_next(&one->stream->packets, &one->next);

	one->has_next = st == OK;
	if (st == E_NOENT)
		return OK;
	if (st != OK)
		return E_IO;
	one->ctf_stream = one->next.index.ctf_stream;
	return heap_push(&s->heap,
	    tsdl_ns(&one->stream->trace->tsdl, one->next.index.timestamp_end),
	    one);
}

static enum status
add(struct schedule *s, struct trace_stream *stream)
{
	struct schedule_stream *one = &s->streams[s->n++];
	enum status st;
	uint64_t begin, end;

	*one = (struct schedule_stream){ .stream = stream };
	packets_rewind(&stream->packets);
	st = fetch(s, one);
	if (st != OK || !one->has_next)
		return st;
	begin = tsdl_ns(&stream->trace->tsdl, one->next.index.timestamp_begin);
	if (!s->has_first || begin < s->first_ns)
		s->first_ns = begin;
	s->has_first = true;
	end = tsdl_ns(&stream->trace->tsdl, stream->packets.end);
	if (end > s->last_ns)
		s->last_ns = end;
	return OK;
}

enum status
schedule_init(struct schedule *s, const struct traces *t)
{
	enum status st = OK;
	unsigned n = 0;

	*s = (struct schedule){ 0 };
	for (unsigned i = 0; i < t->n; i++)
		n += t->traces[i]->n_streams;
	s->streams = calloc(n + 1, sizeof(*s->streams));
	if (s->streams == NULL)
		return E_NOMEM;
	for (unsigned i = 0; i < t->n && st == OK; i++)
		for (unsigned k = 0; k < t->traces[i]->n_streams && st == OK;
		     k++)
			st = add(s, &t->traces[i]->streams[k]);
	return st;
}

void
schedule_free(struct schedule *s)
{
	heap_free(&s->heap);
	free(s->streams);
	*s = (struct schedule){ 0 };
}

bool
schedule_is_empty(const struct schedule *s)
{
	return heap_min(&s->heap) == NULL;
}

uint64_t
schedule_due_ns(const struct schedule *s)
{
	assert(!schedule_is_empty(s));
	return heap_min(&s->heap)->key;
}

enum status
schedule_take(struct schedule *s, struct client_packet *packet,
    const struct trace_stream **from)
{
	struct schedule_stream *one = heap_pop(&s->heap);

	assert(one != NULL && one->has_next);
	*packet = one->next;
	*from = one->stream;
	one->floor = packet->index.timestamp_end;
	one->is_busy = true;
	return fetch(s, one);
}

bool
schedule_beacon(struct schedule *s, unsigned number, uint64_t now_ns,
    uint64_t *cycles, uint64_t *ctf_stream)
{
	struct schedule_stream *one = &s->streams[number];
	const bool was_busy = one->is_busy;

	assert(number < s->n);
	one->is_busy = false;
	*ctf_stream = one->ctf_stream;
	*cycles = tsdl_cycles(&one->stream->trace->tsdl, now_ns);
	/* A beacon must not be later than the beginning of the next packet. */
	if (one->has_next && *cycles > one->next.index.timestamp_begin)
		*cycles = one->next.index.timestamp_begin;
	if (was_busy || *cycles <= one->floor)
		return false;
	one->floor = *cycles;
	return true;
}
