/* SPDX-License-Identifier: MIT */
#include "store/arrivals.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/slab.h"
#include "common/state.h"
#include "store/packet.h"

/* The largest block, in bytes: the most memory that one piece takes. */
#define BLOCK_LARGEST (64 * 1024)

static uint32_t
block_size(uint32_t size)
{
	if (size <= 4096)
		return 4096;
	return size <= 16384 ? 16384 : BLOCK_LARGEST;
}

void
arrivals_init(
    struct arrivals *a, struct reorder *r, const struct arrivals_config *config)
{
	*a = (struct arrivals){ .config = *config, .reorder = r };
	list_init(&a->partial);
	reorder_start(r, 0);
}

/* The lowest incomplete packet, or NULL. */
static struct fragments *
lowest_partial(const struct arrivals *a)
{
	const struct heap_item *min = heap_min(&a->lowest);

	return min == NULL ? NULL : idmap_find(&a->by_seq, min->key);
}

/* Remove F from the map and the counts. */
static void
forget(struct arrivals *a, const struct fragments *f)
{
	a->survey.is_set = false;
	idmap_remove(&a->by_seq, f->net_seq);
	assert(a->n_partial > 0 && a->partial_bytes >= f->memory);
	a->n_partial--;
	a->partial_bytes -= f->memory;
	while (a->lowest.n > 0 && lowest_partial(a) == NULL)
		(void)heap_pop(&a->lowest);
}

static void
destroy(struct arrivals *a, struct fragments *take_f)
{
	for (uint32_t i = 0; i < take_f->n_blocks; i++)
		slab_put(&a->reorder->pool->slab, take_f->blocks[i]);
	list_del(&take_f->node);
	free(take_f);
}

static void
drop(struct arrivals *a, struct fragments *f)
{
	forget(a, f);
	destroy(a, f);
}

void
arrivals_free(struct arrivals *a)
{
	while (!list_empty(&a->partial))
		drop(a, list_first(&a->partial, struct fragments, node));
	idmap_free(&a->by_seq);
	heap_free(&a->lowest);
}

/* A packet that arrives in one piece needs no struct fragments. */
static enum arrived
add_whole(struct arrivals *a, const struct arrival *f, struct packet **whole)
{
	struct packet_pool *pool = a->reorder->pool;
	struct packet *p = packet_create(pool, f->net_seq);

	if (p == NULL)
		return ARRIVED_NOMEM;
	p->size = f->size;
	p->padding = f->padding;
	if (packet_copy(pool, p, f->payload, f->len) != f->len) {
		packet_destroy(pool, p);
		return ARRIVED_NOMEM;
	}
	*whole = p;
	return ARRIVED_WHOLE;
}

/* The first piece of a packet. NULL: no memory. */
static struct fragments *
begin(struct arrivals *a, const struct arrival *f, uint64_t now_ns)
{
	const uint32_t n = (f->size - 1) / a->config.fragment_size + 1;
	const uint32_t block = block_size(f->size);
	const uint32_t n_blocks = (f->size - 1) / block + 1;
	const size_t words = (n - 1) / 64 + 1;
	const size_t bytes = sizeof(struct fragments) +
			     n_blocks * sizeof(struct slab_block *) +
			     words * sizeof(uint64_t);
	struct fragments *g = calloc(1, bytes);

	if (g == NULL)
		return NULL;
	if (idmap_insert(&a->by_seq, f->net_seq, g) != OK) {
		free(g);
		return NULL;
	}
	if (heap_push(&a->lowest, f->net_seq, NULL) != OK) {
		idmap_remove(&a->by_seq, f->net_seq);
		free(g);
		return NULL;
	}
	g->net_seq = f->net_seq;
	g->size = f->size;
	g->padding = f->padding;
	g->n_missing = n;
	g->n_blocks = n_blocks;
	g->block_size = block;
	g->began_ns = g->progress_ns = now_ns;
	g->memory = bytes;
	g->bits = (uint64_t *)(g + 1);
	g->blocks = (struct slab_block **)(g->bits + words);
	list_append(&a->partial, &g->node);
	a->n_partial++;
	a->partial_bytes += bytes;
	return g;
}

