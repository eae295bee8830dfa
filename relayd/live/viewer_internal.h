/* SPDX-License-Identifier: MIT */
/*
 * What the files of the viewer port's endpoint share: viewer*.c. No other
 * file includes it.
 */
#ifndef RELAYD_LIVE_VIEWER_INTERNAL_H
#define RELAYD_LIVE_VIEWER_INTERNAL_H

#include <stddef.h>

#include "common/idmap.h"
#include "common/list.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewer.h"
#include "store/packet_log.h"

/* How long a request waits for the event of a published stream that has not
 * arrived here. */
#define VIEWER_MESSAGE_NS (1 * NS_PER_S)
/* A minimum begin time is this much later than the time that was sent: clocks
 * of two traces differ by some ns. In ticks of the tracer's clock, which has
 * 1 GHz. */
#define VIEWER_MIN_BEGIN_TICKS UINT64_C(10000)
/* A time that was sent is of another clock if it is this much later than a
 * stream's own times: two machines have the same name, or a peer sends false
 * times. In ticks: one minute. */
#define VIEWER_CLOCK_TICKS UINT64_C(60000000000)
/* How many packets one request may skip before other viewers are served. */
#define VIEWER_PASSES_MAX 64
/* For a viewer that lists before it creates its session, packets of other
 * streams end the wait if it has at most this many streams, because each of
 * them is checked. */
#define VIEWER_CYCLE_STREAMS 256
/* A viewer that asks for streams and does not read them is closed when it has
 * more than this many times max_ended of them. */
#define VIEWER_ENDED_TOLD 4

struct index_record;
struct live_object;
struct live_session;
struct live_stream;

/* What a viewer's positions in one CTF trace share; it lives as long as one of
 * them. */
struct viewer_trace {
	struct list node; /* viewer->incomplete, if POSITIONS has some */
	/* Its positions that were not announced, while it lacks metadata or
	 * data streams: requests ignore these. */
	struct list positions;
	uint64_t id;
	unsigned n_data;	   /* positions in data streams */
	struct position *metadata; /* in its metadata; NULL: none */
	bool is_listed;		   /* it had data streams at ATTACH */
	bool lacks_data;	   /* a stream has no data; find_ready() */
	uint64_t since_ns;	   /* when its first data position was added */
	/* Since when a missing stream class has been waited for; 0: no class
	 * was missing yet. */
	uint64_t class_since_ns;
};

static inline bool
viewer_is_complete(const struct viewer_trace *t)
{
	return t->metadata != NULL && t->n_data > 0;
}

/* What a viewer knows of a stream. Hidden and ready positions are in one list,
 * as a ready one may become hidden again; find_ready() sets these two states
 * each time before they are used. */
enum position_state {
	POSITION_HIDDEN,    /* published, not to be announced yet */
	POSITION_READY,	    /* the next GET_NEW_STREAMS announces it */
	POSITION_ANNOUNCED, /* the viewer knows it */
};

/* A viewer's place in one stream. */
struct position {
	struct list
	    node; /* viewer->unannounced, ->announced, trace->positions */
	struct list of_attachment; /* attachment->positions */
	struct viewer_trace *trace;
	struct live_stream *stream;    /* a reference */
	struct attachment *attachment; /* to the stream's session */
	enum position_state state;
	/* A packet or a beacon came, or (metadata) a class was declared. */
	bool has_data;
	bool is_ended; /* its stream is closed; counted in n_ended */
	/* Of data streams only. */
	uint64_t pos;		/* number of the next packet to send */
	struct open_file *file; /* of the last packet whose index was sent */
	struct open_part part;	/* that packet, until it is fetched */
	bool has_bound;		/* an INACTIVE reply was sent */
	uint64_t bound;		/* the time in the last of them */
	uint64_t last_sent;	/* the latest time sent, of packets or bounds */
	/* Times of the tracer's clock (live 4.11). */
	uint64_t time_before;	   /* events are later; 0: not known */
	uint64_t min_begin;	   /* no packet may begin before; 0: none */
	bool has_new_begin;	   /* the last packet that was sent has it */
	uint64_t new_begin_packet; /* that packet's offset in FILE, bytes */
	uint8_t new_begin[8];	   /* in file byte order */
	/* Of metadata streams only. */
	uint64_t sent; /* bytes sent to the viewer */
};

/* A viewer and one session. */
struct attachment {
	struct list node;	      /* viewer->attachments */
	struct live_session *session; /* a reference */
	bool has_ended;		      /* the session has ended */
	struct list positions;	      /* in its streams */
	uint64_t last_sent; /* the latest time sent of any of its streams */
};

struct viewer {
	struct list node; /* viewers->all */
	struct viewers *viewers;
	char *peer;	  /* for logs; borrowed */
	unsigned minor;	  /* of the version agreed on */
	bool is_greeted;  /* it sent CONNECT */
	bool has_session; /* it sent CREATE_SESSION */
	bool has_listed;  /* it sent LIST_SESSIONS */
	/* CREATE_SESSION came first: babeltrace2 does so, babeltrace 1 does
	 * not. */
	bool created_before_list;
	struct list attachments; /* struct attachment */
	/* struct position, in the order of publication and of announcement. */
	struct list unannounced, announced;
	struct list incomplete; /* struct viewer_trace, with hidden positions */
	bool has_checked;	/* in this request, for ready positions */
	bool has_ready;		/* there is a ready position */
	struct idmap by_id;	/* stream id -> struct position, of all lists */
	struct idmap traces;	/* trace id -> struct viewer_trace */
	unsigned n_ended;	/* positions in data streams that are closed */
	unsigned n_ended_sessions; /* ended sessions that it has positions in */
	bool is_to_be_closed;	   /* one of these is too large */
	uint64_t memory;	   /* of its positions */
	/* How the viewer was notified of streams to announce (live
	 * 4.9). GET_NEW_STREAMS clears both, a newly published stream the
	 * second. */
	bool has_been_flagged; /* a reply had the flag */
	bool has_had_empty_ok; /* an OK without a packet was sent */
	/* Events since the last request was served. */
	bool has_new_stream, has_new_end;
	/* Holding replies (live 4.8). */
	unsigned nothings;	/* replies in a row that had nothing new */
	uint64_t nothing_id;	/* the stream of the last of them; 0: none */
	uint64_t last_reply_ns; /* of any kind */
	/* For the log. */
	uint64_t lost;	 /* packets overwritten or cleared unread */
	uint64_t passed; /* empty packets that were too early to be sent */
};

