/* SPDX-License-Identifier: MIT */
/*
 * The packets of one stream, waiting for their other half and for their turn: a
 * priority heap by net_seq_num. Halves come in any order, on any connection;
 * whole packets leave in sequence. This part knows neither files nor time: the
 * caller decides when a gap has lasted long enough. Single owner.
 */
#ifndef STORE_REORDER_H
#define STORE_REORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/heap.h"
#include "common/idmap.h"
#include "common/list.h"
#include "common/status.h"
#include "ctf/index.h"
#include "store/packet.h"

/* Records that may wait for their bytes, per stream: far above the few that a
 * tracer has in flight, and 16 MiB of memory at most. */
#define REORDER_RECORDS_MAX 65536

struct reorder {
	struct packet_pool *pool;
	/* The only packet that is held, as most often: it is in none of the two
	 * below, nor in the heap of the lowest ones. NULL: there is none, or
	 * there are several. */
	struct packet *lone;
	/* Packets whose bytes are here; the key is the distance from first. */
	struct heap by_seq;
	struct idmap halves; /* every packet held but a lone one, by net_seq */
	struct list records; /* packets of which only the record is here */
	/* Their numbers, and some of packets that are whole by now, but never
	 * one that has left. The key is the distance from lowest_base. */
	struct heap lowest;
	uint64_t lowest_base;
	/* The same of numbers below the first one: they go with the next gap.
	 */
	struct list early;
	unsigned n_records;
	bool needs_record; /* a packet leaves only with its record */
	bool has_next;
	uint64_t first;	     /* net_seq seen first */
	uint64_t next;	     /* net_seq to leave next */
	uint64_t held_bytes; /* data bytes of the packets in the heap */
	uint64_t now;	     /* the caller's time, for packet->since */
};

void reorder_init(
    struct reorder *r, struct packet_pool *pool, bool needs_record);
void reorder_free(struct reorder *r);

/*
 * A packet with this number begins to arrive. The first number seen is the one
 * to leave next. E_PROTOCOL: its number is below the next one to leave;
 * E_EXISTS: its bytes are here already.
 */
enum status reorder_begin(struct reorder *r, uint64_t net_seq) MUST_CHECK;

/* All bytes of TAKE_P are here. On failure (E_EXISTS, E_PROTOCOL as above,
 * E_NOMEM) TAKE_P is destroyed all the same. */
enum status reorder_data(struct reorder *r, struct packet *take_p) MUST_CHECK;

/*
 * The record of packet NET_SEQ. E_EXISTS: there is one already. E_LIMIT: too
 * many wait. E_NOENT: that packet has left, or was given up; nothing is kept.
 */
enum status reorder_record(struct reorder *r, uint64_t net_seq,
    const struct index_record *rec) MUST_CHECK;

/* The packet whose turn it is, if it is whole; the caller owns it. */
struct packet *reorder_pop(struct reorder *r);
/* The packet whose turn it is, if it has waited for its record since SINCE (of
 * reorder->now) or longer; the caller owns it, and gives it up. */
struct packet *reorder_pop_unrecorded(struct reorder *r, uint64_t since);

/* Do whole packets wait behind a number of which nothing came, or only the
 * record? */
bool reorder_has_gap(const struct reorder *r);

/* The packet of which a half is here, borrowed; NULL: nothing of it is. */
struct packet *reorder_find(const struct reorder *r, uint64_t net_seq);
/* How many packets are held whose bytes are here. */
size_t reorder_whole(const struct reorder *r);
/* The I-th of them, in no order; borrowed. */
const struct packet *reorder_whole_at(const struct reorder *r, size_t i);
/* The lowest number of the packets whose bytes are here. False: there are none.
 */
bool reorder_lowest(const struct reorder *r, uint64_t *net_seq);

/* Numbers start at FIRST, whichever is seen first. Called before any was
 * seen. */
void reorder_start(struct reorder *r, uint64_t first);
/* Undo reorder_start(). Called before any number was seen. */
void reorder_forget_start(struct reorder *r);

/* What was given up. */
struct reorder_loss {
	uint64_t first, n;	  /* numbers */
	unsigned records;	  /* how many of these had a record */
	struct index_record last; /* the highest record, if any */
};
/* Give up what is missing below TO; nothing below TO is in the heap. */
void reorder_skip_to(struct reorder *r, uint64_t to, struct reorder_loss *loss);

/* Give up the gap: the lowest packet held is now the next one to leave. Returns
 * how many numbers were skipped; *RECORDS_DROPPED of them had their record
 * here. */
uint64_t reorder_skip(struct reorder *r, unsigned *records_dropped);

/* No record will come any more: packets leave without one. */
static inline void
reorder_without_records(struct reorder *r)
{
	r->needs_record = false;
}

/* Is no half of any packet held? */
static inline bool
reorder_is_empty(const struct reorder *r)
{
	return r->lone == NULL && r->halves.n == 0;
}

/* The highest number of which only the record is here. */
bool reorder_last_record(const struct reorder *r, uint64_t *net_seq);

#endif
