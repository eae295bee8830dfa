/* SPDX-License-Identifier: MIT */
#include "store/reorder.h"

#include <assert.h>

void
reorder_init(struct reorder *r, struct packet_pool *pool, bool needs_record)
{
	*r = (struct reorder){ .pool = pool, .needs_record = needs_record };
	list_init(&r->records);
	list_init(&r->early);
}

void
reorder_free(struct reorder *r)
{
	struct packet *p;

	while ((p = idmap_any(&r->halves)) != NULL) {
		idmap_remove(&r->halves, p->net_seq);
		packet_destroy(r->pool, p);
	}
	idmap_free(&r->halves);
	heap_free(&r->by_seq);
	heap_free(&r->lowest);
	r->held_bytes = 0;
	r->n_records = 0;
}

/* The number of a packet in the heap. Its key there is the distance from the
 * first number. */
static uint64_t
number(const struct reorder *r, const struct heap_item *item)
{
	return r->first + item->key;
}

/* Sequence numbers count up from any start and may wrap around: A is before B
 * if the way up from A to B is shorter than 2^63. */
static bool
is_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/* The middle of all keys, so that numbers below the base come first. */
#define MIDDLE (UINT64_C(1) << 63)

/* Put the number of a record into the heap of the lowest ones. */
static enum status
note_record(struct reorder *r, uint64_t net_seq)
{
	if (r->lowest.n == 0)
		r->lowest_base = net_seq - MIDDLE;
	return heap_push(&r->lowest, net_seq - r->lowest_base, NULL);
}

/* The lowest number in that heap, if it is below TO. */
static bool
next_record(const struct reorder *r, uint64_t to, uint64_t *net_seq)
{
	const struct heap_item *min = heap_min(&r->lowest);

	if (min == NULL)
		return false;
	*net_seq = min->key + r->lowest_base;
	return is_before(*net_seq, to);
}

enum status
reorder_begin(struct reorder *r, uint64_t net_seq)
{
	const struct packet *p;

	if (!r->has_next) {
		r->has_next = true;
		r->next = r->first = net_seq;
	}
	if (is_before(net_seq, r->next))
		return E_PROTOCOL;
	p = idmap_find(&r->halves, net_seq);
	return p != NULL && p->has_data ? E_EXISTS : OK;
}

/* Move the record of HALF into P. P takes the place of HALF, which is
 * destroyed. */
static void
merge(struct reorder *r, struct packet *p, struct packet *half)
{
	p->rec = half->rec;
	p->since = half->since;
	p->has_record = true;
	idmap_remove(&r->halves, half->net_seq);
	r->n_records--;
	packet_destroy(r->pool, half);
}

enum status
reorder_data(struct reorder *r, struct packet *take_p)
{
	struct packet *half, *p = take_p;
	enum status st = reorder_begin(r, p->net_seq);

	p->since = r->now;

	if (st != OK)
		goto fail;
	half = idmap_find(&r->halves, p->net_seq);
	if (half != NULL)
		merge(r, p, half);
	st = idmap_insert(&r->halves, p->net_seq, p);
	if (st != OK)
		goto fail;
	st = heap_push(&r->by_seq, p->net_seq - r->first, p);
	if (st != OK) {
		idmap_remove(&r->halves, p->net_seq);
		goto fail;
	}
	p->has_data = true;
	r->held_bytes += p->size;
	return OK;

fail:
	packet_destroy(r->pool, p);
	return st;
}

enum status
reorder_record(
    struct reorder *r, uint64_t net_seq, const struct index_record *rec)
{
	struct packet *p = idmap_find(&r->halves, net_seq);
	enum status st;

