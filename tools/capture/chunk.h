/* SPDX-License-Identifier: MIT */
/*
 * Memory that goes from thread to thread, many packets at a time: fixed chunks,
 * pools of them, and queues (liburcu's wait-free queue; an eventfd wakes the
 * one who waits). Nothing is allocated after pool_init(), nothing is locked.
 */
#ifndef TOOLS_CAPTURE_CHUNK_H
#define TOOLS_CAPTURE_CHUNK_H

#include <stdbool.h>
#include <stdint.h>
#include <urcu/wfcqueue.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/status.h"

#define CHUNK_SIZE (256 * 1024)

/* Any thread puts, one takes. */
struct queue {
	struct cds_wfcq_head head;
	struct cds_wfcq_tail tail;
	int event; /* eventfd: readable when something was put */
	bool is_open;
};

enum chunk_kind {
	CHUNK_DATA,   /* records for a worker; events, or records, behind it */
	CHUNK_BEACON, /* no bytes: nothing of this stream is older than END_NS
		       */
	CHUNK_END,    /* no bytes: nothing of this stream comes any more */
};

/*
 * A reader hands its workers chunks in rounds: 0, 1, 2, ... By BALANCE a round
 * is one chunk for one worker, by FLOW one for each worker, all at once. Who
 * merges takes all of a round before any of the next.
 */
struct chunk {
	struct cds_wfcq_node node;
	struct published handed; /* by queue_put(), to queue_take() */
	struct chunk *next;	 /* in a list of who took it */
	struct queue *home;	 /* where chunk_done() puts it */
	uint8_t *mem;		 /* CHUNK_SIZE bytes, aligned to 64 */
	uint32_t used;		 /* bytes */
	uint32_t n;		 /* records or events */
	uint32_t packets; /* of the network, among these; behind a worker */
	enum chunk_kind kind;
	uint16_t input, worker;
	bool is_round_end; /* the last of its round for the merger */
	bool is_flush;	   /* what is unfinished leaves now */
	uint64_t round;
	uint64_t begin_ns, end_ns; /* of the first and of the last record */
	uint64_t discarded;	   /* packets of this stream: new ones; for the
				      sink, all so far */
};

enum status queue_init(struct queue *q) MUST_CHECK;
void queue_free(struct queue *q); /* one that is all zero, too */
void queue_put(struct queue *q, struct chunk *c);
/* NULL: it is empty. */
struct chunk *queue_take(struct queue *q);
/* For who polls q->event with others: it was readable, or nobody knows. Then
 * take until nothing is left. */
void queue_woken(struct queue *q);
/* Wait for something, at most so long; -1: for ever. NULL: nothing came. */
struct chunk *queue_wait(struct queue *q, int timeout_ms);

/* N chunks in a queue of their own, from which they are taken and to which
 * chunk_done() returns them. */
struct pool {
	struct queue free;
	struct chunk *chunks;
	uint8_t *mem;
	unsigned n;
};

enum status pool_init(struct pool *p, unsigned n) MUST_CHECK;
void pool_free(struct pool *p); /* all are back; or nothing was begun */

/* A chunk from a pool is as its last user left it: make it empty. */
void chunk_reset(struct chunk *c);
/* Any thread. */
void chunk_done(struct chunk *c);

#endif