static struct slab_block *
get_block(struct arrivals *a, struct fragments *g, uint32_t i)
{
	const uint32_t rest = g->size - i * g->block_size;
	const uint32_t length = rest < g->block_size ? rest : g->block_size;
	struct slab_block *b = g->blocks[i];

	if (b != NULL)
		return b;
	b = slab_get(&a->reorder->pool->slab, length);
	if (b == NULL)
		return NULL;
	b->used = length;
	g->blocks[i] = b;
	g->memory += b->cap;
	a->partial_bytes += b->cap;
	return b;
}

static bool
has_piece(const struct fragments *g, uint32_t i)
{
	return (g->bits[i / 64] >> i % 64 & 1) != 0;
}

/* Make a packet of all pieces. NULL: no memory. TAKE_G is freed. */
static struct packet *
finish(struct arrivals *a, struct fragments *take_g)
{
	struct packet *p = packet_create(a->reorder->pool, take_g->net_seq);

	assert(take_g->n_missing == 0);
	forget(a, take_g);
	for (uint32_t i = 0; p != NULL && i < take_g->n_blocks; i++) {
		if (p->last == NULL)
			p->blocks = take_g->blocks[i];
		else
			p->last->next = take_g->blocks[i];
		p->last = take_g->blocks[i];
		take_g->blocks[i] = NULL;
	}
	if (p != NULL) {
		p->size = p->received = take_g->size;
		p->padding = take_g->padding;
	}
	destroy(a, take_g);
	return p;
}

static enum arrived
add_piece(struct arrivals *a, struct fragments *g, const struct arrival *f,
    uint64_t now_ns, struct packet **whole)
{
	const uint32_t i = f->offset / a->config.fragment_size;
	uint32_t at = f->offset, left = f->len, n, in_block;
	const uint8_t *p = f->payload;
	struct slab_block *b;

	if (has_piece(g, i))
		return ARRIVED_TWICE;
	for (; left > 0; left -= n, at += n, p += n) {
		b = get_block(a, g, at / g->block_size);
		if (b == NULL)
			return ARRIVED_NOMEM;
		in_block = at % g->block_size;
		n = b->used - in_block;
		if (n > left)
			n = left;
		memcpy(b->mem + in_block, p, n);
	}
	g->bits[i / 64] |= UINT64_C(1) << i % 64;
	assert(g->n_missing > 0);
	g->n_missing--;
	g->progress_ns = now_ns;
	if (g->n_missing > 0)
		return ARRIVED;
	*whole = finish(a, g);
	return *whole == NULL ? ARRIVED_NOMEM : ARRIVED_WHOLE;
}

enum arrived
arrivals_add(struct arrivals *a, const struct arrival *f, uint64_t now_ns,
    struct packet **whole)
{
	struct fragments *g;
	enum status st = reorder_begin(a->reorder, f->net_seq);

	*whole = NULL;
	a->survey.is_set = false;
	if (st == E_PROTOCOL)
		return ARRIVED_LATE;
	if (st == E_EXISTS)
		return ARRIVED_TWICE;
	g = idmap_find(&a->by_seq, f->net_seq);
	if (g != NULL && (g->size != f->size || g->padding != f->padding))
		return ARRIVED_FALSE;
	arrivals_note_sent(a, f->net_seq);
	a->reorder->now = now_ns;
	if (f->len == f->size)
		return add_whole(a, f, whole);
	if (g == NULL)
		g = begin(a, f, now_ns);
	return g == NULL ? ARRIVED_NOMEM : add_piece(a, g, f, now_ns, whole);
}

void
arrivals_note_sent(struct arrivals *a, uint64_t net_seq)
{
	a->survey.is_set = false;
	if (net_seq >= a->end)
		a->end = net_seq + 1;
}

/* Numbers start at 0 and never get near 2^63, so they do not wrap around. */
static bool
is_open(const struct arrivals *a, const struct claim *c)
{
	return c->is_set && c->seq >= a->reorder->next;
}

void
arrivals_ask(struct arrivals *a, uint64_t seq, uint64_t now_ns)
{
	a->survey.is_set = false;
	if (!is_open(a, &a->asked))
		a->asked = (struct claim){ true, seq, now_ns };
}

void
arrivals_last(struct arrivals *a, uint64_t seq, uint64_t now_ns)
{
	a->last = (struct claim){ true, seq, now_ns };
	arrivals_note_sent(a, seq);
}

/* Has a piece of a packet after the next one arrived? */
static bool
has_later_piece(const struct arrivals *a)
{
	return a->n_partial > 1 ||
	       (a->n_partial == 1 &&
		   list_first(&a->partial, struct fragments, node)->net_seq >
		       a->reorder->next);
}