	if (p != NULL) {
		if (p->has_record)
			return E_EXISTS;
		p->rec = *rec;
		p->has_record = true;
		return OK;
	}
	if (r->has_next && is_before(net_seq, r->next))
		return E_NOENT;
	if (r->n_records == REORDER_RECORDS_MAX)
		return E_LIMIT;
	p = packet_create(r->pool, net_seq);
	if (p == NULL)
		return E_NOMEM;
	st = note_record(r, net_seq);
	if (st == OK)
		st = idmap_insert(&r->halves, net_seq, p);
	if (st != OK) {
		packet_destroy(r->pool, p);
		return st;
	}
	p->rec = *rec;
	p->since = r->now;
	p->has_record = true;
	list_append(&r->records, &p->node);
	r->n_records++;
	return OK;
}

/* P, of which only the record is here, is given up. */
static void
forget_record(struct reorder *r, struct packet *p, struct reorder_loss *loss)
{
	if (loss->records == 0 ||
	    is_before(loss->last.packet_seq_num, p->rec.packet_seq_num))
		loss->last = p->rec;
	loss->records++;
	idmap_remove(&r->halves, p->net_seq);
	packet_destroy(r->pool, p);
	r->n_records--;
}

/* Take the records of numbers below TO out of the heap of the lowest ones, and
 * out of the list of records. */
static void
leave_early(struct reorder *r, uint64_t to)
{
	struct packet *p;
	uint64_t seq;

	while (next_record(r, to, &seq)) {
		(void)heap_pop(&r->lowest);
		p = idmap_find(&r->halves, seq);
		if (p == NULL || p->has_data)
			continue;
		list_del(&p->node);
		list_append(&r->early, &p->node);
	}
}

/* The packet whose turn it is, if its bytes are here. */
static struct packet *
first_packet(const struct reorder *r)
{
	const struct heap_item *min = heap_min(&r->by_seq);

	return min == NULL || number(r, min) != r->next ? NULL : min->value;
}

static struct packet *
take_first(struct reorder *r, struct packet *p)
{
	heap_pop(&r->by_seq);
	idmap_remove(&r->halves, p->net_seq);
	r->held_bytes -= p->size;
	r->next++;
	leave_early(r, r->next);
	return p;
}

struct packet *
reorder_pop(struct reorder *r)
{
	struct packet *p = first_packet(r);

	if (p == NULL || (r->needs_record && !p->has_record))
		return NULL;
	return take_first(r, p);
}

struct packet *
reorder_pop_unrecorded(struct reorder *r, uint64_t since)
{
	struct packet *p = first_packet(r);

	if (p == NULL || !r->needs_record || p->has_record || p->since > since)
		return NULL;
	return take_first(r, p);
}

bool
reorder_has_gap(const struct reorder *r)
{
	const struct heap_item *min = heap_min(&r->by_seq);

	return min != NULL && number(r, min) != r->next;
}

void
reorder_start(struct reorder *r, uint64_t first)
{
	assert(!r->has_next && r->halves.n == 0);
	r->has_next = true;
	r->next = r->first = first;
}

void
reorder_forget_start(struct reorder *r)
{
	assert(r->halves.n == 0);
	r->has_next = false;
}

void
reorder_skip_to(struct reorder *r, uint64_t to, struct reorder_loss *loss)
{
	struct list *n, *tmp;

	*loss = (struct reorder_loss){ .first = r->next, .n = to - r->next };
	r->next = to;
	leave_early(r, to);
	list_for_each (n, tmp, &r->early)
		forget_record(r, list_entry(n, struct packet, node), loss);
}

uint64_t
reorder_skip(struct reorder *r, unsigned *records_dropped)
{
	const struct heap_item *min = heap_min(&r->by_seq);
	struct reorder_loss loss;

	*records_dropped = 0;
	if (min == NULL)
		return 0;
	reorder_skip_to(r, number(r, min), &loss);
	*records_dropped = loss.records;
	return loss.n;
}

bool
reorder_last_record(const struct reorder *r, uint64_t *net_seq)
{
	const struct packet *p;
	bool found = false;

	list_each (p, &r->records, struct packet, node) {
		if (!found || is_before(*net_seq, p->net_seq))
			*net_seq = p->net_seq;
		found = true;
	}
	return found;
}
