/* SPDX-License-Identifier: MIT */
/*
 * The viewers of one live worker: what they have in common, and the one way in
 * which news reaches them. Who looks; what there is to see is in the registry.
 * One live worker's own.
 */
#ifndef RELAYD_LIVE_VIEWERS_H
#define RELAYD_LIVE_VIEWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "relayd/live/live_objects.h"

struct registry;
struct published;

struct viewers {
	struct list all; /* struct viewer, by node */
	struct registry *registry;
	uint64_t wake_bit;    /* of this live worker in the logs' waiters */
	bool holds_replies;   /* --live-hold */
	unsigned max_viewers; /* per session; 0: any number */
	unsigned max_ended;   /* of each viewer; VIEWER_ENDED_MAX */
	uint64_t class_ns;    /* VIEWER_CLASS_NS; 0: no class is waited for */
	bool has_overdue;     /* a viewer is to be closed */
	uint64_t last_ended_log; /* when one was said to have lost a stream */
	struct published *ids;	 /* the last viewer id given; borrowed */
};

void viewers_init(struct viewers *vs, struct registry *registry,
    uint64_t wake_bit, bool holds_replies, unsigned max_viewers,
    struct published *ids);

/* One piece of news; TAKE_OBJECT is a reference that moves in. First the
 * registry, then the viewers: on return those attached to its session have
 * learnt of it. */
void viewers_news(struct viewers *vs, enum live_news what, void *take_object);

#endif
