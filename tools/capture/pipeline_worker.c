/* SPDX-License-Identifier: MIT */
/* The threads that make events of packets. */
#include <string.h>

#include "tools/capture/ctf.h"
#include "tools/capture/pipeline_internal.h"

static void
deliver(struct worker *w, struct chunk *c)
{
	c->input = (uint16_t)w->input;
	c->worker = (uint16_t)w->number;
	queue_put(&w->pipeline->results, c);
}

/* The events so far become a packet of the trace. */
static void
close_packet(struct worker *w, uint64_t round, bool is_round_end)
{
	struct chunk *c = w->open;

	if (c == NULL)
		return;
	c->round = round;
	c->is_round_end = is_round_end;
	c->discarded = w->discarded;
	w->discarded = 0;
	w->open = NULL;
	deliver(w, c);
}

/* Where an event of at most SIZE bytes goes. */
static uint8_t *
make_room(struct worker *w, size_t size, uint64_t round)
{
	if (w->open != NULL && w->open->used + size > CHUNK_SIZE)
		close_packet(w, round, false);
	if (w->open == NULL) {
		w->open = queue_wait(&w->pool.free, -1);
		chunk_reset(w->open);
		w->open->used = CTF_HEADER_LEN;
	}
	return w->open->mem + w->open->used;
}

static void
add_event(struct worker *w, struct record *r, uint64_t round)
{
	const enum payload payload = w->pipeline->config.payload;
	uint8_t *out = make_room(w, EVENT_SIZE_MAX(r->len), round);
	struct chunk *c = w->open;
	struct headers h;

	if (r->kind == RECORD_STATS) {
		c->used += (uint32_t)event_encode_stats(out, r);
	} else {
		if (payload != PAYLOAD_NONE)
			headers_find(&h, r->link_type, record_bytes(r), r->len);
		c->used += (uint32_t)event_encode(out, r, &h, payload);
		c->packets++;
	}
	if (c->n++ == 0)
		c->begin_ns = r->ns;
	c->end_ns = r->ns;
}

static void
anonymise(struct worker *w, struct record *r)
{
	if (w->anon != NULL && r->kind == RECORD_PACKET)
		anon_packet(w->anon, r->link_type, record_bytes(r), r->len,
		    w->pipeline->config.checksums);
}

static struct record *
first_record(struct chunk *c)
{
	return (struct record *)c->mem;
}

/* The sink takes records: they go on in the chunk in which they came. */
static void
pass_on(struct worker *w, struct chunk *c)
{
	struct record *r = first_record(c);

	for (uint32_t i = 0; i < c->n; i++, r = record_next(r))
		anonymise(w, r);
	c->packets = c->n;
	deliver(w, c);
}

static void
make_events(struct worker *w, struct chunk *c)
{
	const bool is_strict = w->pipeline->config.is_strict;
	struct record *r = first_record(c);

	w->discarded += c->discarded;
	for (uint32_t i = 0; i < c->n; i++, r = record_next(r)) {
		anonymise(w, r);
		add_event(w, r, c->round);
	}
	/* Who puts rounds in order needs the end of each. */
	if (is_strict || c->is_flush)
		close_packet(w, c->round, true);
	chunk_done(c);
}

/* A time, or the end: behind what waits. What it says is lost is told with the
 * next events of its stream, which another worker may have. */
static void
pass_mark(struct worker *w, struct chunk *c)
{
	close_packet(w, c->round, false);
	deliver(w, c);
}

void *
worker_run(void *worker)
{
	struct worker *w = worker;
	enum chunk_kind kind;

	do {
		struct chunk *c = queue_wait(&w->in, -1);

		kind = c->kind;
		if (kind != CHUNK_DATA)
			pass_mark(w, c);
		else if (w->pipeline->config.has_records)
			pass_on(w, c);
		else
			make_events(w, c);
	} while (kind != CHUNK_END);
	return NULL;
}
