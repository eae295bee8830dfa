/* SPDX-License-Identifier: MIT */
/*
 * One thread's event loop and its inbox for messages of other threads: a
 * wait-free queue, with an eventfd that wakes the loop. The base takes no lock.
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

/* The pause between two reads of an inbox after loop_rest(): it saves nearly
 * all wake-ups when messages are many. */
#define LOOP_REST_NS (5 * NS_PER_MS)

struct conn;
struct event_base;

enum message_kind {
	MESSAGE_ADOPT,	  /* conn, which the loop's thread now owns */
	MESSAGE_STOP,	  /* finish and leave the loop */
	MESSAGE_FREEZE,	  /* leave the loop for a restart: close nothing */
	MESSAGE_DATAGRAM, /* object: a struct forwarded_datagram, malloc'd */
	MESSAGE_SESSION_GONE, /* to the acceptor: key */
	MESSAGE_VIEWER,	      /* to a live worker: object, a viewer_conn */
	MESSAGE_WAKE,	      /* to a live worker: object, only compared */
	MESSAGE_INFO,	  /* object: a struct info, a question or its answer */
	MESSAGE_EVENT,	  /* to HTTP: object, malloc'd */
	MESSAGE_SETTINGS, /* to HTTP, retention: object, malloc'd */
	MESSAGE_STORED,	  /* to the retention thread: a struct stored_note */
	MESSAGE_STORED_INFO, /* object: a struct stored_info, as INFO */
	MESSAGE_DRAIN,	     /* to HTTP: ask other threads nothing more */
};

/* The worker on which a session is counted, its peer's host and ids. */
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
	/* 1: MESSAGE_FREEZE was posted, and what is readable stays where it
	 * is, for the next process. */
	struct published leaves_input;
	bool wants_rest;   /* loop_rest() was called in this cycle */
	struct event rest; /* its end */
	struct event timer;
	uint64_t timer_at; /* ns; UINT64_MAX: not set */
	/* When the current cycle began, ns; 0: the loop waits. Read by the
	 * health socket. */
	struct published busy_since;
	struct published cycles; /* completed */
	uint64_t cycles_seen;	 /* by loop_is_alive() */
};

enum status loop_init(struct loop *l,
    void (*on_message)(struct message *m, void *arg), void *arg) MUST_CHECK;
/* Messages that are still in the inbox go to on_message first. */
void loop_destroy(struct loop *l);

/* One cycle: wait for events, serve them. */
void loop_run_cycle(struct loop *l);
/* Begin a cycle at AT at the latest. AT and NOW, the current time, are ns of
 * clock_now_ns(). Ignored if an earlier time is set, or if AT is UINT64_MAX. */
void loop_set_timer(struct loop *l, uint64_t at, uint64_t now);
/* From on_message or on_wake: read the inbox again only after LOOP_REST_NS, for
 * threads whose messages can wait, so that many of them cost one wake-up. */
void loop_rest(struct loop *l);
/* Cancels loop_rest() of the same cycle: a message cannot wait. */
void loop_cancel_rest(struct loop *l);
/* Has a cycle ended since the last call? Wakes the loop, so that an idle loop
 * counts as alive in the next call. Always the same thread. */
bool loop_is_alive(struct loop *l);
/* Mark the start of work in this cycle. Every callback calls this first. */
void loop_mark_busy(struct loop *l);

/* A message with all fields zero except its kind. Messages that must not fail
 * are allocated before they are needed. */
enum status message_create(
    struct message **out, enum message_kind kind) MUST_CHECK;
/* Any thread. TAKE_M was allocated with malloc(); the loop frees it. */
void loop_post(struct loop *l, struct message *take_m);
/* Any thread. Begin a cycle, which calls on_wake. */
void loop_wake(struct loop *l);

#endif