bool
arrivals_has_gap(const struct arrivals *a)
{
	const struct reorder *r = a->reorder;
	uint64_t whole;

	if (reorder_lowest(a->reorder, &whole))
		return whole != r->next;
	return r->n_records > 0 || is_open(a, &a->asked) ||
	       is_open(a, &a->last) || has_later_piece(a);
}

bool
arrivals_window_is_full(const struct arrivals *a)
{
	return a->config.window > 0 &&
	       reorder_whole(a->reorder) >= a->config.window &&
	       arrivals_has_gap(a);
}

/* SEQ is known since SINCE_NS. Returns false if that is after the cutoff. */
static bool
note_known(struct survey *v, uint64_t seq, uint64_t since_ns)
{
	if (since_ns < v->oldest)
		v->oldest = since_ns;
	if (since_ns > v->cutoff)
		return false;
	if (seq >= v->expired_end)
		v->expired_end = seq + 1;
	if (since_ns <= v->last_cutoff && seq >= v->last_end)
		v->last_end = seq + 1;
	return true;
}

static uint64_t
ago(uint64_t now_ns, uint64_t ns)
{
	return now_ns > ns ? now_ns - ns : 0;
}

/* Records and pieces are ordered by time, so only expired ones are visited. */
static void
note_all(const struct arrivals *a, struct survey *v)
{
	const struct reorder *r = a->reorder;
	const struct fragments *g;
	const struct packet *p;

	list_each (p, &r->records, struct packet, node)
		if (!note_known(v, p->net_seq, p->since))
			break;
	list_each (g, &a->partial, struct fragments, node) {
		/* All packets before G have been sent. */
		if (g->net_seq > r->next &&
		    !note_known(v, g->net_seq - 1, g->began_ns))
			break;
	}
	for (size_t i = 0; i < reorder_whole(r); i++) {
		p = reorder_whole_at(r, i);
		(void)note_known(v, p->net_seq, p->since);
	}
	if (is_open(a, &a->asked))
		(void)note_known(v, a->asked.seq, a->asked.since_ns);
	if (is_open(a, &a->last))
		(void)note_known(v, a->last.seq, a->last.since_ns);
}

static void
find_growing(const struct arrivals *a, struct survey *v)
{
	const struct fragments *g;

	list_each (g, &a->partial, struct fragments, node) {
		if (g->net_seq >= v->last_end && g->net_seq < v->expired_end &&
		    g->progress_ns > v->cutoff &&
		    (!v->has_growing || g->net_seq < v->growing)) {
			v->has_growing = true;
			v->growing = g->net_seq;
			v->progress_ns = g->progress_ns;
		}
	}
}

/* Numbers that left since the survey are below the next one, so the survey is
 * valid for the others, unless there are none. */
static const struct survey *
survey(struct arrivals *a, uint64_t now_ns)
{
	const uint64_t timeout = a->config.timeout_ns;
	struct survey *v = &a->survey;

	if (v->is_set && v->at_ns == now_ns &&
	    v->expired_end > a->reorder->next)
		return v;
	*v = (struct survey){ .is_set = true,
		.at_ns = now_ns,
		.cutoff = ago(now_ns, timeout),
		.last_cutoff = ago(now_ns, ARRIVALS_PATIENCE * timeout),
		.oldest = UINT64_MAX };
	note_all(a, v);
	find_growing(a, v);
	return v;
}

uint64_t
arrivals_due(struct arrivals *a, uint64_t now_ns, uint64_t *to)
{
	const uint64_t next = a->reorder->next;
	const struct survey *v;
	uint64_t end, whole;

	*to = next;
	if (!arrivals_has_gap(a))
		return UINT64_MAX;
	v = survey(a, now_ns);
	end = v->expired_end;
	if (end <= next)
		return v->oldest + a->config.timeout_ns;
	if (reorder_lowest(a->reorder, &whole) && whole < end)
		end = whole;
	if (v->has_growing && v->growing < end)
		end = v->growing;
	if (end > next) {
		*to = end;
		return now_ns;
	}
	assert(v->has_growing);
	return v->progress_ns + a->config.timeout_ns;
}

