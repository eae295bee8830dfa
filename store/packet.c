/* SPDX-License-Identifier: MIT */
#include "store/packet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/state.h"

/* Structs kept for reuse: the number in flight with 16 busy streams. */
#define PACKETS_KEPT 256
/* The largest first block of a packet, whatever size its header names, unless
 * the sender has just delivered a larger packet. */
#define FIRST_BLOCK (64 * 1024)
/* The size of the struct and of its entries in the heap and the map. */
#define PACKET_OVERHEAD (sizeof(struct packet) + 64)

void
packet_pool_init(
    struct packet_pool *pool, uint64_t max_cached, struct published *account)
{
	slab_init(&pool->slab, max_cached, account);
	list_init(&pool->free);
	pool->n_free = 0;
}

static void
trim_structs(struct packet_pool *pool)
{
	struct packet *p;

	while (!list_empty(&pool->free)) {
		p = list_first(&pool->free, struct packet, node);
		list_del(&p->node);
		free(p);
	}
	pool->n_free = 0;
}

void
packet_pool_free(struct packet_pool *pool)
{
	trim_structs(pool);
	slab_trim(&pool->slab, 0);
}

void
packet_pool_trim(struct packet_pool *pool)
{
	trim_structs(pool);
	slab_trim(&pool->slab, 0);
}

struct packet *
packet_create(struct packet_pool *pool, uint64_t net_seq)
{
	struct packet *p;

	if (list_empty(&pool->free)) {
		p = malloc(sizeof(*p));
		if (p == NULL)
			return NULL;
	} else {
		p = list_first(&pool->free, struct packet, node);
		list_del(&p->node);
		pool->n_free--;
	}
	*p = (struct packet){ .net_seq = net_seq };
	list_init(&p->node);
	return p;
}

void
packet_destroy(struct packet_pool *pool, struct packet *p)
{
	if (p == NULL)
		return;
	slab_put(&pool->slab, p->blocks);
	list_del(&p->node);
	if (pool->n_free == PACKETS_KEPT) {
		free(p);
		return;
	}
	list_append(&pool->free, &p->node);
	pool->n_free++;
}

uint64_t
packet_memory(const struct packet *p)
{
	uint64_t n = PACKET_OVERHEAD;

	for (const struct slab_block *b = p->blocks; b != NULL; b = b->next)
		n += b->cap;
	return n;
}

/* The size of the next block: at most three times what has arrived. */
static size_t
next_block(const struct packet *p)
{
	uint64_t want = p->size - p->received;
	uint64_t most = 3 * (uint64_t)p->received;

	if (most < FIRST_BLOCK)
		most = FIRST_BLOCK;
	if (most < p->trusted)
		most = p->trusted;
	if (want > most)
		want = most;
	return want > SLAB_LARGEST ? SLAB_LARGEST : (size_t)want;
}

size_t
packet_space(struct packet_pool *pool, struct packet *p, uint8_t **at)
{
	size_t space, lacks = p->size - p->received;
	struct slab_block *b = p->last;

	assert(lacks > 0);
	if (b == NULL || b->used == b->cap) {
		b = slab_get(&pool->slab, next_block(p));
		if (b == NULL) {
			*at = NULL;
			return 0;
		}
		b->used = 0;
		b->next = NULL;
		if (p->last != NULL)
			p->last->next = b;
		else
			p->blocks = b;
		p->last = b;
	}
	*at = b->mem + b->used;
	space = b->cap - b->used;
	return space < lacks ? space : lacks;
}

void
packet_filled(struct packet *p, size_t n)
{
	assert(n <= p->last->cap - p->last->used);
	assert(n <= p->size - p->received);
	p->last->used += (uint32_t)n;
	p->received += (uint32_t)n;
}

size_t
packet_copy(
    struct packet_pool *pool, struct packet *p, const void *from, size_t n)
{
	size_t done = 0, space;
	uint8_t *at;

	while (done < n && !packet_is_whole(p)) {
		space = packet_space(pool, p, &at);
		if (at == NULL)
			break;
		if (space > n - done)
			space = n - done;
		memcpy(at, (const uint8_t *)from + done, space);
		packet_filled(p, space);
		done += space;
	}
	return done;
}

static const struct state_member record_members[] = {
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
static STATE_TABLE(record_state, struct index_record, record_members);

static const struct state_member members[] = {
	STATE_DROP(struct packet, node),
	STATE_DROP(struct packet, next),
	STATE_KEEP(struct packet, net_seq),
	STATE_KEEP(struct packet, size),
	STATE_KEEP(struct packet, padding),
	STATE_DROP(struct packet, received), /* by its bytes */
	STATE_KEEP(struct packet, trusted),
	STATE_KEEP(struct packet, since),
	STATE_KEEP(struct packet, has_data),
	STATE_KEEP(struct packet, has_record),
	STATE_CODE(struct packet, blocks),
	STATE_CODE(struct packet, last),
	STATE_STRUCT(struct packet, rec, record_state),
};
static STATE_TABLE(packet_state, struct packet, members);

void
packet_put_state(struct state_out *o, const struct packet *p)
{
	state_put_bool(o, p != NULL);
	if (p == NULL)
		return;
	state_put(o, &packet_state, p);
	state_put_u32(o, p->received);
	for (const struct slab_block *b = p->blocks; b != NULL; b = b->next)
		buf_bytes(&o->buf, b->mem, b->used);
}

enum status
packet_get_state(
    struct packet **out, struct state_in *in, struct packet_pool *pool)
{
	const uint8_t *bytes;
	struct packet *p;
	uint32_t n;
	enum status st;

	*out = NULL;
	if (!state_get_bool(in))
		return state_in_status(in);
	p = packet_create(pool, 0);
	if (p == NULL)
		return E_NOMEM;
	st = state_get(in, &packet_state, p);
	n = state_get_u32(in, p->size);
	bytes = reader_take(&in->r, n);
	if (st == OK && (bytes == NULL || (p->has_data && n != p->size)))
		st = E_MALFORMED;
	if (st == OK && packet_copy(pool, p, bytes, n) != n)
		st = E_NOMEM;
	if (st != OK) {
		packet_destroy(pool, p);
		return st;
	}
	*out = p;
	return OK;
}
