/* SPDX-License-Identifier: MIT */
/*
 * One thread's event loop and its inbox: the door through which other threads
 * ask for something. Messages go through a wait-free queue; an eventfd wakes
 * the loop. The base takes no lock.
 */
#ifndef RELAYD_NET_LOOP_H
#define RELAYD_NET_LOOP_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <urcu/wfcqueue.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/status.h"
#include "proto/relay.h"
#include "relayd/net/peer_name.h"

/* An inbox that is looked at so seldom saves nearly all wake-ups when messages
 * are many, and nobody sees the delay. */
#define LOOP_REST_NS (5 * NS_PER_MS)

struct conn;
struct event_base;

enum message_kind {
	MESSAGE_ADOPT,	      /* conn, which is this loop's from now on */
	MESSAGE_STOP,	      /* finish what has begun, leave the loop */
	MESSAGE_DATAGRAM,     /* object: a struct udp_parcel, malloc'd */
	MESSAGE_SESSION_GONE, /* to the acceptor: key */
	MESSAGE_VIEWER,	      /* to a live worker: object, a viewer_conn */
	MESSAGE_WAKE,	      /* to a live worker: object, only compared */
	MESSAGE_INFO,	  /* object: a struct info, a question or its answer */
	MESSAGE_NEWS,	  /* to HTTP: object, malloc'd */
	MESSAGE_SETTINGS, /* to HTTP: object, malloc'd */
	MESSAGE_STORED,	  /* to the retention thread: a struct stored_note */
	MESSAGE_STORED_INFO, /* object: a struct stored_info, as INFO */
	MESSAGE_DRAIN, /* to HTTP: no other thread may be asked any more */
};

/* On which worker a session was counted, its peer's host and ids. */
struct placement_key {
	unsigned worker;
	struct peer_host host;
	bool has_peer_id;
	struct relay_uuid uuid;
	uint64_t peer_session;
};

struct message {
	struct cds_wfcq_node node;
	struct published is_ready; /* the queue's order, for ThreadSanitizer */
	enum message_kind kind;
	struct conn *conn;	  /* ADOPT: owned */
	struct placement_key key; /* ADOPT (control), SESSION_GONE */
	void *object;		  /* owned; WAKE: only compared */
};

struct loop {
	struct event_base *base;
	struct cds_wfcq_head inbox_head;
	struct cds_wfcq_tail inbox_tail;
	int inbox_fd;
	struct event inbox_event;
	void (*on_message)(struct message *m, void *arg); /* M is borrowed */
	/* Called before messages are taken, also after loop_wake(); may be
	 * NULL. */
	void (*on_wake)(void *arg);
	void *arg;
	bool is_stopping;
	bool wants_rest;   /* loop_rest() was called in this turn */
	struct event rest; /* its end */
	struct event timer;
	uint64_t timer_at; /* ns; UINT64_MAX: not set */
	/* When the current turn began, ns; 0: the loop waits. For the health
	 * socket. */
	struct published busy_since;
	struct published turns; /* that are over */
	uint64_t turns_seen;	/* by loop_has_turned() */
};

enum status loop_init(struct loop *l,
    void (*on_message)(struct message *m, void *arg), void *arg) MUST_CHECK;
/* Messages that are still in the inbox go to on_message first. */
void loop_destroy(struct loop *l);

/* One turn: wait for events, serve them. */
void loop_turn(struct loop *l);
/* Makes sure that a turn begins at AT at the latest. AT and NOW, the current
 * time, are ns of clock_now_ns(). A time later than the one that is set changes
 * nothing; UINT64_MAX: no turn is needed. */
void loop_set_timer(struct loop *l, uint64_t at, uint64_t now);
/* From on_message or on_wake: the inbox is looked at again only after
 * LOOP_REST_NS. For threads whose messages can wait: many of them cost one
 * wake-up. */
void loop_rest(struct loop *l);
/* One that cannot wait came in the same turn. */
void loop_rest_not(struct loop *l);
/* Has a turn ended since the last call? One is begun, so that an idle loop
 * answers the next call. Any one thread. */
bool loop_has_turned(struct loop *l);
/* The turn has work to do. Every callback calls this first. */
void loop_is_busy(struct loop *l);

/* A message that is all zeros but for its kind. What must arrive is allocated
 * before it is needed. */
enum status message_create(
    struct message **out, enum message_kind kind) MUST_CHECK;
/* Any thread. TAKE_M was allocated with malloc; the loop frees it. */
void loop_post(struct loop *l, struct message *take_m);
/* Any thread. A turn begins, and calls on_wake. */
void loop_wake(struct loop *l);

#endif
