/* SPDX-License-Identifier: MIT */
/*
 * Min-heap of pointers by a 64-bit key: a priority queue, as for packets that
 * wait for their turn. Single owner. Equal keys come out in any order. All
 * zeros is an empty heap, which holds no memory.
 */
#ifndef COMMON_HEAP_H
#define COMMON_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct heap_item {
	uint64_t key;
	void *value;
};

struct heap {
	struct heap_item *items;
	uint32_t n, cap;
};

void heap_free(struct heap *h); /* the values are the caller's */
enum status heap_push(struct heap *h, uint64_t key, void *value) MUST_CHECK;
/* The item with the smallest key; NULL when empty. Valid until the next push or
 * pop. */
const struct heap_item *heap_min(const struct heap *h);
/* Remove the item with the smallest key and return its value; NULL when
 * empty. */
void *heap_pop(struct heap *h);

#endif
