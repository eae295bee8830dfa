/* SPDX-License-Identifier: MIT */
/*
 * The viewers of one live worker: what they have in common, and the only way in
 * which news reaches them. What they can see is in the registry. All of it
 * belongs to one live worker.
 */
#ifndef RELAYD_LIVE_VIEWERS_H
#define RELAYD_LIVE_VIEWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "relayd/live/live_objects.h"

struct registry;
struct published;
struct stats;
struct info;

struct viewers {
	struct list all; /* struct viewer, by node */
	struct registry *registry;
	uint64_t wake_bit;  /* this worker's bit in the logs' waiters */
	bool holds_replies; /* --live-hold */
	struct published max_viewers; /* per session; 0: any number */
	unsigned max_ended; /* ended streams per viewer; VIEWER_ENDED_MAX */
	/* Ended sessions that a viewer has streams of, counted for each viewer;
	 * and how many there may be. */
	unsigned n_ended_sessions, max_ended_sessions;
	uint64_t class_ns;     /* VIEWER_CLASS_NS; 0: do not wait for classes */
	bool has_to_be_closed; /* a viewer is to be closed */
	uint64_t memory;       /* of the positions of all */
	uint64_t max_memory;   /* VIEWER_POSITIONS_PART; UINT64_MAX: no limit */
	uint64_t last_memory_log;
	uint64_t last_ended_log; /* when a lost stream was logged */
	struct published *ids;	 /* the last viewer id given; borrowed */
	struct stats *stats;	 /* of this live worker; of the process */
};

void viewers_init(struct viewers *vs, struct registry *registry,
    uint64_t wake_bit, bool holds_replies, unsigned max_viewers,
    struct published *ids);

/* Too many ended sessions wait to be read: choose who is closed for it. One at
 * a time, so it is called again after that. */
void viewers_limit_sessions(struct viewers *vs);

/* Answer what I asks of viewers. */
void viewers_answer(const struct viewers *vs, struct info *i);

/* Hand one piece of news to the registry, then to the viewers. TAKE_OBJECT is a
 * reference that is taken over. On return all viewers attached to its session
 * know the news. */
void viewers_news(struct viewers *vs, enum live_news what, void *take_object);

#endif
