/* SPDX-License-Identifier: MIT */
/*
 * The viewer port's endpoint: one viewer connection, the sessions it is
 * attached to and its positions in their streams (live 2, 3). It takes requests
 * and makes replies, without sockets. A viewer belongs to one live worker.
 */
#ifndef RELAYD_LIVE_VIEWER_H
#define RELAYD_LIVE_VIEWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"
#include "proto/live.h"

/* How long a viewer waits for a stream class that the metadata does not declare
 * yet; a peer that never sends it must not block its viewers forever. A trace
 * that is not ready is hidden for one period of the live timer more, as the
 * tracer may take a period to send the class. Of a longer period only the
 * second constant counts. */
#define VIEWER_CLASS_NS (1 * NS_PER_S)
#define VIEWER_CLASS_PERIOD_NS (10 * NS_PER_S)
/* How long an answer that is too early (viewer_next_index.c) waits in all. Each
 * trace has its own limit; the last trace that counts was published before the
 * packet came. */
#define VIEWER_EARLY_NS (2 * (VIEWER_CLASS_NS + VIEWER_CLASS_PERIOD_NS))

/* How many ended streams may wait to be read by one viewer: this number, or a
 * 16th of the descriptors if that is less, as each trace of them keeps a folder
 * open. Above it the viewer loses the oldest ones that were not announced. */
#define VIEWER_ENDED_MAX 512
#define VIEWER_ENDED_MIN 32
#define VIEWER_ENDED_SHARE 16

/* Viewers keep the directory of an ended session open while they have streams
 * of it. If there are more such directories than there may be viewers, the
 * viewer with most is closed, unless it has fewer than this: a viewer of one
 * session may always read to its end. */
#define VIEWER_SESSIONS_LEFT_FEW 2

/* The part of --max-memory that all viewers' positions may use. A position
 * counts as VIEWER_POSITION_MEMORY bytes, and as VIEWER_ENDED_MEMORY
 * more when its stream is closed, because then it alone keeps the stream. */
#define VIEWER_POSITIONS_PART 4
#define VIEWER_POSITION_MEMORY 384
#define VIEWER_ENDED_MEMORY 3072

/* What has ended and lingers (--live-linger): at most VIEWER_ENDED_MAX
 * sessions, or a 16th of the descriptors, as each keeps its directory open; and
 * as many streams, of VIEWER_ENDED_MEMORY bytes, as this part of --max-memory
 * holds. What ended first gives way. */
#define VIEWER_LINGER_PART 16

/* Bytes of records that are encoded at a time; a record is never split. */
#define LIVE_LIST_PIECE (64 * 1024)

struct buf;
struct live_notifier;
struct live_session;
struct live_stream;
struct open_file;
struct state_in;
struct state_out;
struct state_table;
struct viewer;
struct viewers;

/* The outcome of a request. */
enum live_outcome {
	LIVE_REPLY,	 /* the reply is in *out */
	LIVE_REPLY_LAST, /* the same, then the connection ends */
	LIVE_HOLD,  /* no reply yet: ask again when woken, or at the limit */
	LIVE_CLOSE, /* without a reply */
};

/*
 * What a reply lists: streams or sessions. Each is a reference until the socket
 * takes its record, which is encoded only then: a viewer that does not read
 * keeps 8 bytes of a stream, not the 4,371 of its record. Belongs to one live
 * worker. All zeros is an empty list.
 */
struct live_list {
	void **items;
	uint32_t n, next; /* those below NEXT are encoded */
	unsigned minor;	  /* of the records of sessions */
};

/* Allocate an empty list for N streams, or for N sessions in the records of
 * MINOR. E_NOMEM. */
enum status live_list_make(
    struct live_list *l, uint32_t n, unsigned minor) MUST_CHECK;
/* Add one of these N; the list takes a reference. */
void live_list_add(struct live_list *l, void *object);

/* Append the next records to OUT, until it has LIVE_LIST_PIECE bytes or the
 * list ends. False: the list has ended, nothing was appended. */
bool live_list_encode(struct live_list *l, struct buf *out);
/* Bytes that the list keeps. */
size_t live_list_memory(const struct live_list *l);
/* Drop the remaining references; the list is empty then. */
void live_list_free(struct live_list *l);
/* For a restart: what is not encoded. L is all zeros before, and is freed by
 * the caller also on failure. */
void live_list_put_state(struct state_out *o, const struct live_list *l);
enum status live_list_get_state(struct live_list *l, struct state_in *in,
    const struct live_notifier *notifier) MUST_CHECK;

/* A reply: bytes, then what it lists, or bytes of a file. */
struct live_reply {
	struct buf *out;	/* appended to */
	struct live_list list;	/* the caller's, who frees it */
	struct open_file *file; /* a reference, or NULL */
	uint64_t offset, length;
};

/* How a request is served. */
struct live_how {
	uint64_t arrived_ns; /* when the request came */
	bool may_hold;
	bool is_interrupted; /* the viewer sent more meanwhile */
	bool was_held;	     /* the request was held before */
};

/* What a held request waits for. */
struct live_held {
	const void *source; /* the log that is waited for; may be NULL */
	bool is_any;	    /* an event of any log ends the wait */
	bool is_turn;	    /* a packet of another stream ends it */
	bool is_early;	    /* at the limit it may be held again */
	uint64_t until_ns;
};

/* A new viewer among VS, which outlives it. PEER, for logs, is borrowed. */
enum status viewer_create(
    struct viewer **out, struct viewers *vs, char *peer) MUST_CHECK;
void viewer_destroy(struct viewer *v); /* NULL is fine */

/* Serve the request Q. HELD is filled when the outcome is LIVE_HOLD. */
enum live_outcome viewer_serve(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held) MUST_CHECK;

/* An event of the log SOURCE came: does it have a packet that V has not read?
 * For requests whose is_turn is set. */
bool viewer_is_its_turn(const struct viewer *v, const void *source);
/* Was a stream published, or did a session end (*HAS_ENDED), since V's last
 * request was served? Only in sessions that it is attached to. */
bool viewer_has_news(const struct viewer *v, bool *has_ended);
/* Must V be closed because it has not read *N_STREAMS ended streams, or streams
 * of *N_SESSIONS ended sessions? */
bool viewer_is_to_be_closed(
    const struct viewer *v, unsigned *n_streams, unsigned *n_sessions);

/*
 * A restart: V with its attachments, positions and open files. Read it after
 * all events of the objects have been taken in (viewers_take_event());
 * viewers_take_ends() then tells it what ended since it was written. On a
 * registered RCU thread that VS belongs to. E_NOMEM: also if its positions use
 * more memory than they may. E_MALFORMED.
 */
void viewer_put_state(struct state_out *o, struct viewer *v);
enum status viewer_get_state(struct viewer **out, struct state_in *in,
    struct viewers *vs, char *peer,
    const struct live_notifier *notifier) MUST_CHECK;

extern const struct state_table live_how_state, live_held_state;

#endif
