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
#include "store/packet_log.h"

/* How long a stream class is waited for that the metadata does not declare yet,
 * behind the live timer's period, which the tracer may take to send it: a peer
 * that never does must not stop its viewers for good. And the longest period
 * that counts. */
#define VIEWER_CLASS_NS (1 * NS_PER_S)
#define VIEWER_CLASS_PERIOD_NS (10 * NS_PER_S)
/* How long a message of a publication is waited for that is under way. */
#define VIEWER_MESSAGE_NS (1 * NS_PER_S)
/* How long an answer waits, in all, because it is too early for it. Each trace
 * has its own limit; the last one that counts came before the packet did. */
#define VIEWER_EARLY_NS (2 * (VIEWER_CLASS_NS + VIEWER_CLASS_PERIOD_NS))
/* A stream is shown to begin so long after what was given before: clocks of
 * two traces differ by some ns. Ticks of the tracer's clock, which has a GHz.
 */
#define VIEWER_FLOOR_TICKS UINT64_C(10000)
/* A viewer that lists before it creates its session is let go by packets of
 * other streams, if it has at most so many: each is looked at. */
#define VIEWER_TURN_STREAMS 256

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
struct index_record;
struct live_session;
struct live_stream;
struct open_file;
struct viewers;

/* The positions of one CTF trace; lives as long as there are any. */
struct viewer_trace {
	uint64_t id;
	unsigned n_data;	   /* data streams */
	struct position *metadata; /* NULL: none */
	bool is_listed;		   /* it was there at ATTACH */
	bool is_silent;		   /* not all of it was heard of */
	uint64_t since_ns;	   /* it is known here */
	uint64_t class_since_ns;   /* a class was missed first; 0: never */
};

/* What a viewer was told of a stream. Hidden and ready ones are in one list, as
 * a ready one may be hidden again; which is which is found anew each time that
 * it matters. */
enum position_state {
	POSITION_HIDDEN,    /* published, and kept back */
	POSITION_READY,	    /* the next GET_NEW_STREAMS announces it */
	POSITION_ANNOUNCED, /* from then on, until it is forgotten */
};

/* A viewer's place in one stream. */
struct position {
	struct list node;
	struct viewer_trace *trace;
	struct live_stream *stream;
	struct attachment *attachment;
	enum position_state state;
	bool is_heard; /* a packet, a beacon, a stream class */
	bool is_ended; /* its stream is closed; counted */
	/* data */
	uint64_t pos;		/* of the next packet to give */
	struct open_file *file; /* of the last index that was answered OK */
	bool has_bound;
	uint64_t bound;	    /* the last INACTIVE time that was given */
	uint64_t last_time; /* the latest time given, packet or bound */
	/* viewer_floor.c; times of the tracer's clock */
	uint64_t time_before;	 /* its events are later; 0: not known */
	uint64_t floor;		 /* it must not begin before; 0: it may */
	bool is_raised;		 /* the packet of the last index begins later */
	uint64_t raised_at;	 /* that packet's offset in FILE, bytes */
	uint8_t raised_begin[8]; /* its timestamp_begin, as in the file */
	/* metadata */
	uint64_t sent; /* bytes given */
};

struct attachment {
	struct list node;
	struct live_session *session;
	bool has_ended;
	uint64_t given; /* the latest time given of its streams */
};

struct viewer {
	struct list node; /* viewers->all */
	struct viewers *viewers;
	struct gallery *gallery; /* that of the viewers */
	char *peer;		 /* for logs; borrowed */
	unsigned minor;
	bool is_greeted, has_session;
	bool created_before_list; /* babeltrace2 does, babeltrace 1 does not */
	bool has_listed;
	struct list attachments;
	/* struct position, by node, in the order of publication and of
	 * announcement. */
	struct list unannounced, announced;
	unsigned n_ended;    /* data positions that are so */
	bool is_overdue;     /* to be closed */
	struct idmap by_id;  /* viewer stream id -> struct position */
	struct idmap traces; /* trace id -> struct viewer_trace */
	/* Streams that were published and not yet announced (live 4.9). */
	bool has_been_flagged; /* a reply said so since GET_NEW_STREAMS */
	bool has_had_empty_ok; /* since it asked, or a publication */
	/* Holding replies (live 4.8). */
	unsigned nothings;	/* "nothing" replies since the last news */
	uint64_t nothing_id;	/* the stream of the last one; 0: none */
	uint64_t last_reply_ns; /* of any kind */
	/* Packets overwritten or cleared before they were read; empty ones
	 * that began and ended too early to be shown. */
	uint64_t lost, passed;
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
	bool is_turn;	    /* and a packet of another stream lets go */
	bool is_early;	    /* at its limit it is looked at once more */
	uint64_t until_ns;
};

