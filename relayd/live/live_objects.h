/* SPDX-License-Identifier: MIT */
/*
 * What viewers may see of sessions and streams: objects that the ingest worker
 * makes and that it and the live workers hold by reference. After they are made
 * only their `struct published` members change, and the seat of each live
 * worker, which is that worker's own.
 *
 * Live workers learn of them by events, in their order, and keep lists of their
 * own (relayd/live/viewers.h): so nothing here needs to be searched by two
 * threads. All that this needs is allocated with the objects, so that each
 * event arrives and each object is seen.
 */
#ifndef RELAYD_LIVE_LIVE_OBJECTS_H
#define RELAYD_LIVE_LIVE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>
#include <urcu/wfcqueue.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/publish.h"
#include "common/ref.h"
#include "common/status.h"

struct metadata_log;
struct packet_log;
struct state_in;
struct state_out;
struct state_table;

/* What live workers learn of sessions and streams, in the order in which it
 * happened. */
enum live_event {
	LIVE_EVENT_SESSION,	  /* a session began */
	LIVE_EVENT_SESSION_ENDED, /* its control connection ended */
	LIVE_EVENT_STREAM,	  /* a stream was published */
	LIVE_EVENT_STREAM_CLOSED, /* its log has ended */
};

/* An event on its way to one live worker, with a reference on its object. */
struct live_event_node {
	struct cds_wfcq_node node;
	/* An enum live_event, plus 1 once it is posted. Published, so that
	 * ThreadSanitizer sees the queue's order. */
	struct published what;
};

/* What one live worker has of an object. */
struct live_seat {
	struct list node;	 /* in its sessions, or its session's streams */
	struct list streams;	 /* of a session: seats */
	struct list linger_node; /* in viewers->lingering: it has ended */
	uint64_t linger_until_ns;
	struct live_object *object;
	struct live_event_node events[2]; /* it began, it ended */
};

/* The first member of both kinds of objects. */
struct live_object {
	struct ref ref;
	bool is_stream;
	struct live_seat *seats; /* one for each live worker */
};

struct live_session {
	struct live_object object;
	unsigned n_workers; /* live workers that learn of it */
	uint64_t id;	    /* that of the relay session */
	uint32_t live_timer_us;
	bool is_ctf2;
	char *hostname, *name;
	struct published clients;    /* viewers attached */
	struct published sent_bytes; /* of packets, to viewers */
	struct published streams;    /* published and open, metadata included */
	struct live_seat seats[];
};

struct live_stream {
	struct live_object object;
	uint64_t id;	   /* from 1; of the stream, for all viewers */
	uint64_t trace_id; /* from 1; unique over all sessions */
	/* The latest time in the session's indexes when this stream was
	 * published, in ticks of the tracer's clock. All events of the stream
	 * are later. */
	uint64_t time_before;
	bool is_metadata;
	const char *path, *channel; /* after SEATS */
	struct live_session *session;
	struct packet_log *log;	       /* of a data stream */
	struct metadata_log *metadata; /* of a metadata stream */
	struct live_seat seats[];
};

/* One reference; the strings are copied. N_WORKERS live workers will learn
 * of the session and of its streams. */
enum status live_session_create(struct live_session **out, unsigned n_workers,
    uint64_t id, uint32_t live_timer_us, bool is_ctf2, const char *hostname,
    const char *name) MUST_CHECK;

/* One reference; takes references on SESSION and on LOG or METADATA (one of
 * them is NULL). */
enum status live_stream_create(struct live_stream **out,
    struct live_session *session, uint64_t id, uint64_t trace_id,
    const char *path, const char *channel, struct packet_log *log,
    struct metadata_log *metadata) MUST_CHECK;

/* Take and drop a reference on a session or a stream. */
void *live_get(void *object); /* returns OBJECT */
void live_put(void *object);  /* NULL is fine */

/* Events that one live worker has not taken yet, oldest first. */
struct live_inbox {
	struct cds_wfcq_head head;
	struct cds_wfcq_tail tail;
};

void live_inbox_init(struct live_inbox *b);
/* Any thread. Takes a reference on OBJECT. WORKER: whose inbox B is, counted
 * from 0. Each event of an object is posted once. True: the inbox was
 * empty, so its worker must be woken. */
bool live_inbox_post(struct live_inbox *b, enum live_event what, void *object,
    unsigned worker) MUST_CHECK;
/* The worker only. *OBJECT is a reference that the caller has to put. False:
 * the inbox is empty. */
bool live_inbox_take(
    struct live_inbox *b, enum live_event *what, void **object) MUST_CHECK;

/* Notifies all live workers. Objects are borrowed: it takes references of its
 * own. */
struct live_notifier {
	unsigned n_workers; /* live workers that are notified */
	void (*notify)(
	    struct live_notifier *d, enum live_event what, void *object);
	/* Wake the live workers in BITS: SOURCE (a packet_log, or a
	 * metadata_log) has an event. SOURCE is only compared, never
	 * dereferenced. */
	void (*wake)(
	    struct live_notifier *d, uint64_t bits, const void *source);
	struct published stream_ids, trace_ids; /* the last ones used */
};

extern const struct state_table live_notifier_state; /* the ids */

/*
 * A restart (common/state.h): the object that a session or a stream is, with
 * its logs; NULL is fine. What it counts moves, except its viewers, who count
 * themselves again. *OUT is a new reference, or NULL. E_NOMEM, E_MALFORMED.
 *
 * Nothing is listed yet: the owner, once it has restored its session whole,
 * posts LIVE_EVENT_SESSION unless that session had ended, and
 * LIVE_EVENT_STREAM for each of its streams that were shown. It posts the other
 * two events later, as for any object. If it cannot restore the session, it
 * ends the logs that it has read, so that viewers come to the end. Main thread.
 */
void live_session_put_state(struct state_out *o, struct live_session *s);
enum status live_session_get_state(struct live_session **out,
    struct state_in *in, const struct live_notifier *notifier) MUST_CHECK;
void live_stream_put_state(struct state_out *o, struct live_stream *s);
enum status live_stream_get_state(struct live_stream **out, struct state_in *in,
    const struct live_notifier *notifier) MUST_CHECK;

#endif