/* viewer.c */
/* Count a reply that is sent, for the rule of live 4.8. */
void viewer_count(struct viewer *v, bool is_news);
/* May a reply that has nothing new be held now, by that rule? SESSION gives the
 * limit; SOURCE is the log to wait for. */
bool viewer_may_hold(const struct viewer *v, const struct live_how *how,
    const struct live_session *session, const void *source,
    struct live_held *held);

/* viewer_streams.c */
struct attachment *viewer_attachment(const struct viewer *v, uint64_t id);
struct position *viewer_position(const struct viewer *v, uint64_t id);
/* A position in S, which V is attached to. E_EXISTS: it has one. E_NOMEM: also
 * if its positions, or those of all viewers, use the memory that they may. */
enum status viewer_add_position(
    struct viewer *v, struct live_stream *s, struct position **out) MUST_CHECK;
/* The same, but it is in no list of positions yet. */
enum status viewer_make_position(
    struct viewer *v, struct live_stream *s, struct position **out) MUST_CHECK;
void viewer_forget(struct viewer *v, struct position *p);
/* May times of A and B be compared? One host has one clock. */
bool viewer_is_same_host(const struct position *a, const struct position *b);
/* V was sent TIME of P. */
void viewer_note_sent(struct position *p, uint64_t time);
/* P's min_begin, for TIME of its stream; 0: none, or TIME is of another
 * clock. */
uint64_t viewer_min_begin(struct position *p, uint64_t time);
/* P needs a stream class that is not declared: may it still wait for it? */
bool viewer_may_wait_for_class(const struct viewer *v, struct position *p);
/* Events, which viewers.c delivers. */
void viewer_stream_published(struct viewer *v, struct live_stream *s);
void viewer_session_ended(struct viewer *v, const struct live_session *s);
void viewer_stream_closed(struct viewer *v, const struct live_stream *s);
/* Is the data stream S kept for later viewers? Then none keeps it alone, and
 * they learn of its end later. */
bool stream_lingers(const struct viewers *vs, const struct live_stream *s);
/* A session or a stream, not NULL: live_session_put_state() and its like. */
void live_object_put_state(struct state_out *o, struct live_object *object);
enum status live_object_get_state(struct live_object **out, struct state_in *in,
    const struct live_notifier *notifier) MUST_CHECK;
/* After a restart: V learns of what has ended. E_NOMEM. */
enum status viewer_take_ends(struct viewer *v) MUST_CHECK;
/* Is there a stream to announce? Forgets streams that never will be. */
bool viewer_has_ready(struct viewer *v);
/* Announce the streams of S that are ready: they are in the list of REPLY.
 * Without memory none is, and the reply is bad, so that the connection ends. */
void viewer_announce(
    struct viewer *v, const struct live_session *s, struct live_reply *reply);
/* The reply of ATTACH_SESSION and GET_NEW_STREAMS, with the streams of its
 * list. */
enum live_outcome viewer_reply_streams(
    struct live_reply *reply, uint32_t status);
/* Until when V must not be sent a time later than *SAFE, because traces of
 * BESIDE's host (NULL: of any host) are hidden; 0: there is no such trace. */
uint64_t viewer_waits_until(
    struct viewer *v, const struct position *beside, uint64_t *safe);
/* Before this time, no unannounced stream of BESIDE's host has events. */
uint64_t viewer_knows_until(
    const struct viewer *v, const struct position *beside);
/* Ask the writers of hidden streams without data to wake this worker. Check
 * again after it. */
void viewer_wait_for_hidden(struct viewer *v);
/* HELD waits for these streams, too. */
void viewer_hold_for_hidden(struct viewer *v, struct live_held *held);
/* P was answered HUP: forget it, and after the trace's last data stream its
 * metadata. */
void viewer_hang_up(struct viewer *v, struct position *p);
enum live_outcome viewer_new_streams(struct viewer *v, uint64_t id,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held);

/* viewer_data.c */
enum begin_change {
	BEGIN_KEPT,	   /* REC is as it was */
	BEGIN_CHANGED,	   /* REC has a new, later begin */
	BEGIN_SKIP_PACKET, /* an empty packet before P's min_begin */
};
/* Call it before the packet at P, in FILE, is sent; only while P has a
 * min_begin. */
enum begin_change viewer_change_begin(struct viewer *v, struct position *p,
    const struct open_file *file, struct index_record *rec);
enum live_outcome viewer_packet(
    struct viewer *v, const struct live_request *q, struct live_reply *reply);
enum live_outcome viewer_metadata(struct viewer *v, uint64_t id,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held);

/* viewer_next_index.c */
enum live_outcome viewer_next_index(struct viewer *v, uint64_t id,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held);

#endif
