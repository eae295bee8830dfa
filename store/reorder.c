/* SPDX-License-Identifier: MIT */
#include "store/reorder.h"

#include <assert.h>
#include <stdlib.h>

#include "common/state.h"

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
	packet_destroy(r->pool, r->only);
	r->only = NULL;
	idmap_free(&r->halves);
	heap_free(&r->by_seq);
	heap_free(&r->lowest);
	r->held_bytes = 0;
	r->n_records = 0;
}

/* The number of a packet in the heap, where its key is the distance from the
 * first number. */
static uint64_t
number(const struct reorder *r, const struct heap_item *item)
{
	return r->first + item->key;
}

/* Sequence numbers start anywhere and may wrap around: A is before B if
 * counting up from A to B takes fewer than 2^63 steps. */
static bool
is_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/* The middle of all keys, so that numbers below the first one sort first. */
#define MIDDLE (UINT64_C(1) << 63)

/* Add the number of a record to the heap. */
static enum status
note_record(struct reorder *r, uint64_t net_seq)
{
	if (r->lowest.n == 0)
		r->lowest_base = net_seq - MIDDLE;
	return heap_push(&r->lowest, net_seq - r->lowest_base, NULL);
}

/* The lowest number in the heap of records, if it is below TO. */
static bool
next_record(const struct reorder *r, uint64_t to, uint64_t *net_seq)
{
	const struct heap_item *min = heap_min(&r->lowest);

	if (min == NULL)
		return false;
	*net_seq = min->key + r->lowest_base;
	return is_before(*net_seq, to);
}

struct packet *
reorder_find(const struct reorder *r, uint64_t net_seq)
{
	if (r->only != NULL)
		return r->only->net_seq == net_seq ? r->only : NULL;
	return idmap_find(&r->halves, net_seq);
}

/* Add P, which has half of its parts, to the containers. */
static enum status
hold(struct reorder *r, struct packet *p)
{
	enum status st = idmap_insert(&r->halves, p->net_seq, p);

	if (st != OK)
		return st;
	st = p->has_data ? heap_push(&r->by_seq, p->net_seq - r->first, p)
			 : note_record(r, p->net_seq);
	if (st != OK)
		idmap_remove(&r->halves, p->net_seq);
	return st;
}

/* Hold P, in addition to what is held. */
static enum status
hold_another(struct reorder *r, struct packet *p)
{
	enum status st = OK;

	if (reorder_is_empty(r)) {
		r->only = p;
		return OK;
	}
	if (r->only != NULL)
		st = hold(r, r->only);
	if (st != OK)
		return st;
	r->only = NULL;
	return hold(r, p);
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
	p = reorder_find(r, net_seq);
	return p != NULL && p->has_data ? E_EXISTS : OK;
}

/* P is no longer held, but its number stays in the heaps. */
static void
drop(struct reorder *r, const struct packet *p)
{
	if (r->only == p)
		r->only = NULL;
	else
		idmap_remove(&r->halves, p->net_seq);
}

/* Move the record of HALF to P, and destroy HALF. */
static void
merge(struct reorder *r, struct packet *p, struct packet *half)
{
	p->rec = half->rec;
	p->since = half->since;
	p->has_record = true;
	drop(r, half);
	r->n_records--;
	packet_destroy(r->pool, half);
}

