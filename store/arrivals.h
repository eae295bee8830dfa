/* SPDX-License-Identifier: MIT */
/*
 * The packets of one stream that arrive over a network that loses, repeats and
 * reorders. Pieces go in, complete packets come out for the reorder heap, and
 * the missing pieces are known. This module decides when a missing packet is
 * given up (udp 3); the caller passes the time and gives the packet up. Single
 * owner.
 *
 * A packet is known to be sent when its record or any part of a later packet
 * has arrived, or when the peer said so; its own pieces only show that it is
 * being sent. A missing packet is given up when it has been known for the
 * timeout without a new piece, when it has been known for ARRIVALS_PATIENCE
 * timeouts, or when WINDOW later packets have arrived.
 */
#ifndef STORE_ARRIVALS_H
#define STORE_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/heap.h"
#include "common/idmap.h"
#include "common/list.h"
#include "store/reorder.h"

struct packet;
struct state_in;
struct state_out;
struct state_table;
struct slab_block;

/* A packet some of whose pieces have arrived. It has a bit per piece, and
 * blocks of memory, each allocated when the first of its bytes arrives. So the
 * size in a header costs only a bit per piece and a pointer per 64 KiB. */
struct fragments {
	struct list node; /* arrivals->partial */
	uint64_t net_seq;
	uint32_t size, padding;
	uint32_t n_missing, n_blocks, block_size;
	/* The arrival of the first and of the last piece. */
	uint64_t began_ns, progress_ns;
	uint64_t memory;	    /* bytes in use, in all */
	struct slab_block **blocks; /* NULL: none of its bytes arrived */
	uint64_t *bits;		    /* set: that piece has arrived */
};

/* After this many timeouts a packet is given up even if its pieces still
 * arrive. Otherwise a slow sender could delay later packets forever. */
#define ARRIVALS_PATIENCE 10

struct arrivals_config {
	uint32_t fragment_size;
	uint32_t window; /* packets; 0: unlimited */
	uint64_t timeout_ns;
};

struct claim { /* the peer said that packet SEQ exists */
	bool is_set;
	uint64_t seq, since_ns;
};

/* Which packets are known to be sent, and since when, as of AT_NS: one survey
 * serves for all gaps that are due. */
struct survey {
	bool is_set;
	uint64_t at_ns;
	/* AT_NS minus one timeout, and minus ARRIVALS_PATIENCE timeouts. */
	uint64_t cutoff, last_cutoff;
	uint64_t oldest; /* since when the first number is known */
	uint64_t
	    expired_end;   /* one past the highest number known before cutoff */
	uint64_t last_end; /* the same for last_cutoff */
	/* The lowest packet in [last_end, expired_end) that got a piece after
	 * the cutoff, and when. */
	bool has_growing;
	uint64_t growing, progress_ns;
};

struct arrivals {
	struct arrivals_config config;
	struct reorder *reorder; /* borrowed */
	struct idmap by_seq;	 /* struct fragments of incomplete packets */
	struct list partial;	 /* the same packets, oldest first */
	/* Their numbers, and some of packets that were completed or dropped;
	 * the lowest number is never one of those. */
	struct heap lowest;
	unsigned n_partial;
	uint64_t partial_bytes; /* their memory */
	uint64_t end;		/* one past the highest number known */
	struct claim asked, last;
	struct survey survey; /* not set if something arrived since */
};

/* One piece; its length is valid for its position in the packet. */
struct arrival {
	uint64_t net_seq;
	uint32_t size, padding, offset;
	const uint8_t *payload;
	uint32_t len;
};

enum arrived {
	ARRIVED,       /* taken */
	ARRIVED_WHOLE, /* taken, and the packet is now complete */
	ARRIVED_TWICE, /* the piece or the packet was received before */
	ARRIVED_LATE,  /* its packet has been committed or given up */
	ARRIVED_FALSE, /* contradicts an earlier piece; it is dropped */
	ARRIVED_NOMEM,
};

/* The numbers of R start at 0 from now on. */
void arrivals_init(struct arrivals *a, struct reorder *r,
    const struct arrivals_config *config);
void arrivals_free(struct arrivals *a);

/* All pieces. A is as arrivals_init() left it when it is read, and its reorder
 * heap has been read; packets have at most MAX bytes with their padding. On
 * failure A has a part, and can be freed. E_MALFORMED, E_NOMEM. */
void arrivals_put_state(struct state_out *o, const struct arrivals *a);
enum status arrivals_get_state(
    struct arrivals *a, struct state_in *in, uint64_t max) MUST_CHECK;
extern const struct state_table arrivals_config_state;

/* Add a piece. After ARRIVED_WHOLE the caller owns *WHOLE and passes it to R.
 * */
enum arrived arrivals_add(struct arrivals *a, const struct arrival *f,
    uint64_t now_ns, struct packet **whole) MUST_CHECK;
/* NET_SEQ is known to be sent. */
void arrivals_note_sent(struct arrivals *a, uint64_t net_seq);

/* The peer asks about packet SEQ, which it has sent. Only the oldest question
 * is remembered. */
void arrivals_ask(struct arrivals *a, uint64_t seq, uint64_t now_ns);
/* SEQ is the stream's last packet. */
void arrivals_last(struct arrivals *a, uint64_t seq, uint64_t now_ns);

/* Is the next packet missing, and known to be sent? */
bool arrivals_has_gap(const struct arrivals *a);
/* Do so many packets wait for the missing packet that it counts as lost? */
bool arrivals_window_is_full(const struct arrivals *a);

/*
 * What is due at NOW_NS? If *TO is above the next number, the caller gives up
 * what is missing below *TO. Otherwise returns when to ask again; UINT64_MAX:
 * there is no gap.
 */
uint64_t arrivals_due(struct arrivals *a, uint64_t now_ns, uint64_t *to);
/* Memory is short: the caller gives up all below *TO. Returns false if that
 * would free nothing. */
bool arrivals_victim(const struct arrivals *a, uint64_t *to);
/* Give up what is missing below TO; no packet below TO is complete. */
void arrivals_skip(struct arrivals *a, uint64_t to, struct reorder_loss *loss);

/* Consecutive missing pieces of one packet. */
struct arrivals_hole {
	uint64_t net_seq;
	uint32_t first, count; /* count UINT32_MAX: all pieces */
};
/* Store the holes in OUT, lowest first, at most MAX. Returns their number. At
 * most *LOOKS numbers after the next one are examined, and subtracted from
 * *LOOKS. */
uint32_t arrivals_holes(const struct arrivals *a, struct arrivals_hole *out,
    uint32_t max, uint32_t *looks);

#endif
