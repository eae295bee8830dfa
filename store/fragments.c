/* SPDX-License-Identifier: MIT */
#include "store/fragments.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/slab.h"
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

struct fragments *
fragments_create(uint64_t net_seq, uint32_t size, uint32_t padding,
    uint32_t fragment_size, uint64_t now_ns)
{
	const uint32_t n = (size - 1) / fragment_size + 1;
	const uint32_t block = block_size(size);
	const uint32_t n_blocks = (size - 1) / block + 1;
	const size_t words = (n - 1) / 64 + 1;
	const size_t bytes = sizeof(struct fragments) +
			     n_blocks * sizeof(struct slab_block *) +
			     words * sizeof(uint64_t);
	struct fragments *f;

	assert(size > 0);
	f = calloc(1, bytes);
	if (f == NULL)
		return NULL;
	list_init(&f->node);
	f->net_seq = net_seq;
	f->size = size;
	f->padding = padding;
	f->fragment_size = fragment_size;
	f->n = f->n_missing = n;
	f->n_blocks = n_blocks;
	f->block_size = block;
	f->began_ns = f->progress_ns = now_ns;
	f->memory = bytes;
	f->bits = (uint64_t *)(f + 1);
	f->blocks = (struct slab_block **)(f->bits + words);
	return f;
}

void
fragments_destroy(struct packet_pool *pool, struct fragments *take_f)
{
	if (take_f == NULL)
		return;
	for (uint32_t i = 0; i < take_f->n_blocks; i++)
		slab_put(&pool->slab, take_f->blocks[i]);
	list_del(&take_f->node);
	free(take_f);
}

/* The number of bytes of the packet in block I. */
static uint32_t
block_length(const struct fragments *f, uint32_t i)
{
	const uint32_t rest = f->size - i * f->block_size;

	return rest < f->block_size ? rest : f->block_size;
}

static struct slab_block *
get_block(struct packet_pool *pool, struct fragments *f, uint32_t i)
{
	struct slab_block *b = f->blocks[i];

	if (b != NULL)
		return b;
	b = slab_get(&pool->slab, block_length(f, i));
	if (b == NULL)
		return NULL;
	b->used = block_length(f, i);
	f->blocks[i] = b;
	f->memory += b->cap;
	return b;
}

enum status
fragments_add(struct packet_pool *pool, struct fragments *f, uint32_t i,
    const uint8_t *p, uint64_t now_ns)
{
	uint32_t at = i * f->fragment_size, n, in_block;
	struct slab_block *b;
	uint32_t left = f->size - at;

	assert(i < f->n);
	if (fragments_has(f, i))
		return E_EXISTS;
	if (left > f->fragment_size)
		left = f->fragment_size;
	for (; left > 0; left -= n, at += n, p += n) {
		b = get_block(pool, f, at / f->block_size);
		if (b == NULL)
			return E_NOMEM;
		in_block = at % f->block_size;
		n = b->used - in_block;
		if (n > left)
			n = left;
		memcpy(b->mem + in_block, p, n);
	}
	f->bits[i / 64] |= UINT64_C(1) << i % 64;
	assert(f->n_missing > 0);
	f->n_missing--;
	f->progress_ns = now_ns;
	return OK;
}

struct packet *
fragments_finish(struct packet_pool *pool, struct fragments *take_f)
{
	struct fragments *f = take_f;
	struct packet *p = packet_create(pool, f->net_seq);

	assert(f->n_missing == 0);
	if (p == NULL) {
		fragments_destroy(pool, f);
		return NULL;
	}
	p->size = p->received = f->size;
	p->padding = f->padding;
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		if (p->last == NULL)
			p->blocks = f->blocks[i];
		else
			p->last->next = f->blocks[i];
		p->last = f->blocks[i];
		f->blocks[i] = NULL;
	}
	fragments_destroy(pool, f);
	return p;
}

bool
fragments_hole(
    const struct fragments *f, uint32_t from, uint32_t *first, uint32_t *count)
{
	while (from < f->n && fragments_has(f, from))
		from++;
	*first = from;
	while (from < f->n && !fragments_has(f, from))
		from++;
	*count = from - *first;
	return *count > 0;
}
