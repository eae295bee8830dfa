/* SPDX-License-Identifier: MIT */
/*
 * What the viewers of one live worker can see, and these viewers: the sessions
 * that are recorded, their published streams, and the tracefiles that are open.
 * Events of the ingest workers, which come in order, keep it up to date.
 */
#ifndef RELAYD_LIVE_VIEWERS_H
#define RELAYD_LIVE_VIEWERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/account.h"
#include "common/list.h"
#include "common/publish.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"

struct stats;
struct info;
struct state_in;
struct state_out;

struct viewers {
	pthread_t
	    thread; /* only this thread uses it; exceptions: "any thread" */
	bool has_thread;
	struct list all;      /* struct viewer, by node */
	struct list sessions; /* struct live_seat, as they are listed */
	/* Of these and their streams, those that have ended, in that order:
	 * later viewers can still read them. */
	struct list lingering; /* struct live_seat, by linger_node */
	uint64_t linger_ns;    /* --live-linger; 0: nothing lingers */
	unsigned n_lingering_sessions, max_lingering_sessions;
	uint64_t n_lingering_streams, max_lingering_streams;
	uint64_t last_linger_log;
	unsigned worker; /* the number of its seat in all objects */
	struct open_files files;
	/* How many events of published streams were sent here, and how many
	 * have arrived. A viewer must know a stream before it is sent a time
	 * after the stream's beginning (live 4.6), but packets and beacons
	 * reach it without an event. */
	struct published events_sent; /* any thread */
	uint64_t events_arrived;
	uint64_t wake_bit;	      /* of WORKER, in the logs' waiters */
	bool holds_replies;	      /* --live-hold */
	struct published max_viewers; /* per session; 0: no limit */
	unsigned max_ended; /* ended streams per viewer; VIEWER_ENDED_MAX */
	/* Ended sessions that a viewer has streams of, counted for each viewer;
	 * and how many there may be. */
	unsigned n_ended_sessions, max_ended_sessions;
	uint64_t class_ns;     /* VIEWER_CLASS_NS; 0: do not wait for classes */
	bool has_to_be_closed; /* a viewer is to be closed */
	struct account memory; /* of the positions of all */
	uint64_t last_memory_log;
	uint64_t last_ended_log; /* when a lost stream was logged */
	struct published *ids;	 /* the last viewer id used; borrowed */
	struct stats *stats;	 /* of this live worker; of the process */
};

void viewers_init(struct viewers *vs, unsigned worker, bool holds_replies,
    unsigned max_viewers, struct published *ids);
/* From here on VS and its viewers belong to the calling thread. */
void viewers_begin(struct viewers *vs);
bool viewers_are_mine(const struct viewers *vs);
/* They belong to no thread now; the next one calls viewers_begin(). */
void viewers_end(struct viewers *vs);
/* All viewers must be destroyed before. */
void viewers_destroy(struct viewers *vs);

/* An event will be sent here. Called before it is sent, and before any later
 * event is published. Any thread. */
void viewers_note_sent(struct viewers *vs, enum live_event what);
/* Are events of published streams still on their way to this worker? */
bool viewers_are_behind(const struct viewers *vs);
/* Take in an event. TAKE_OBJECT is a reference that is taken over. On return
 * all viewers attached to its session know the event. */
void viewers_take_event(
    struct viewers *vs, enum live_event what, void *take_object);

/* Drop what has lingered long enough. Returns when to call it again (ns);
 * UINT64_MAX: nothing lingers. */
uint64_t viewers_end_lingering(struct viewers *vs, uint64_t now_ns);

/* A session that is listed, or NULL. */
struct live_session *viewers_find(const struct viewers *vs, uint64_t id);

/* If too many ended sessions are unread, mark one viewer for disconnection.
 * Call it again after that viewer is destroyed. */
void viewers_limit_sessions(struct viewers *vs);

/* Answer what I asks of VIEWERS, a struct viewers; for questions_answer(). */
void viewers_answer(void *viewers, struct info *i);

/* The order in which the sessions are listed, for a restart. They are listed
 * before it is read. Viewers follow: viewer_put_state(). Then what lingers at
 * the first live worker, which is listed again, and copied to the others. Last,
 * viewers learn of sessions and streams that ended since they were written; one
 * without memory for it is to be closed. */
void viewers_put_state(struct state_out *o, const struct viewers *vs);
enum status viewers_get_state(struct viewers *vs, struct state_in *in,
    const struct live_notifier *notifier) MUST_CHECK;
void viewers_put_lingering(struct state_out *o, const struct viewers *vs);
enum status viewers_get_lingering(struct viewers *vs, struct state_in *in,
    const struct live_notifier *notifier) MUST_CHECK;
void viewers_copy_lingering(struct viewers *to, const struct viewers *from);
void viewers_take_ends(struct viewers *vs);

#endif
