/* SPDX-License-Identifier: MIT */
/*
 * The viewer port's endpoint: one viewer connection, the sessions it is
 * attached to and its positions in their streams (live 2, 3). No sockets:
 * requests in, replies out. One live worker's own.
 */
#ifndef RELAYD_VIEWER_H
#define RELAYD_VIEWER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/compiler.h"
#include "common/idmap.h"
#include "common/list.h"
#include "common/status.h"
#include "proto/live.h"

/* How long streams of a trace are kept from viewers while nothing was heard of
 * them: the time of a beacon, mostly. See viewer_streams.c. */
#define VIEWER_QUIET_NS (1 * NS_PER_S)
/* A process begins at most so long before its streams are published, in ticks
 * of the tracer's clock, which has a GHz. */
#define VIEWER_LATE_TICKS UINT64_C(1000000000)

/* Streams that ended and that a viewer has not read, of which each trace keeps
 * a folder open: at most so many, or a 16th of the descriptors if that is less.
 * Beyond, the oldest that it was not told of are lost to it. */
#define VIEWER_ENDED_MAX 512
#define VIEWER_ENDED_MIN 32
#define VIEWER_ENDED_SHARE 16
/* A viewer that asks for streams and does not read them is closed at so many
 * times that. */
#define VIEWER_ENDED_TOLD 4

struct gallery;
struct live_session;
struct live_stream;
struct open_file;

/* The positions of one CTF trace; lives as long as there are any. */
struct viewer_trace {
	uint64_t id;
	unsigned n_data;	   /* data streams */
	struct position *metadata; /* NULL: none */
	bool is_heard;		   /* metadata, and an index of a stream */
};

/* A viewer's place in one stream. */
struct position {
	struct list node;
	struct viewer_trace *trace;
	struct live_stream *stream;
	bool is_announced;
	bool is_ready; /* to be announced */
	bool is_ended; /* its stream is closed; counted */
	/* data */
	uint64_t pos;		/* of the next packet to give */
	struct open_file *file; /* of the last index that was answered OK */
	bool has_bound;
	uint64_t bound;	    /* the last INACTIVE time that was given */
	uint64_t last_time; /* the latest time given, packet or bound */
	/* metadata */
	uint64_t sent; /* bytes given */
};

struct attachment {
	struct list node;
	struct live_session *session;
	bool has_ended;
};

struct viewer {
	struct list node; /* gallery->viewers */
	struct gallery *gallery;
	char *peer; /* for logs; borrowed */
	unsigned minor;
	bool is_greeted, has_session;
	bool created_before_list; /* babeltrace2 does, babeltrace 1 does not */
	bool has_listed;
	struct list attachments;
	struct list positions;
	unsigned n_ended;    /* data positions that are so */
	bool is_overdue;     /* to be closed */
	struct idmap by_id;  /* viewer stream id -> struct position */
	struct idmap traces; /* trace id -> struct viewer_trace */
	/* Streams that were published and not yet announced (live 4.9). */
	bool has_been_flagged; /* a reply said so since GET_NEW_STREAMS */
	bool has_had_empty_ok; /* since the last publication */
	/* Holding replies (live 4.8). */
	unsigned nothings;	/* "nothing" replies since the last news */
	uint64_t last_reply_ns; /* of any kind */
	uint64_t
	    lost; /* packets overwritten or cleared before they were read */
};

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
	uint64_t until_ns;
};

enum status viewer_create(
    struct viewer **out, struct gallery *g, char *peer) MUST_CHECK;
void viewer_destroy(struct viewer *v); /* NULL is fine */

enum live_outcome viewer_serve(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held) MUST_CHECK;

/* News (gallery.c). */
void viewer_stream_published(struct viewer *v, struct live_stream *s);
void viewer_session_ended(struct viewer *v, struct live_session *s);
void viewer_stream_closed(struct viewer *v, struct live_stream *s);

/* Between viewer.c, viewer_streams.c and viewer_read.c. */
struct attachment *viewer_attachment(const struct viewer *v, uint64_t id);
struct position *viewer_position(const struct viewer *v, uint64_t id);
void viewer_forget(struct viewer *v, struct position *p);
enum status viewer_add_position(
    struct viewer *v, struct live_stream *s, struct position **out) MUST_CHECK;
void viewer_detach(struct viewer *v, struct attachment *a);
/* Is anything to be announced? Forgets what never will be. */
bool viewer_has_unannounced(struct viewer *v);
/* Until when streams of which nothing was heard are kept back; 0: there are
 * none. *SAFE (NULL is fine): what is of others and ends before may be given
 * all the same. */
uint64_t viewer_silent_until(struct viewer *v, uint64_t *safe);
/* Their writers will wake this worker. Then look once more. */
void viewer_wait_for_silent(struct viewer *v);
/* HELD waits for them, too. */
void viewer_hold_for_silent(struct viewer *v, struct live_held *held);
/* Records of what is to be announced, appended; how many. */
uint32_t viewer_announce(
    struct viewer *v, const struct live_session *s, struct buf *out);
bool viewer_has_data(const struct viewer *v, const struct live_session *s);
/* P was answered HUP: it is gone, and its trace's metadata with the last. */
void viewer_hang_up(struct viewer *v, struct position *p);

enum live_outcome viewer_next_index(struct viewer *v, uint64_t id,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held);
enum live_outcome viewer_packet(
    struct viewer *v, const struct live_request *q, struct live_reply *reply);
enum live_outcome viewer_metadata(struct viewer *v, uint64_t id,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held);
enum live_outcome viewer_new_streams(struct viewer *v, uint64_t id,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held);

/* May a reply that says "nothing" be held now? SESSION: for the limit. */
bool viewer_may_hold(const struct viewer *v, const struct live_how *how,
    const struct live_session *session, const void *source,
    struct live_held *held);
/* A reply goes out that counts for the rule of live 4.8. */
void viewer_count(struct viewer *v, bool is_news);

#endif
