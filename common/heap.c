/* SPDX-License-Identifier: MIT */
#include "common/heap.h"

#include <stdlib.h>

#define HEAP_MIN 4

void
heap_free(struct heap *h)
{
	free(h->items);
	*h = (struct heap){ 0 };
}

static enum status
heap_grow(struct heap *h)
{
	const uint32_t cap = h->cap == 0 ? HEAP_MIN : h->cap * 2;
	struct heap_item *items;

	if (cap <= h->cap)
		return E_NOMEM;
	items = realloc(h->items, cap * sizeof(*items));
	if (items == NULL)
		return E_NOMEM;
	h->items = items;
	h->cap = cap;
	return OK;
}

enum status
heap_push(struct heap *h, uint64_t key, void *value)
{
	size_t i;

	if (h->n == h->cap && heap_grow(h) != OK)
		return E_NOMEM;
	i = h->n++;
	while (i > 0 && h->items[(i - 1) / 2].key > key) {
		h->items[i] = h->items[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->items[i] = (struct heap_item){ key, value };
	return OK;
}

const struct heap_item *
heap_min(const struct heap *h)
{
	return h->n == 0 ? NULL : &h->items[0];
}

void *
heap_pop(struct heap *h)
{
	struct heap_item last;
	void *value;
	size_t i = 0, child;

	if (h->n == 0)
		return NULL;
	value = h->items[0].value;
	last = h->items[--h->n];
	while ((child = 2 * i + 1) < h->n) {
		if (child + 1 < h->n &&
		    h->items[child + 1].key < h->items[child].key)
			child++;
		if (h->items[child].key >= last.key)
			break;
		h->items[i] = h->items[child];
		i = child;
	}
	h->items[i] = last;
	return value;
}
