/* SPDX-License-Identifier: MIT */
/*
 * One viewer of the load: a connection to the viewer port as a machine that
 * never blocks, with one request under way at a time (live 1.1). It attaches to
 * its session and takes the packets of all streams in turn.
 */
#ifndef TESTS_BENCH_WATCHER_H
#define TESTS_BENCH_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "proto/live.h"
#include "tests/bench/view.h"

#define VIEWER_MINOR 4 /* what stock viewers announce */

/* A data stream as this viewer sees it. */
struct watched {
	uint64_t id;	/* 0: not announced yet */
	uint64_t next;	/* number of the packet that comes next */
	bool is_placed; /* NEXT is known */
};

struct watcher {
	const struct view_options *options;
	struct view_result *result;
	unsigned number, session; /* of the shape */
	int fd, epoll;
	bool is_attached, is_done;
	uint32_t asked; /* enum live_cmd, of the request under way; 0: none */
	uint64_t asked_ns,
	    wake_ns; /* WAKE: asks again then; 0: does not wait */
	bool is_stalled;
	uint64_t last_ns;  /* when the last packet was there; 0: not yet */
	uint64_t begin_ns; /* spent on VIEW_BEGIN */
	struct buf in;
	uint64_t session_id, metadata_id;
	bool has_metadata;
	struct watched *streams;
	unsigned n_known;  /* streams that were announced */
	unsigned at;	   /* the stream that is asked now */
	uint64_t position; /* of its packet, bytes in the tracefile */
	uint32_t taken;	   /* bytes of that packet */
};

/* Connects; epoll events carry W. */
void watcher_start(struct watcher *w, const struct view_options *o,
    struct view_result *r, unsigned number, int epoll);
void watcher_readable(struct watcher *w);
/* Time has passed. */
void watcher_tick(struct watcher *w, uint64_t now_ns);
void watcher_stop(struct watcher *w);

/* For watcher_reply.c. */
void watcher_ask(struct watcher *w, struct live_request q);
void watcher_ask_next(struct watcher *w); /* what comes after a reply */
void watcher_wait(struct watcher *w, unsigned ms);
/* All of the current packet that was not asked yet, at most a piece. */
void watcher_ask_packet(struct watcher *w);

/* Is the reply in w->in whole? Then it is taken, and the next is asked. */
void watcher_take_replies(struct watcher *w);

#endif