bool
arrivals_victim(const struct arrivals *a, uint64_t *to)
{
	const struct fragments *g = lowest_partial(a);
	const bool found = reorder_lowest(a->reorder, to);

	if (found && *to == a->reorder->next)
		return false;
	if (g != NULL && (!found || g->net_seq + 1 < *to))
		*to = g->net_seq + 1;
	return found || g != NULL;
}

void
arrivals_skip(struct arrivals *a, uint64_t to, struct reorder_loss *loss)
{
	struct fragments *g;

	reorder_skip_to(a->reorder, to, loss);
	while ((g = lowest_partial(a)) != NULL && g->net_seq < to)
		drop(a, g);
}

/* Store the holes of packet SEQ in OUT. Returns their number. */
static uint32_t
holes_of(const struct arrivals *a, uint64_t seq, struct arrivals_hole *out,
    uint32_t max)
{
	const struct fragments *g = idmap_find(&a->by_seq, seq);
	const struct packet *p = reorder_find(a->reorder, seq);
	uint32_t n = 0, i = 0, end;

	if (p != NULL && p->has_data)
		return 0;
	if (g == NULL) {
		out[0] = (struct arrivals_hole){ seq, 0, UINT32_MAX };
		return 1;
	}
	end = (g->size - 1) / a->config.fragment_size + 1;
	while (n < max) {
		while (i < end && has_piece(g, i))
			i++;
		if (i == end)
			break;
		out[n] = (struct arrivals_hole){ seq, i, 0 };
		for (; i < end && !has_piece(g, i); i++)
			out[n].count++;
		n++;
	}
	return n;
}

uint32_t
arrivals_holes(const struct arrivals *a, struct arrivals_hole *out,
    uint32_t max, uint32_t *looks)
{
	uint64_t seq = a->reorder->next;
	uint32_t n = 0;

	if (seq < a->end && max > 0)
		n = holes_of(a, seq++, out, max);
	/* Each number has at least one hole, or its packet is complete. */
	for (; seq < a->end && n<max && * looks> 0; seq++, --*looks)
		n += holes_of(a, seq, out + n, max - n);
	return n;
}

static const struct state_member config_members[] = {
	STATE_KEEP(struct arrivals_config, fragment_size),
	STATE_KEEP(struct arrivals_config, window),
	STATE_KEEP(struct arrivals_config, timeout_ns),
};
STATE_TABLE(arrivals_config_state, struct arrivals_config, config_members);

static const struct state_member claim_members[] = {
	STATE_KEEP(struct claim, is_set),
	STATE_KEEP(struct claim, seq),
	STATE_KEEP(struct claim, since_ns),
};
static STATE_TABLE(claim_state, struct claim, claim_members);

static const struct state_member survey_members[] = {
	STATE_DROP(struct survey, is_set), /* it is made again */
	STATE_DROP(struct survey, at_ns),
	STATE_DROP(struct survey, cutoff),
	STATE_DROP(struct survey, last_cutoff),
	STATE_DROP(struct survey, oldest),
	STATE_DROP(struct survey, expired_end),
	STATE_DROP(struct survey, last_end),
	STATE_DROP(struct survey, has_growing),
	STATE_DROP(struct survey, growing),
	STATE_DROP(struct survey, progress_ns),
};
static STATE_TABLE(survey_state, struct survey, survey_members);

static const struct state_member fragments_members[] = {
	STATE_DROP(struct fragments, node),
	STATE_KEEP(struct fragments, net_seq),
	STATE_KEEP(struct fragments, size),
	STATE_KEEP(struct fragments, padding),
	STATE_DROP(struct fragments, n_missing), /* follows from the bits */
	STATE_DROP(struct fragments, n_blocks),	 /* from the size */
	STATE_DROP(struct fragments, block_size),
	STATE_KEEP(struct fragments, began_ns),
	STATE_KEEP(struct fragments, progress_ns),
	STATE_DROP(struct fragments, memory),
	STATE_CODE(struct fragments, blocks),
	STATE_CODE(struct fragments, bits),
};
static STATE_TABLE(fragments_state, struct fragments, fragments_members);

static const struct state_member arrivals_members[] = {
	STATE_DROP(struct arrivals, config), /* that of the session */
	STATE_DROP(struct arrivals, reorder),
	STATE_DROP(struct arrivals, by_seq), /* from PARTIAL */
	STATE_CODE(struct arrivals, partial),
	STATE_DROP(struct arrivals, lowest),
	STATE_DROP(struct arrivals, n_partial),
	STATE_DROP(struct arrivals, partial_bytes),
	STATE_KEEP(struct arrivals, end),
	STATE_STRUCT(struct arrivals, asked, claim_state),
	STATE_STRUCT(struct arrivals, last, claim_state),
	STATE_STRUCT(struct arrivals, survey, survey_state),
};
static STATE_TABLE(arrivals_state, struct arrivals, arrivals_members);

