/* SPDX-License-Identifier: MIT */
/*
 * The live workers: threads that serve viewers and do not record, and the
 * notifier by which ingest workers tell them what viewers can see. The main
 * thread starts and stops them.
 */
#ifndef RELAYD_LIVE_WORKER_H
#define RELAYD_LIVE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct live_notifier;
struct live_pool;
struct threads;
struct sockaddr;

struct live_config {
	unsigned n_workers;   /* 1 to LIVE_WORKERS_MAX (options.h) */
	bool holds_replies;   /* --live-hold */
	unsigned max_viewers; /* per session; 0: no limit */
	unsigned max_conns;   /* more viewers are turned away */
	unsigned max_ended;   /* of each viewer: VIEWER_ENDED_MAX or less */
	uint64_t stall_ns;    /* 0: VIEWER_STALL_NS */
	uint64_t max_memory;  /* VIEWER_UNSENT_PART of it is for replies */
};

enum status live_pool_start(
    struct live_pool **out, const struct live_config *config) MUST_CHECK;
/* For ingest workers, which must be stopped before the pool. */
struct live_notifier *live_pool_notifier(struct live_pool *p);
/* A viewer has connected; takes FD. Main thread. */
void live_pool_adopt(
    struct live_pool *p, int take_fd, const struct sockaddr *peer);
/* Has every worker's loop run since the last call? (loop_is_alive()) Main
 * thread. */
bool live_pool_is_alive(struct live_pool *p);
/* Viewers that are connected. Any thread. */
uint64_t live_pool_viewers(const struct live_pool *p);
/* Set the most viewers of one session. Viewers that are attached already stay.
 * Any thread. */
void live_pool_set_max_viewers(struct live_pool *p, unsigned n);
/* Its threads, added to OUT. */
void live_pool_threads(struct live_pool *p, struct threads *out);
/* Closes all viewers, joins the threads. NULL is fine. */
void live_pool_stop(struct live_pool *p);

#endif
