/* SPDX-License-Identifier: MIT */
/*
 * The packets of one stream as they come over a network that loses, repeats
 * and reorders: pieces go in, whole packets come out for the reorder heap, and
 * what is missing is known to the piece. Decides when a missing packet is given
 * up (udp 3); the caller tells the time and does it. Single owner.
 *
 * That a packet was sent is known from its record, from anything of a later
 * one, or because the peer said so; its own pieces only say that it is being
 * sent. It is given up when it is known for the timeout, and no piece of it
 * came for as long; when it is known for ARRIVALS_PATIENCE timeouts; or when
 * WINDOW packets beyond it are here.
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

/* Of a packet that goes on growing: a sender that trickles would hold up what
 * waits for its stream for as long as it likes. */
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

struct arrivals {
	struct arrivals_config config;
	struct reorder *reorder; /* borrowed */
	struct idmap by_seq;	 /* struct fragments that lack something */
	struct list partial;	 /* the same, oldest first */
	/* Their numbers, and those of some that are whole or were dropped by
	 * now: never the lowest one. */
	struct heap lowest;
	unsigned n_partial;
	uint64_t partial_bytes; /* memory of these */
	uint64_t end;		/* one past the highest number known */
	struct claim asked, last;
};

/* One piece, valid by construction (its length is what its place demands). */
struct arrival {
	uint64_t net_seq;
	uint32_t size, padding, offset;
	const uint8_t *payload;
	uint32_t len;
};

enum arrived {
	ARRIVED,       /* taken */
	ARRIVED_WHOLE, /* and with it the packet is whole */
	ARRIVED_TWICE, /* that piece, or the whole packet, is here */
	ARRIVED_LATE,  /* its packet was committed or given up */
	ARRIVED_FALSE, /* contradicts an earlier piece; the packet stays */
	ARRIVED_NOMEM,
};

/* Numbers of R start at 0 from now on. */
void arrivals_init(struct arrivals *a, struct reorder *r,
    const struct arrivals_config *config);
void arrivals_free(struct arrivals *a);

/* *WHOLE is the caller's on ARRIVED_WHOLE: to be given to the heap. */
enum arrived arrivals_add(struct arrivals *a, const struct arrival *f,
    uint64_t now_ns, struct packet **whole) MUST_CHECK;
/* A record came for NET_SEQ. */
void arrivals_heard(struct arrivals *a, uint64_t net_seq);

/* The peer asks for packet SEQ as for one that it sent. One question at a time
 * is remembered, the oldest. */
void arrivals_ask(struct arrivals *a, uint64_t seq, uint64_t now_ns);
/* SEQ is the stream's last packet. */
void arrivals_last(struct arrivals *a, uint64_t seq, uint64_t now_ns);

/* Is the next packet missing, although it is known to be sent? */
bool arrivals_has_gap(const struct arrivals *a);
/* So many packets wait beyond it that it is lost. */
bool arrivals_window_is_full(const struct arrivals *a);
/* The lowest number of which all bytes are here; false: none. */
bool arrivals_lowest_whole(const struct arrivals *a, uint64_t *seq);

/*
 * What is due at NOW_NS? *TO > the next number: give up all that is missing
 * below *TO. Else when to ask again; UINT64_MAX: there is no gap.
 */
uint64_t arrivals_due(const struct arrivals *a, uint64_t now_ns, uint64_t *to);
/* Memory is short: give up all below *TO. False: nothing to be gained. */
bool arrivals_victim(const struct arrivals *a, uint64_t *to);
/* Give up all that is missing below TO; nothing below TO is whole. */
void arrivals_skip(struct arrivals *a, uint64_t to, struct reorder_loss *loss);

/* A run of missing pieces of one packet. */
struct arrivals_hole {
	uint64_t net_seq;
	uint32_t first, count; /* count UINT32_MAX: nothing of it is here */
};
/* The holes below end, lowest first, at most MAX; how many. */
uint32_t arrivals_holes(
    const struct arrivals *a, struct arrivals_hole *out, uint32_t max);

#endif
