/* SPDX-License-Identifier: MIT */
/*
 * The packets of one stream that wait for their other half or for earlier
 * packets: a priority heap by net_seq_num. Halves come in any order, on any
 * connection.
 * Whole packets leave in sequence. The caller decides when a gap has lasted
 * long enough. Single owner.
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

struct state_in;
struct state_out;
struct state_table;

/* Records per stream that may wait for their packets: far more than a tracer
 * has in flight, and at most 16 MiB of memory. */
#define REORDER_RECORDS_MAX 65536

struct reorder {
	struct packet_pool *pool;
	/* The only packet that is held, which is the usual case: it is not in
	 * by_seq, halves or lowest. NULL: there is none, or several. */
	struct packet *only;
	/* Packets that have their bytes; the key is the distance from FIRST. */
	struct heap by_seq;
	struct idmap halves; /* all held packets, except ONLY, by net_seq */
	struct list records; /* packets that have only their record */
	/* The numbers of packets that have only a record, and of some that have
	 * their bytes by now, but of none that left. The key is the distance
	 * from lowest_base. */
	struct heap lowest;
	uint64_t lowest_base;
	/* Records of numbers below FIRST: dropped with the next gap. */
	struct list early;
	unsigned n_records;
	bool needs_record; /* packets leave only with a record */
	bool has_next;
	uint64_t first;	     /* the first net_seq seen */
	uint64_t next;	     /* the net_seq that leaves next */
	uint64_t held_bytes; /* bytes of packets in the heap */
	uint64_t now;	     /* time of the caller, for packet->since */
};

void reorder_init(
    struct reorder *r, struct packet_pool *pool, bool needs_record);
void reorder_free(struct reorder *r);

/* A packet with this number begins to arrive. The first number seen is the
 * first to leave. E_PROTOCOL: its number is below the next one to leave;
 * E_EXISTS: its bytes have arrived already. */
enum status reorder_begin(struct reorder *r, uint64_t net_seq) MUST_CHECK;

/* All bytes of TAKE_P are present. On failure (E_EXISTS, E_PROTOCOL as above,
 * E_NOMEM) TAKE_P is destroyed, too. */
enum status reorder_data(struct reorder *r, struct packet *take_p) MUST_CHECK;

/* The record of packet NET_SEQ. E_EXISTS: it has one already. E_LIMIT: too many
 * records wait. E_NOENT: that packet has left or was given up. */
enum status reorder_record(struct reorder *r, uint64_t net_seq,
    const struct index_record *rec) MUST_CHECK;

/* The next packet, if it is complete; owned by the caller. */
struct packet *reorder_pop(struct reorder *r);
/* The next packet, if it has waited for its record since SINCE (a value of
 * reorder->now) or longer; owned by the caller. */
struct packet *reorder_pop_unrecorded(struct reorder *r, uint64_t since);

/* Do packets that have their bytes wait for an earlier number that does not
 * have them? */
bool reorder_has_gap(const struct reorder *r);

/* The packet with that number, borrowed; NULL: no half of it is held. */
struct packet *reorder_find(const struct reorder *r, uint64_t net_seq);
/* How many packets that have their bytes are held. */
size_t reorder_whole(const struct reorder *r);
/* The I-th of them, in any order; borrowed. */
const struct packet *reorder_whole_at(const struct reorder *r, size_t i);
/* The lowest number of the packets that have their bytes. False: there are
 * none.
 */
bool reorder_lowest(const struct reorder *r, uint64_t *net_seq);

/* Numbers start at FIRST. Called before any number is seen. */
void reorder_start(struct reorder *r, uint64_t first);

/* Packets that were given up. */
struct reorder_loss {
	uint64_t first, n;	  /* numbers */
	unsigned records;	  /* those that had a record */
	struct index_record last; /* the latest record, if any */
};
/* Give up missing packets below TO; no packet below TO has its bytes. */
void reorder_skip_to(struct reorder *r, uint64_t to, struct reorder_loss *loss);

/* Give up the gap: the lowest packet held leaves next. Returns how many numbers
 * were skipped; *RECORDS_DROPPED of them had their record. */
uint64_t reorder_skip(struct reorder *r, unsigned *records_dropped);

/* No more records will arrive: packets leave without one. */
static inline void
reorder_without_records(struct reorder *r)
{
	r->needs_record = false;
}

/* Is nothing held? */
static inline bool
reorder_is_empty(const struct reorder *r)
{
	return r->only == NULL && r->halves.n == 0;
}

/* The packets that have their bytes, in order, linked by packet->next. NULL:
 * there are none, or no memory. */
struct packet *reorder_chain(const struct reorder *r);

/* All that is held. R is as reorder_init() left it, or reorder_start(), when it
 * is read; on failure it holds a part, and can be freed. E_MALFORMED,
 * E_NOMEM. */
void reorder_put_state(struct state_out *o, const struct reorder *r);
enum status reorder_get_state(
    struct reorder *r, struct state_in *in) MUST_CHECK;
extern const struct state_table reorder_loss_state;

/* The highest number that has only its record. */
bool reorder_last_record(const struct reorder *r, uint64_t *net_seq);

#endif
