/* SPDX-License-Identifier: MIT */
/*
 * What one live worker's viewers can see: the sessions that are recorded, their
 * published streams, and the tracefiles that are open for them. Kept by the
 * news of the ingest workers, which come in the order of events; nothing here
 * is shared. Who looks at it is not known here (relayd/live/viewers.h).
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
	/* Streams published: how many were told, and how many are known here.
	 * A viewer must hear of a stream before it is given a time beyond its
	 * beginning (live 4.6), and packets and beacons need no message. */
	struct published told; /* any thread */
	uint64_t known;
	pthread_t thread; /* all but told is that one's own */
	bool has_thread;
};

void registry_init(struct registry *g);
/* From here on it is the calling thread's, and so are its viewers: what follows
 * may be called by no other, but where it says so. Asserted. */
void registry_begin(struct registry *g);
bool registry_is_mine(const struct registry *g);
/* Viewers are gone by then. */
void registry_destroy(struct registry *g);

/* A piece of news is on its way here, or (UNTOLD) could not be sent after all.
 * Before it is posted, and before whatever follows it is published; any
 * thread. */
void registry_told(struct registry *g, enum live_news what);
void registry_untold(struct registry *g, enum live_news what);
/* Are published streams on their way that viewers here do not know? */
bool registry_is_behind(const struct registry *g);

/* One piece of news, before the viewers hear of it. OBJECT is borrowed; what
 * stays here has a reference of its own. */
void registry_news(struct registry *g, enum live_news what, void *object);

struct registry_session *registry_find(const struct registry *g, uint64_t id);

#endif
