/* SPDX-License-Identifier: MIT */
#include <stdalign.h>
#include <stdlib.h>

#include "tools/plugin/arena.h"

enum {
	ARENA_BLOCK = 16 * 1024,
};

struct arena_block {
	struct arena_block *next;
	size_t room;
	alignas(max_align_t) char bytes[];
};

void *
arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b = a->blocks;
	const size_t align = alignof(max_align_t);

	n = (n + align - 1) / align * align;
	if (b == NULL || b->room - a->used < n) {
		size_t room = n > ARENA_BLOCK ? n : ARENA_BLOCK;

		b = malloc(sizeof(*b) + room);
		if (b == NULL)
			return NULL;
		b->room = room;
		b->next = a->blocks;
		a->blocks = b;
		a->used = 0;
	}
	a->used += n;
	return b->bytes + a->used - n;
}

static void
drop_first(struct arena *a)
{
	struct arena_block *b = a->blocks;

	a->blocks = b->next;
	free(b);
}

void
arena_reset(struct arena *a)
{
	while (a->blocks != NULL &&
	       (a->blocks->next != NULL || a->blocks->room > ARENA_BLOCK))
		drop_first(a);
	a->used = 0;
}

void
arena_free(struct arena *a)
{
	while (a->blocks != NULL)
		drop_first(a);
}
