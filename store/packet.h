/* SPDX-License-Identifier: MIT */
/*
 * One trace packet between socket and file: its bytes, its index record, or
 * both. Memory grows with the bytes that arrived, not with the size in the
 * header. Single owner.
 */
#ifndef STORE_PACKET_H
#define STORE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/slab.h"
#include "common/status.h"
#include "ctf/index.h"

struct state_in;
struct state_out;
struct packet {
	struct list node;    /* reorder's lists, or the free list */
	struct packet *next; /* in a batch */
	uint64_t net_seq;
	uint32_t size;	   /* bytes of data */
	uint32_t padding;  /* zero bytes after them, only on disk */
	uint32_t received; /* bytes of SIZE that have arrived */
	uint32_t trusted;  /* bytes that may be allocated in advance */
	uint64_t since;	   /* reorder->now when its first half arrived */
	bool has_data;	   /* all bytes have arrived */
	bool has_record;
	struct slab_block *blocks, *last;
	struct index_record rec;
};

/* Packets and their blocks, for reuse. One per worker. */
struct packet_pool {
	struct slab_pool slab;
	struct list free; /* of struct packet */
	unsigned n_free;
};

void packet_pool_init(
    struct packet_pool *pool, uint64_t max_cached, struct published *account);
void packet_pool_free(struct packet_pool *pool);
/* Return memory that is only cached to the system. */
void packet_pool_trim(struct packet_pool *pool);

struct packet *packet_create(struct packet_pool *pool, uint64_t net_seq);
void packet_destroy(struct packet_pool *pool, struct packet *p);

/* Where the next bytes go: *AT can hold the returned number of bytes, at most
 * what the packet still lacks. 0 with *AT NULL: no memory. */
size_t packet_space(struct packet_pool *pool, struct packet *p, uint8_t **at);
/* N bytes were written to the space from packet_space(). */
void packet_filled(struct packet *p, size_t n);
/* Copy up to N bytes into P. Returns how many were taken; fewer if there is no
 * memory. */
size_t packet_copy(
    struct packet_pool *pool, struct packet *p, const void *from, size_t n);

/* Bytes of memory that a packet uses: far more than its size if it is small. */
uint64_t packet_memory(const struct packet *p);

static inline bool
packet_is_whole(const struct packet *p)
{
	return p->received == p->size;
}

/* Bytes on disk. */
static inline uint64_t
packet_length(const struct packet *p)
{
	return (uint64_t)p->size + p->padding;
}

/* Its bytes, which need not be whole, and its record. *OUT is new. E_MALFORMED,
 * E_NOMEM. */
void packet_put_state(struct state_out *o, const struct packet *p);
enum status packet_get_state(struct packet **out, struct state_in *in,
    struct packet_pool *pool) MUST_CHECK;

#endif
