/* SPDX-License-Identifier: MIT */
/*
 * Memory for packets in flight: blocks of five sizes that are reused, so that
 * nothing is allocated per packet in steady state. One pool per worker, single
 * owner. Any thread may read how much is in use (the --max-memory account).
 */
#ifndef COMMON_SLAB_H
#define COMMON_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/status.h"

#define SLAB_CLASSES 5 /* 4 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB */
#define SLAB_LARGEST (UINT32_C(1) << 20)
/* The most cached blocks of the first class. They lie between long-lived
 * memory, as they were allocated while streams were created; freed, they become
 * memory of the next stream. */
#define SLAB_SMALL_CACHED 16
/* The alignment of a block's memory: a cache line. The kernel copies large
 * packets 8 % faster to and from such an address than to one 40 bytes after
 * it. */
#define SLAB_ALIGN 64

struct slab_block {
	struct slab_block
	    *next;	    /* in the chain of its owner or the free list */
	uint32_t cap, used; /* bytes; cap is the class's size */
	uint8_t *mem;	    /* aligned to SLAB_ALIGN */
};

struct slab_pool {
	struct slab_block *free[SLAB_CLASSES];
	uint64_t cached;  /* bytes on the free lists */
	unsigned n_small; /* blocks on the first of them */
	uint64_t
	    max_cached; /* freed blocks above it are returned to the system */
	struct published *account; /* bytes handed out, all pools together */
};

/* ACCOUNT is borrowed and outlives the pool. */
void slab_init(
    struct slab_pool *p, uint64_t max_cached, struct published *account);
/* Get a block of the smallest class that holds N, or of the largest if none
 * does. Its next is NULL and used 0. NULL: no memory. */
struct slab_block *slab_get(struct slab_pool *p, size_t n);
/* Return B and all blocks after it in its chain; NULL is fine. */
void slab_put(struct slab_pool *p, struct slab_block *b);
/* Free cached memory until at most KEEP bytes are cached. */
void slab_trim(struct slab_pool *p, uint64_t keep);

#endif