static uint32_t
n_pieces(const struct arrivals *a, uint32_t size)
{
	return (size - 1) / a->config.fragment_size + 1;
}

void
arrivals_put_state(struct state_out *o, const struct arrivals *a)
{
	const struct fragments *g;
	uint32_t n;

	state_put(o, &arrivals_state, a);
	list_each (g, &a->partial, struct fragments, node) {
		n = n_pieces(a, g->size);
		state_put_bool(o, true);
		state_put(o, &fragments_state, g);
		for (uint32_t i = 0; i < (n - 1) / 64 + 1; i++)
			state_put_u64(o, g->bits[i]);
		for (uint32_t i = 0; i < g->n_blocks; i++) {
			state_put_bool(o, g->blocks[i] != NULL);
			if (g->blocks[i] != NULL)
				state_put_bytes(
				    o, g->blocks[i]->mem, g->blocks[i]->used);
		}
	}
	state_put_bool(o, false);
}

/* Which pieces have arrived. At least one is missing. */
static enum status
get_bits(struct arrivals *a, struct fragments *g, struct state_in *in)
{
	const uint32_t n = n_pieces(a, g->size), words = (n - 1) / 64 + 1;

	g->n_missing = n;
	for (uint32_t i = 0; i < words; i++) {
		g->bits[i] = state_get_u64(in);
		g->n_missing -= (uint32_t)__builtin_popcountll(g->bits[i]);
	}
	if (n % 64 != 0 && g->bits[words - 1] >> n % 64 != 0)
		return E_MALFORMED;
	return g->n_missing == 0 || g->n_missing > n ? E_MALFORMED
						     : state_in_status(in);
}

/* Has a piece arrived that has bytes in block I? */
static bool
needs_block(const struct arrivals *a, const struct fragments *g, uint32_t i)
{
	const uint64_t piece = a->config.fragment_size,
		       from = (uint64_t)i * g->block_size;
	uint64_t to = from + g->block_size;

	if (to > g->size)
		to = g->size;
	for (uint64_t n = from / piece; n * piece < to; n++)
		if (has_piece(g, (uint32_t)n))
			return true;
	return false;
}

static enum status
get_blocks(struct arrivals *a, struct fragments *g, struct state_in *in)
{
	struct slab_block *b;
	struct span bytes;

	for (uint32_t i = 0; i < g->n_blocks; i++) {
		if (!state_get_bool(in)) {
			if (needs_block(a, g, i))
				return E_MALFORMED;
			continue;
		}
		bytes = state_get_bytes(in);
		b = bytes.p == NULL ? NULL : get_block(a, g, i);
		if (b == NULL)
			return bytes.p == NULL ? E_MALFORMED : E_NOMEM;
		if (b->used != bytes.n)
			return E_MALFORMED;
		memcpy(b->mem, bytes.p, bytes.n);
	}
	return state_in_status(in);
}

static enum status
get_fragments(struct arrivals *a, struct state_in *in, uint64_t max)
{
	struct fragments from = { 0 }, *g;
	enum status st = state_get(in, &fragments_state, &from);

	if (st != OK)
		return st;
	if (from.size == 0 || (uint64_t)from.size + from.padding > max ||
	    reorder_begin(a->reorder, from.net_seq) != OK ||
	    idmap_find(&a->by_seq, from.net_seq) != NULL)
		return E_MALFORMED;
	g = begin(a,
	    &(struct arrival){ .net_seq = from.net_seq,
		.size = from.size,
		.padding = from.padding },
	    from.began_ns);
	if (g == NULL)
		return E_NOMEM;
	g->progress_ns = from.progress_ns;
	st = get_bits(a, g, in);
	return st == OK ? get_blocks(a, g, in) : st;
}

enum status
arrivals_get_state(struct arrivals *a, struct state_in *in, uint64_t max)
{
	enum status st = state_get(in, &arrivals_state, a);

	while (st == OK && state_get_bool(in))
		st = get_fragments(a, in, max);
	return st == OK ? state_in_status(in) : st;
}
