/* SPDX-License-Identifier: MIT */
/*
 * The packets of one stream as they come over a network that loses, repeats and
 * reorders. Pieces go in, whole packets come out for the reorder heap, and the
 * missing pieces are known. This part decides when a missing packet is given up
 * (udp 3); the caller tells the time and gives the packet up. Single owner.
 *
 * A packet is known to be sent when its record or anything of a later packet is
 * here, or when the peer said so; its own pieces only show that it is being
 * sent. A missing packet is given up when it has been known for the timeout and
 * no piece of it came for as long, when it has been known for ARRIVALS_PATIENCE
 * timeouts, or when WINDOW packets beyond it are here.
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

struct fragments;
struct packet;

/* Timeouts after which a packet is given up although pieces of it still come:
 * otherwise a slow sender could delay the packets behind it without end. */
#define ARRIVALS_PATIENCE 10

struct arrivals_config {
	uint32_t fragment_size;
	uint32_t window; /* packets; 0: only time and memory count */
	uint64_t timeout_ns;
};

struct claim { /* the peer says that packet SEQ exists */
	bool is_set;
	uint64_t seq, since_ns;
};

/* Which packets are known to be sent, and since when, as of AT_NS: one look at
 * all of them serves for all gaps that are due. */
struct survey {
	bool is_set;
	uint64_t at_ns;
	/* AT_NS less one timeout, and less ARRIVALS_PATIENCE timeouts. */
	uint64_t cutoff, last_cutoff;
	uint64_t oldest;      /* since when the next number is known */
	uint64_t expired_end; /* one past the highest known before cutoff */
	uint64_t last_end;    /* the same before last_cutoff */
	/* The lowest packet from last_end on and below expired_end of which a
	 * piece came after the cutoff, and when. */
	bool has_growing;
	uint64_t growing, progress_ns;
};

struct arrivals {
	struct arrivals_config config;
	struct reorder *reorder; /* borrowed */
	struct idmap by_seq;	 /* struct fragments that are not whole */
	struct list partial;	 /* the same, oldest first */
	/* Their numbers. Numbers of packets that are whole or dropped by now
	 * may be among them, but never as the lowest one. */
	struct heap lowest;
	unsigned n_partial;
	uint64_t partial_bytes; /* memory of these */
	uint64_t end;		/* one past the highest number known */
	struct claim asked, last;
	struct survey survey; /* not set when something came since */
};

/* One piece. Its length is the one that its place in the packet demands. */
struct arrival {
	uint64_t net_seq;
	uint32_t size, padding, offset;
	const uint8_t *payload;
	uint32_t len;
};

enum arrived {
	ARRIVED,       /* taken */
	ARRIVED_WHOLE, /* taken, and the packet is now whole */
	ARRIVED_TWICE, /* the piece, or the whole packet, was here */
	ARRIVED_LATE,  /* its packet was committed or given up */
	ARRIVED_FALSE, /* contradicts an earlier piece; the packet stays */
	ARRIVED_NOMEM,
};

/* From now on the numbers of R start at 0. */
void arrivals_init(struct arrivals *a, struct reorder *r,
    const struct arrivals_config *config);
void arrivals_free(struct arrivals *a);

/* Add a piece. After ARRIVED_WHOLE the caller owns *WHOLE and gives it to the
 * heap. */
enum arrived arrivals_add(struct arrivals *a, const struct arrival *f,
    uint64_t now_ns, struct packet **whole) MUST_CHECK;
/* A record came for NET_SEQ. */
void arrivals_note_sent(struct arrivals *a, uint64_t net_seq);

/* The peer asks about packet SEQ, which it says was sent. Only one question at
 * a time is remembered, the oldest. */
void arrivals_ask(struct arrivals *a, uint64_t seq, uint64_t now_ns);
/* SEQ is the stream's last packet. */
void arrivals_last(struct arrivals *a, uint64_t seq, uint64_t now_ns);

/* Is the next packet missing, although it is known to be sent? */
bool arrivals_has_gap(const struct arrivals *a);
/* Do so many packets wait behind the missing packet that it counts as lost? */
bool arrivals_window_is_full(const struct arrivals *a);
/* The lowest number of a packet whose bytes are all here; false: none. */
bool arrivals_lowest_whole(const struct arrivals *a, uint64_t *seq);

/*
 * What is due at NOW_NS? If *TO is above the next number, the caller gives up
 * all that is missing below *TO. Otherwise the returned time says when to ask
 * again; UINT64_MAX: there is no gap.
 */
uint64_t arrivals_due(struct arrivals *a, uint64_t now_ns, uint64_t *to);
/* Memory is short: the caller gives up all below *TO. False: that would free
 * nothing. */
bool arrivals_victim(const struct arrivals *a, uint64_t *to);
/* Give up all that is missing below TO; nothing below TO is whole. */
void arrivals_skip(struct arrivals *a, uint64_t to, struct reorder_loss *loss);

/* A run of missing pieces of one packet. */
struct arrivals_hole {
	uint64_t net_seq;
	uint32_t first, count; /* count UINT32_MAX: no piece is here */
};
/* Put the holes below END into OUT, lowest first, at most MAX. Returns how
 * many. At most *LOOKS numbers beyond the next one are looked at, and
 * subtracted. */
uint32_t arrivals_holes(const struct arrivals *a, struct arrivals_hole *out,
    uint32_t max, uint32_t *looks);

#endif
