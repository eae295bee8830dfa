/* SPDX-License-Identifier: MIT */
/*
 * Between the files of the viewer port's endpoint only: viewer.c, viewers.c,
 * viewer_early.c, viewer_floor.c, viewer_hold.c, viewer_metadata.c,
 * viewer_read.c and viewer_streams.c.
 */
#ifndef RELAYD_LIVE_VIEWER_INTERNAL_H
#define RELAYD_LIVE_VIEWER_INTERNAL_H

#include <stddef.h>

#include "common/idmap.h"
#include "common/list.h"
#include "relayd/live/viewer.h"
#include "store/packet_log.h"

/* How long a message of a publication is waited for that is under way. */
#define VIEWER_MESSAGE_NS (1 * NS_PER_S)
/* A stream is shown to begin so long after what was given before: clocks of
 * two traces differ by some ns. Ticks of the tracer's clock, which has a GHz.
 */
#define VIEWER_FLOOR_TICKS UINT64_C(10000)
/* What was given is of another clock if it is so far beyond a stream's own
 * times: two machines of one name, or a peer that lies. A minute. */
#define VIEWER_CLOCK_TICKS UINT64_C(60000000000)
/* Empty packets of the past that one request passes; then the others have
 * their turn. */
#define VIEWER_PASSES_MAX 64
/* A viewer that lists before it creates its session is let go by packets of
 * other streams, if it has at most so many: each is looked at. */
#define VIEWER_TURN_STREAMS 256
/* A viewer that asks for streams and does not read them is closed at so many
 * times that. */
#define VIEWER_ENDED_TOLD 4

struct registry;
struct index_record;
struct live_session;
struct live_stream;

/* What the positions of one CTF trace share; it lives as long as there are any.
 */
struct viewer_trace {
	uint64_t id;
	unsigned n_data;	   /* positions in data streams */
	struct position *metadata; /* the one in its metadata; NULL: none */
	bool is_listed;		   /* it was there at ATTACH */
	bool is_silent;	   /* nothing was heard of a part; find_ready() */
	uint64_t since_ns; /* this viewer has positions in it */
	/* Since when a stream class that is missing has been waited for; 0:
	 * none was missing yet. */
	uint64_t class_since_ns;
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
	struct list node; /* viewer->unannounced, or ->announced */
	struct viewer_trace *trace;
	struct live_stream *stream;    /* a reference */
	struct attachment *attachment; /* to the stream's session */
	enum position_state state;
	/* A packet or a beacon came, or a class was declared, at any time. */
	bool is_heard;
	bool is_ended; /* its stream is closed; counted in n_ended */
	/* Of data streams only. */
	uint64_t pos;		/* number of the next packet to give */
	struct open_file *file; /* of the last packet whose index was given */
	bool has_bound;		/* an INACTIVE was given, */
	uint64_t bound;		/* the last one with this time */
	uint64_t last_time;	/* the latest time given, of both kinds */
	/* viewer_floor.c; times of the tracer's clock. */
	uint64_t time_before;	 /* its events are later; 0: not known */
	uint64_t floor;		 /* no packet is to begin before; 0: any may */
	bool is_raised;		 /* the last packet given is to begin later */
	uint64_t raised_at;	 /* that packet's offset in FILE, bytes */
	uint8_t raised_begin[8]; /* its timestamp_begin, as in the file */
	/* Of metadata streams only. */
	uint64_t sent; /* bytes given */
};

/* A viewer and one session. */
struct attachment {
	struct list node;	      /* viewer->attachments */
	struct live_session *session; /* a reference */
	bool has_ended;		      /* the session has */
	uint64_t given; /* the latest time given of any of its streams */
};

struct viewer {
	struct list node; /* viewers->all */
	struct viewers *viewers;
	struct registry *registry; /* that of the viewers */
	char *peer;		   /* for logs; borrowed */
	unsigned minor;		   /* of the version agreed on */
	bool is_greeted;	   /* it sent CONNECT */
	bool has_session;	   /* it sent CREATE_SESSION */
	bool has_listed;	   /* it sent LIST_SESSIONS */
	/* babeltrace2 does, babeltrace 1 does not. */
	bool created_before_list;
	struct list attachments; /* struct attachment */
	/* struct position, in the order of publication and of announcement. */
	struct list unannounced, announced;
	struct idmap by_id;  /* stream id -> struct position, of both lists */
	struct idmap traces; /* trace id -> struct viewer_trace */
	unsigned n_ended;    /* positions in data streams that are closed */
	bool is_overdue;     /* to be closed: these are too many */
	/* Streams that were published and not yet announced (live 4.9). */
	bool has_been_flagged; /* a reply said so since GET_NEW_STREAMS */
	bool has_had_empty_ok; /* since it asked, or a publication */
	/* Holding replies (live 4.8). */
	unsigned nothings;	/* "nothing" replies since the last news */
	uint64_t nothing_id;	/* the stream of the last one; 0: none */
	uint64_t last_reply_ns; /* of any kind */
	/* For the log. */
	uint64_t lost;	 /* packets overwritten or cleared unread */
	uint64_t passed; /* empty packets that were too early to be given */
};

/* News (viewers.c). */
void viewer_stream_published(struct viewer *v, struct live_stream *s);
void viewer_session_ended(struct viewer *v, const struct live_session *s);
void viewer_stream_closed(struct viewer *v, const struct live_stream *s);

/* viewer.c */
struct attachment *viewer_attachment(const struct viewer *v, uint64_t id);
struct position *viewer_position(const struct viewer *v, uint64_t id);
void viewer_forget(struct viewer *v, struct position *p);
enum status viewer_add_position(
    struct viewer *v, struct live_stream *s, struct position **out) MUST_CHECK;
/* Is anything to be announced? Forgets what never will be. */
bool viewer_has_ready(struct viewer *v);
/* Records of what is to be announced, appended; how many. */
uint32_t viewer_announce(
    struct viewer *v, const struct live_session *s, struct buf *out);
/* The reply of ATTACH_SESSION and GET_NEW_STREAMS: COUNT records follow. */
enum live_outcome viewer_reply_streams(struct live_reply *reply,
    uint32_t status, uint32_t count, struct buf *take_records);
/* Times can be compared: one host has one clock. */
bool viewer_is_same_host(const struct position *a, const struct position *b);
/* Until when traces of the host of BESIDE (NULL: of any) that are not ready
 * keep V from times that are later than *SAFE; 0: there are none. */
uint64_t viewer_waits_until(
    struct viewer *v, const struct position *beside, uint64_t *safe);
/* The time before which no stream of the host of BESIDE has events that V was
 * not told of. */
uint64_t viewer_knows_until(
    const struct viewer *v, const struct position *beside);
/* Their writers will wake this worker. Then look once more. */
void viewer_wait_for_silent(struct viewer *v);
/* HELD waits for them, too. */
void viewer_hold_for_silent(struct viewer *v, struct live_held *held);
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
/* P's floor, where it may be told TIME: none, if that is of another clock. */
uint64_t viewer_floor_at(struct position *p, uint64_t time);
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
/* For HELD's is_turn: the writers of V's streams will wake this worker. */
void viewer_wait_for_turn(const struct viewer *v);
/* A reply goes out that counts for the rule of live 4.8. */
void viewer_count(struct viewer *v, bool is_news);

#endif
