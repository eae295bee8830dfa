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
#include "common/compiler.h"
#include "common/idmap.h"
#include "common/list.h"
#include "common/status.h"
#include "proto/live.h"

struct gallery;
struct live_session;
struct live_stream;
struct open_file;

/* The positions of one CTF trace; lives as long as there are any. */
struct viewer_trace {
	uint64_t id;
	unsigned n_data;	   /* data streams */
	struct position *metadata; /* NULL: none */
};

/* A viewer's place in one stream. */
struct position {
	struct list node;
	struct viewer_trace *trace;
	struct live_stream *stream;
	bool is_announced;
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
	bool is_interrupted; /* released because the viewer sent more */
};

/* Of a held request, for wake-ups. */
struct live_held {
	const void *source; /* the log that was asked for; may be NULL */
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
