/* SPDX-License-Identifier: MIT */
/*
 * Memory that is passed from thread to thread, many packets at a time: batches
 * of a fixed size, pools of them, and queues (liburcu's wait-free queue; an
 * eventfd wakes the consumer). Nothing is allocated after pool_init(), except
 * for packets that are larger than a batch; nothing is locked.
 */
#ifndef TOOLS_CAPTURE_BATCH_H
#define TOOLS_CAPTURE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <urcu/wfcqueue.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/status.h"
#include "tools/capture/record.h"

/* With the longest packet, and what is put before it in an event. */
#define BATCH_SIZE (RECORD_LEN_MAX + 4096)

/* Many producers, one consumer. */
struct queue {
	struct cds_wfcq_head head;
	struct cds_wfcq_tail tail;
	int event; /* eventfd: readable when something was put */
	bool is_open;
};

enum batch_kind {
	BATCH_DATA,   /* records for a worker; after it events, or records */
	BATCH_BEACON, /* no bytes: nothing of this stream is older than END_NS
		       */
	BATCH_END,    /* no bytes: this stream has ended */
};

/*
 * A reader passes batches to its workers in rounds: 0, 1, 2, ... With
 * HASH_BALANCE a round is one batch, for worker "round modulo workers"; with
 * HASH_FLOW it is at most one for each worker. With strict order the combiner
 * takes a whole round before any of the next.
 */
struct batch {
	struct cds_wfcq_node node;
	struct published handed; /* by queue_put(), to queue_take() */
	struct batch *next;	 /* in a list of its current owner */
	struct queue *home;	 /* where batch_done() puts it */
	uint8_t *mem;		 /* SIZE bytes, aligned to 64 */
	uint32_t size;		 /* BATCH_SIZE, or what batch_enlarge() got */
	uint32_t used;		 /* bytes */
	uint32_t n;		 /* records or events */
	uint32_t packets; /* of the network, among these; set by a worker */
	enum batch_kind kind;
	uint16_t input, worker;
	bool is_round_end; /* the last of its round */
	bool is_flush;	   /* deliver unfinished CTF packets now */
	uint64_t round;
	uint64_t begin_ns, end_ns; /* of the first and of the last record */
	uint64_t discarded; /* packets of this stream: since the last batch; for
			       the sink, all so far */
	uint8_t *usual;	    /* MEM of a batch that was not enlarged; or NULL */
	struct published *n_large; /* batches that were enlarged, with it */
};

enum status queue_init(struct queue *q) MUST_CHECK;
void queue_free(struct queue *q); /* also if all is zero */
void queue_put(struct queue *q, struct batch *b);
/* NULL: it is empty. */
struct batch *queue_take(struct queue *q);
/* For a caller that polls q->event with others: reset the event. Then take
 * until the queue is empty. */
void queue_woken(struct queue *q);
/* Wait for a batch, for at most TIMEOUT_MS; -1: indefinitely. NULL: none
 * arrived. */
struct batch *queue_wait(struct queue *q, int timeout_ms);

/* N batches in a queue of their own, from which they are taken and to which
 * batch_done() returns them. */
struct pool {
	struct queue free;
	struct batch *batches;
	uint8_t *mem;
	unsigned n;
};

enum status pool_init(struct pool *p, unsigned n) MUST_CHECK;
void pool_free(struct pool *p); /* all batches must be back */

/* Empty a batch, which a pool keeps as its last user left it. */
void batch_reset(struct batch *b);
/* Give an empty batch SIZE bytes until batch_done(), and add 1 to *N_LARGE
 * until then. False: there is no memory. */
bool batch_enlarge(
    struct batch *b, size_t size, struct published *n_large) MUST_CHECK;
/* Any thread. */
void batch_done(struct batch *b);

#endif
