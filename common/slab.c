/* SPDX-License-Identifier: MIT */
#include "common/slab.h"

#include <stdlib.h>

static uint32_t
class_size(unsigned i)
{
	return UINT32_C(4096) << 2 * i;
}

_Static_assert(UINT32_C(4096) << 2 * (SLAB_CLASSES - 1) == SLAB_LARGEST,
    "the last class is the largest");

static unsigned
class_of(size_t n)
{
	unsigned i = 0;

	while (i < SLAB_CLASSES - 1 && class_size(i) < n)
		i++;
	return i;
}

void
slab_init(struct slab_pool *p, uint64_t max_cached, struct published *account)
{
	*p = (struct slab_pool){ .max_cached = max_cached, .account = account };
}

/* Take the first cached block of class I. */
static struct slab_block *
take(struct slab_pool *p, unsigned i)
{
	struct slab_block *b = p->free[i];

	p->free[i] = b->next;
	p->cached -= b->cap;
	p->n_small -= i == 0;
	return b;
}

/* Cache or free B, of class I. */
static void
cache(struct slab_pool *p, unsigned i, struct slab_block *b)
{
	if (p->cached + b->cap > p->max_cached ||
	    (i == 0 && p->n_small == SLAB_SMALL_CACHED)) {
		free(b);
		return;
	}
	b->next = p->free[i];
	p->free[i] = b;
	p->cached += b->cap;
	p->n_small += i == 0;
}

struct slab_block *
slab_get(struct slab_pool *p, size_t n)
{
	const unsigned i = class_of(n);
	struct slab_block *b;

	if (p->free[i] != NULL) {
		b = take(p, i);
	} else {
		b = malloc(sizeof(*b) + SLAB_ALIGN - 1 + class_size(i));
		if (b == NULL)
			return NULL;
		b->cap = class_size(i);
		b->mem = (uint8_t *)(b + 1);
		b->mem += -(uintptr_t)b->mem & (SLAB_ALIGN - 1);
	}
	b->next = NULL;
	b->used = 0;
	published_add(p->account, b->cap);
	return b;
}

void
slab_put(struct slab_pool *p, struct slab_block *b)
{
	while (b != NULL) {
		struct slab_block *next = b->next;

		published_sub(p->account, b->cap);
		cache(p, class_of(b->cap), b);
		b = next;
	}
}

void
slab_trim(struct slab_pool *p, uint64_t keep)
{
	/* Large blocks first: they free the most memory per call. */
	for (unsigned i = SLAB_CLASSES; i-- > 0;) {
		while (p->cached > keep && p->free[i] != NULL)
			free(take(p, i));
	}
}
