/* SPDX-License-Identifier: MIT */
/*
 * What one live worker's viewers can see: the sessions that are recorded, their
 * published streams, and the tracefiles that are open for them. News of the
 * ingest workers, which come in the order of events, keep it up to date. Only
 * `told` is shared between threads. The registry does not know the viewers
 * (relayd/live/viewers.h).
 */
#ifndef RELAYD_LIVE_REGISTRY_H
#define RELAYD_LIVE_REGISTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/idmap.h"
#include "common/list.h"
#include "common/publish.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"

struct registry_stream {
	struct list node;
	struct live_stream *stream;
};

struct registry_session {
	struct list node;
	struct live_session *session;
	struct list streams; /* published and open */
};

struct registry {
	struct list sessions; /* in the order of listings */
	struct idmap sessions_by_id, streams_by_id;
	struct open_files files;
	/* Numbers of published streams: how many were sent here as news, and
	 * how many have arrived. A viewer must hear of a stream before it is
	 * given a time beyond the stream's beginning (live 4.6), but packets
	 * and beacons reach it without a message. */
	struct published told; /* any thread */
	uint64_t known;
	pthread_t thread; /* only this thread uses the rest */
	bool has_thread;
};

void registry_init(struct registry *g);
/* From here on the registry and its viewers belong to the calling thread. No
 * other thread may call the functions below, except where their comment says
 * so; this is asserted. */
void registry_begin(struct registry *g);
bool registry_is_mine(const struct registry *g);
/* All viewers must be destroyed before. */
void registry_destroy(struct registry *g);

/* A piece of news will be sent here. Called before it is sent, and before any
 * later event is published. Any thread. */
void registry_told(struct registry *g, enum live_news what);
/* Are there published streams whose news is still on its way to this worker? */
bool registry_is_behind(const struct registry *g);

/* Take in one piece of news, before the viewers hear of it. OBJECT is borrowed;
 * the registry takes a reference on what it keeps. */
void registry_news(struct registry *g, enum live_news what, void *object);

struct registry_session *registry_find(const struct registry *g, uint64_t id);

#endif
