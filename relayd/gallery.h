/* SPDX-License-Identifier: MIT */
/*
 * What one live worker knows: the sessions that are recorded, their published
 * streams, and its viewers. Kept by the news of the ingest workers, which come
 * in the order of events; nothing here is shared.
 */
#ifndef RELAYD_GALLERY_H
#define RELAYD_GALLERY_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/publish.h"
#include "relayd/catalog.h"
#include "relayd/open_files.h"

struct gallery_stream {
	struct list node;
	struct live_stream *stream;
};

struct gallery_session {
	struct list node;
	struct live_session *session;
	struct list streams; /* published and open */
};

struct gallery {
	struct list sessions;
	struct list viewers; /* struct viewer, by node */
	struct open_files files;
	uint64_t wake_bit;    /* of this live worker in the logs' waiters */
	bool holds_replies;   /* --live-hold */
	unsigned max_viewers; /* per session; 0: any number */
	struct published *viewer_ids; /* the last one given; borrowed */
};

void gallery_init(struct gallery *g, uint64_t wake_bit, bool holds_replies,
    unsigned max_viewers, struct published *viewer_ids);
/* Viewers are gone by then. */
void gallery_destroy(struct gallery *g);

/* One piece of news; TAKE_OBJECT is a reference that moves in. Viewers
 * attached to its session have learnt of it on return. */
void gallery_news(struct gallery *g, enum live_news what, void *take_object);

struct gallery_session *gallery_find(const struct gallery *g, uint64_t id);

#endif
