/* SPDX-License-Identifier: MIT */
/*
 * One trace packet whose bytes arrive in pieces, in any order. It has a bit per
 * piece, and blocks of memory, each allocated when the first of its bytes
 * arrives. So the size in a header costs only a bit per piece and a pointer per
 * 64 KiB. Single owner.
 */
#ifndef STORE_FRAGMENTS_H
#define STORE_FRAGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"

struct packet;
struct packet_pool;
struct slab_block;

struct fragments {
	struct list node; /* in its owner's list */
	uint64_t net_seq;
	uint32_t size, padding;
	uint32_t fragment_size;
	uint32_t n, n_missing;
	uint32_t n_blocks, block_size;
	uint64_t began_ns,
	    progress_ns; /* arrival of the first and the last piece */
	uint64_t memory; /* bytes in use, in all */
	struct slab_block **blocks; /* NULL: none of its bytes arrived */
	uint64_t *bits;		    /* set: that piece has arrived */
};

/* SIZE > 0. NULL: no memory. */
struct fragments *fragments_create(uint64_t net_seq, uint32_t size,
    uint32_t padding, uint32_t fragment_size, uint64_t now_ns);
void fragments_destroy(struct packet_pool *pool, struct fragments *take_f);

static inline bool
fragments_has(const struct fragments *f, uint32_t i)
{
	return (f->bits[i / 64] >> i % 64 & 1) != 0;
}

/* Add piece I, whose length is valid for its position. E_EXISTS: it has arrived
 * already; E_NOMEM. */
enum status fragments_add(struct packet_pool *pool, struct fragments *f,
    uint32_t i, const uint8_t *p, uint64_t now_ns) MUST_CHECK;

/* Make a packet of all pieces. Returns NULL if there is no memory; TAKE_F is
 * freed in any case. */
struct packet *fragments_finish(
    struct packet_pool *pool, struct fragments *take_f);

/* The first missing piece at or after FROM, and the number of consecutive
 * missing ones. Returns false if none is missing. */
bool fragments_hole(
    const struct fragments *f, uint32_t from, uint32_t *first, uint32_t *count);

#endif