enum status
reorder_data(struct reorder *r, struct packet *take_p)
{
	struct packet *half, *p = take_p;
	enum status st = reorder_begin(r, p->net_seq);

	assert(packet_is_whole(p));
	p->since = r->now;
	if (st != OK)
		goto fail;
	half = reorder_find(r, p->net_seq);
	if (half != NULL)
		merge(r, p, half);
	p->has_data = true;
	st = hold_another(r, p);
	if (st != OK)
		goto fail;
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
	struct packet *p = reorder_find(r, net_seq);
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
	st = hold_another(r, p);
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

/* Give up P, which has only a record. */
static void
forget_record(struct reorder *r, struct packet *p, struct reorder_loss *loss)
{
	if (loss->records == 0 ||
	    is_before(loss->last.packet_seq_num, p->rec.packet_seq_num))
		loss->last = p->rec;
	loss->records++;
	drop(r, p);
	packet_destroy(r->pool, p);
	r->n_records--;
}

/* Move the packets that have only a record and are numbered below TO from the
 * heap and the list of records to the list of early ones. */
static void
move_early(struct reorder *r, uint64_t to)
{
	struct packet *p = r->only;
	uint64_t seq;

	if (p != NULL && !p->has_data && is_before(p->net_seq, to)) {
		list_del(&p->node);
		list_append(&r->early, &p->node);
	}
	while (next_record(r, to, &seq)) {
		(void)heap_pop(&r->lowest);
		p = reorder_find(r, seq);
		if (p == NULL || p->has_data)
			continue;
		list_del(&p->node);
		list_append(&r->early, &p->node);
	}
}

/* The next packet, if it has its bytes. */
static struct packet *
first_packet(const struct reorder *r)
{
	const struct heap_item *min;

	if (r->only != NULL)
		return r->only->has_data && r->only->net_seq == r->next
			   ? r->only
			   : NULL;
	min = heap_min(&r->by_seq);
	return min == NULL || number(r, min) != r->next ? NULL : min->value;
}

static struct packet *
take_first(struct reorder *r, struct packet *p)
{
	if (r->only == NULL)
		heap_pop(&r->by_seq);
	drop(r, p);
	assert(r->held_bytes >= p->size);
	r->held_bytes -= p->size;
	r->next++;
	move_early(r, r->next);
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
	uint64_t lowest;

	return reorder_lowest(r, &lowest) && lowest != r->next;
}

size_t
reorder_whole(const struct reorder *r)
{
	return r->by_seq.n + (r->only != NULL && r->only->has_data);
}

const struct packet *
reorder_whole_at(const struct reorder *r, size_t i)
{
	return r->only != NULL ? r->only : r->by_seq.items[i].value;
}

bool
reorder_lowest(const struct reorder *r, uint64_t *net_seq)
{
	const struct heap_item *min = heap_min(&r->by_seq);

	if (r->only != NULL && r->only->has_data)
		*net_seq = r->only->net_seq;
	else if (min != NULL)
		*net_seq = number(r, min);
	else
		return false;
	return true;
}

void
reorder_start(struct reorder *r, uint64_t first)
{
	assert(!r->has_next && reorder_is_empty(r));
	r->has_next = true;
	r->next = r->first = first;
}

void
reorder_skip_to(struct reorder *r, uint64_t to, struct reorder_loss *loss)
{
	struct list *n, *tmp;

	/* TO may even be before NEXT: peers choose the numbers. */
	*loss = (struct reorder_loss){ .first = r->next, .n = to - r->next };
	r->next = to;
	move_early(r, to);
	list_for_each (n, tmp, &r->early)
		forget_record(r, list_entry(n, struct packet, node), loss);
}

uint64_t
reorder_skip(struct reorder *r, unsigned *records_dropped)
{
	struct reorder_loss loss;
	uint64_t lowest;

	*records_dropped = 0;
	if (!reorder_lowest(r, &lowest))
		return 0;
	reorder_skip_to(r, lowest, &loss);
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

static int
compare_items(const void *a, const void *b)
{
	const struct heap_item *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

struct packet *
reorder_chain(const struct reorder *r)
{
	struct packet *first = NULL, **end = &first;
	struct heap_item *items;

	if (r->only != NULL && r->only->has_data) {
		r->only->next = NULL;
		return r->only;
	}
	if (r->by_seq.n == 0)
		return NULL;
	items = calloc(r->by_seq.n, sizeof(*items));
	if (items == NULL)
		return NULL;
	for (uint32_t i = 0; i < r->by_seq.n; i++)
		items[i] = r->by_seq.items[i];
	qsort(items, r->by_seq.n, sizeof(*items), compare_items);
	for (uint32_t i = 0; i < r->by_seq.n; i++) {
		*end = items[i].value;
		end = &(*end)->next;
	}
	*end = NULL;
	free(items);
	return first;
}

static const struct state_member index_record_members[] = {
	STATE_KEEP(struct index_record, offset),
	STATE_KEEP(struct index_record, packet_size),
	STATE_KEEP(struct index_record, content_size),
	STATE_KEEP(struct index_record, timestamp_begin),
	STATE_KEEP(struct index_record, timestamp_end),
	STATE_KEEP(struct index_record, events_discarded),
	STATE_KEEP(struct index_record, ctf_stream),
	STATE_KEEP(struct index_record, ctf_instance),
	STATE_KEEP(struct index_record, packet_seq_num),
};
static STATE_TABLE(
    index_record_state, struct index_record, index_record_members);

static const struct state_member loss_members[] = {
	STATE_KEEP(struct reorder_loss, first),
	STATE_KEEP(struct reorder_loss, n),
	STATE_KEEP(struct reorder_loss, records),
	STATE_STRUCT(struct reorder_loss, last, index_record_state),
};
STATE_TABLE(reorder_loss_state, struct reorder_loss, loss_members);

static const struct state_member reorder_members[] = {
	STATE_DROP(struct reorder, pool),
	/* The packets are held again one by one. */
	STATE_CODE(struct reorder, only),
	STATE_CODE(struct reorder, by_seq),
	STATE_CODE(struct reorder, halves),
	STATE_CODE(struct reorder, records),
	STATE_DROP(struct reorder, lowest),
	STATE_DROP(struct reorder, lowest_base),
	STATE_CODE(struct reorder, early),
	STATE_DROP(struct reorder, n_records),
	STATE_KEEP(struct reorder, needs_record),
	STATE_KEEP(struct reorder, has_next),
	STATE_KEEP(struct reorder, first),
	STATE_KEEP(struct reorder, next),
	STATE_DROP(struct reorder, held_bytes),
	STATE_KEEP(struct reorder, now),
};
static STATE_TABLE(reorder_state, struct reorder, reorder_members);

static void
put_list(struct state_out *o, const struct list *records)
{
	const struct packet *p;

	list_each (p, records, struct packet, node) {
		state_put_bool(o, true);
		packet_put_state(o, p);
	}
	state_put_bool(o, false);
}

/* A record that waits alone is the only packet, and is in its list, too. */
void
reorder_put_state(struct state_out *o, const struct reorder *r)
{
	state_put(o, &reorder_state, r);
	for (size_t i = 0; i < reorder_whole(r); i++) {
		state_put_bool(o, true);
		packet_put_state(o, reorder_whole_at(r, i));
	}
	state_put_bool(o, false);
	put_list(o, &r->records);
	put_list(o, &r->early);
}

/* Take over a packet that was read: one with its bytes, or with a record
 * alone. */
static enum status
take_back(struct reorder *r, struct packet *take_p, bool is_whole)
{
	enum status st = E_MALFORMED;

	if (is_whole ? packet_is_whole(take_p) && r->has_next &&
			   !is_before(take_p->net_seq, r->next)
		     : take_p->has_record && take_p->blocks == NULL &&
			   r->n_records < REORDER_RECORDS_MAX)
		st = reorder_find(r, take_p->net_seq) != NULL ? E_MALFORMED
							      : OK;
	take_p->has_data = is_whole;
	if (st == OK)
		st = hold_another(r, take_p);
	if (st != OK) {
		packet_destroy(r->pool, take_p);
		return st;
	}
	if (is_whole)
		r->held_bytes += take_p->size;
	else
		r->n_records++;
	return OK;
}

static enum status
get_list(struct reorder *r, struct state_in *in, struct list *records)
{
	struct packet *p;
	enum status st = OK;

	while (st == OK && state_get_bool(in)) {
		st = packet_get_state(&p, in, r->pool);
		if (st == OK)
			st = take_back(r, p, records == NULL);
		if (st == OK && records != NULL)
			list_append(records, &p->node);
	}
	return st == OK ? state_in_status(in) : st;
}

enum status
reorder_get_state(struct reorder *r, struct state_in *in)
{
	enum status st = state_get(in, &reorder_state, r);

	if (st == OK)
		st = get_list(r, in, NULL);
	if (st == OK)
		st = get_list(r, in, &r->records);
	return st == OK ? get_list(r, in, &r->early) : st;
}
