/* SPDX-License-Identifier: MIT */
/* Memory for the parts of one message, all of which is given back at once. */
#ifndef TOOLS_PLUGIN_ARENA_H
#define TOOLS_PLUGIN_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zeroed, it is empty. */
struct arena {
	struct arena_block *blocks; /* the one in use first */
	size_t used;		    /* of that */
};

/* N bytes, aligned for any type; NULL: no memory. */
void *arena_alloc(struct arena *a, size_t n);

/* All of it is free again; a block stays for the next use. */
void arena_reset(struct arena *a);
void arena_free(struct arena *a);

#endif
