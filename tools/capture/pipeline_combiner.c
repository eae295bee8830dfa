/* SPDX-License-Identifier: MIT */
/* What comes from workers goes to the sink, in the caller's thread. */
#include "tools/capture/pipeline_internal.h"
#include "tools/capture/sink.h"

static void
append(struct combining *c, struct chunk *k)
{
	k->next = NULL;
	if (c->lists[k->worker].first == NULL)
		c->lists[k->worker].first = k;
	else
		c->lists[k->worker].last->next = k;
	c->lists[k->worker].last = k;
}

static struct chunk *
take_first(struct combining *c, unsigned w)
{
	struct chunk *k = c->lists[w].first;

	c->lists[w].first = k->next;
	return k;
}

static enum status
give_records(struct sink *sink, struct chunk *k)
{
	struct record *r = (struct record *)k->mem;
	enum status st = OK;

	for (uint32_t i = 0; i < k->n && st == OK; i++, r = record_next(r))
		st = sink->ops->record(sink, r, record_bytes(r));
	chunk_done(k);
	return st;
}

/* All workers of a source may have one stream. */
static void
sum_discarded(struct pipeline *p, struct chunk *k)
{
	uint64_t *sum = &p->combining[k->input]
			     .discarded[p->config.is_strict ? 0 : k->worker];

	*sum += k->discarded;
	k->discarded = *sum;
}

/* Without a sink it is thrown away. */
static enum status
give(struct pipeline *p, struct sink *sink, struct chunk *k)
{
	const unsigned stream = pipeline_stream(&p->config, k);
	enum status st = OK;

	sum_discarded(p, k);
	if (sink != NULL && k->kind == CHUNK_DATA && p->config.has_records)
		return give_records(sink, k);
	if (sink != NULL && k->kind == CHUNK_DATA)
		return sink->ops->packet(sink, stream, k);
	if (sink != NULL && k->kind == CHUNK_BEACON &&
	    sink->ops->beacon != NULL && k->end_ns > 0)
		st = sink->ops->beacon(sink, stream, k->end_ns);
	chunk_done(k);
	return st;
}

/* One record of each chunk of a round, those that are left. */
struct head {
	struct chunk *chunk;
	struct record *record;
	uint32_t left;
};

/* The head whose record comes next in the order of the round; NULL: none. */
static struct head *
lowest(struct head *heads, unsigned n)
{
	struct head *best = NULL;

	for (unsigned i = 0; i < n; i++)
		if (heads[i].left > 0 &&
		    (best == NULL ||
			heads[i].record->order < best->record->order))
			best = &heads[i];
	return best;
}

/* A round by flow: each worker has one chunk of it. */
static enum status
merge_round(struct pipeline *p, struct combining *c, struct sink *sink)
{
	struct head heads[PIPELINE_THREADS_MAX], *h;
	enum status st = OK;

	for (unsigned i = 0; i < p->config.n_workers; i++) {
		struct chunk *k = take_first(c, i);

		heads[i] = (struct head){ k, (struct record *)k->mem, k->n };
	}
	while (sink != NULL && st == OK &&
	       (h = lowest(heads, p->config.n_workers)) != NULL) {
		st = sink->ops->record(
		    sink, h->record, record_bytes(h->record));
		h->record = record_next(h->record);
		h->left--;
	}
	for (unsigned i = 0; i < p->config.n_workers; i++)
		chunk_done(heads[i].chunk);
	return st;
}

static bool
is_round_here(const struct pipeline *p, const struct combining *c)
{
	unsigned first,
	    n = pipeline_round(p, p->config.n_workers, c->round, &first);

	for (unsigned i = first; i < first + n; i++)
		if (c->lists[i].first == NULL)
			return false;
	return true;
}

/* As far as the rounds of a source are here, without a gap. */
static enum status
give_rounds(struct pipeline *p, struct combining *c, struct sink *sink)
{
	enum status st = OK;
	unsigned first;

	while (st == OK && is_round_here(p, c)) {
		if (pipeline_round(p, p->config.n_workers, c->round, &first) >
		    1) {
			st = merge_round(p, c, sink);
			c->round++;
		} else {
			struct chunk *k = take_first(c, first);

			if (k->is_round_end)
				c->round++;
			st = give(p, sink, k);
		}
	}
	return st;
}

static bool
is_empty(const struct pipeline *p, const struct combining *c)
{
	for (unsigned i = 0; i < p->config.n_workers; i++)
		if (c->lists[i].first != NULL)
			return false;
	return true;
}

static enum status
take(struct pipeline *p, struct sink *sink, struct chunk *k)
{
	struct combining *c = &p->combining[k->input];
	enum status st = OK;

	if (k->kind == CHUNK_END) {
		c->n_ended++;
		chunk_done(k);
	} else if (!p->config.is_strict) {
		return give(p, sink, k);
	} else {
		append(c, k);
		st = give_rounds(p, c, sink);
	}
	if (c->n_ended == p->config.n_workers && is_empty(p, c)) {
		c->n_ended = 0;
		p->n_done++;
	}
	return st;
}

enum status
pipeline_deliver(struct pipeline *p, struct sink *sink)
{
	enum status st = OK;
	struct chunk *k;

	queue_woken(&p->results);
	while ((k = queue_take(&p->results)) != NULL) {
		/* After a failure the rest still goes back to its pool. */
		const enum status one = take(p, st == OK ? sink : NULL, k);

		if (st == OK)
			st = one;
	}
	return st;
}
