/* SPDX-License-Identifier: MIT */
/*
 * The viewer port's endpoint: one viewer connection, the sessions it is
 * attached to and its positions in their streams (live 2, 3). No sockets:
 * requests in, replies out. One live worker's own.
 */
#ifndef RELAYD_LIVE_VIEWER_H
#define RELAYD_LIVE_VIEWER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"
#include "proto/live.h"

/* How long a stream class is waited for that the metadata does not declare yet,
 * behind the live timer's period, which the tracer may take to send it: a peer
 * that never does must not stop its viewers for good. And the longest period
 * that counts. */
#define VIEWER_CLASS_NS (1 * NS_PER_S)
#define VIEWER_CLASS_PERIOD_NS (10 * NS_PER_S)
/* How long an answer waits, in all, because it is too early for it. Each trace
 * has its own limit; the last one that counts came before the packet did. */
#define VIEWER_EARLY_NS (2 * (VIEWER_CLASS_NS + VIEWER_CLASS_PERIOD_NS))

/* Streams that ended and that a viewer has not read, of which each trace keeps
 * a folder open: at most so many, or a 16th of the descriptors if that is less.
 * Beyond, the oldest that it was not told of are lost to it. */
#define VIEWER_ENDED_MAX 512
#define VIEWER_ENDED_MIN 32
#define VIEWER_ENDED_SHARE 16

struct buf;
struct open_file;
struct viewer;
struct viewers;

/* What becomes of a request. */
enum live_outcome {
	LIVE_REPLY,	 /* the reply is in *out */
	LIVE_REPLY_LAST, /* and then the connection ends */
	LIVE_HOLD,	 /* not yet: ask again at a wake-up, or the limit */
	LIVE_CLOSE,	 /* without a reply */
};

/* A reply: bytes, then bytes of a file. */
struct live_reply {
	struct buf *out;	/* appended to */
	struct open_file *file; /* a reference, or NULL */
	uint64_t offset, length;
};

/* How a request is served. */
struct live_how {
	uint64_t arrived_ns; /* when the request came */
	bool may_hold;
	bool is_interrupted; /* the viewer sent more meanwhile */
	bool was_held;	     /* until then */
};

/* Of a held request, for wake-ups. */
struct live_held {
	const void *source; /* the log that was asked for; may be NULL */
	bool is_any;	    /* or whatever log there is news of */
	bool is_turn;	    /* and a packet of another stream lets go */
	bool is_early;	    /* at its limit it is looked at once more */
	uint64_t until_ns;
};

/* One of VS, which outlives it; PEER, for logs, is borrowed. */
enum status viewer_create(
    struct viewer **out, struct viewers *vs, char *peer) MUST_CHECK;
void viewer_destroy(struct viewer *v); /* NULL is fine */

/* HELD is written where the outcome is LIVE_HOLD. */
enum live_outcome viewer_serve(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held) MUST_CHECK;

/* For HELD's is_turn: SOURCE has news: is it a packet for V? */
bool viewer_is_its_turn(const struct viewer *v, const void *source);
/* Is V attached to the session with the id SESSION? */
bool viewer_is_attached(const struct viewer *v, uint64_t session);
/* V is to be closed, as so many ended streams that it was told of wait to be
 * read; 0: it is not. */
unsigned viewer_overdue(const struct viewer *v);

#endif