enum status viewer_create(
    struct viewer **out, struct viewers *vs, char *peer) MUST_CHECK;
void viewer_destroy(struct viewer *v); /* NULL is fine */

enum live_outcome viewer_serve(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held) MUST_CHECK;

/* News (viewers.c). */
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
bool viewer_has_ready(struct viewer *v);
/* Records of what is to be announced, appended; how many. */
uint32_t viewer_announce(
    struct viewer *v, const struct live_session *s, struct buf *out);
/* Until when traces that are not ready keep V from times that are later than
 * *SAFE; 0: there are none. */
uint64_t viewer_waits_until(struct viewer *v, uint64_t *safe);
/* The time before which no stream has events that V was not told of. */
uint64_t viewer_knows_until(const struct viewer *v);
/* Their writers will wake this worker. Then look once more. */
void viewer_wait_for_silent(struct viewer *v);
/* HELD waits for them, too. */
void viewer_hold_for_silent(struct viewer *v, struct live_held *held);
bool viewer_has_data(const struct viewer *v, const struct live_session *s);
/* The record at P and the file that holds it, a reference. E_NOENT: gone
 * meanwhile; look again. E_NOMEM: perhaps not for long. */
enum status viewer_read_record(struct viewer *v, const struct position *p,
    struct index_record *rec, struct open_file **file) MUST_CHECK;

/* viewer_early.c */
/*
 * Streams were published and are on their way here by a message, or wait for
 * something to be heard of them, and after the answer for P the viewer might
 * show what is later than their events (live 4.6, 4). Until when to wait, 0:
 * not; a bound may be given as far as is safe. After packet_log_look(): what
 * was published before what it saw counts.
 */
uint64_t viewer_must_hear_first(struct viewer *v, const struct position *p,
    const struct live_how *how, enum log_next next, struct log_view *view);
/* P is at its end, but a viewer that hears of it may show what is later than
 * the events of streams that it was not told of. */
bool viewer_must_ask_first(const struct viewer *v, const struct position *p,
    uint32_t flags, const struct log_view *view);

/* A stream class is missing that P needs: is it worth waiting for? */
bool viewer_may_wait_for_class(const struct viewer *v, struct position *p);
/* How long, in all. */
uint64_t viewer_class_ns(
    const struct viewer *v, const struct live_session *session);

/* viewer_floor.c: a new stream must not begin before what was given. */
/* P is made for a stream that was published now. */
void viewer_note_before(const struct viewer *v, struct position *p);
/* P is announced now. */
void viewer_set_floor(const struct viewer *v, struct position *p);
enum viewer_raise {
	RAISE_NONE,  /* REC is as it was */
	RAISE_BEGIN, /* its packet is to begin at REC's new time */
	RAISE_PASS,  /* all of it, an empty packet, is too early */
};
/* The packet at P, which lies in FILE, before it is given. Only while P has a
 * floor. */
enum viewer_raise viewer_raise_begin(struct viewer *v, struct position *p,
    const struct open_file *file, struct index_record *rec);
/* Of LENGTH bytes at OFFSET of P's file the first *COPIED, in HEAD, have the
 * later beginning; the rest is as in the file. False: not readable. */
#define VIEWER_RAISED_LEN 40
bool viewer_copy_raised(const struct position *p, uint64_t offset,
    uint64_t length, uint8_t head[VIEWER_RAISED_LEN],
    size_t *copied) MUST_CHECK;

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

/* May a reply that says "nothing" be held now? SESSION: for the limit; SOURCE:
 * what there is no news of. */
bool viewer_may_hold(const struct viewer *v, const struct live_how *how,
    const struct live_session *session, const void *source,
    struct live_held *held);
/* The same for GET_NEXT_INDEX at P. */
bool viewer_may_hold_index(const struct viewer *v, const struct live_how *how,
    const struct position *p, struct live_held *held);
/* For HELD's is_turn: the writers of V's streams will wake this worker; SOURCE
 * has news: is it a packet for V? */
void viewer_wait_for_turn(const struct viewer *v);
bool viewer_is_its_turn(const struct viewer *v, const void *source);
/* A reply goes out that counts for the rule of live 4.8. */
void viewer_count(struct viewer *v, bool is_news);

#endif
