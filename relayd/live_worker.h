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
struct state_in;
struct state_out;

struct live_config {
	unsigned n_workers;   /* 1 to LIVE_WORKERS_MAX (options.h) */
	bool holds_replies;   /* --live-hold */
	unsigned max_viewers; /* per session; 0: no limit */
	unsigned max_conns;   /* more viewers are turned away */
	unsigned max_ended;   /* of each viewer: VIEWER_ENDED_MAX or less */
	uint64_t linger_ns;   /* --live-linger; 0: nothing lingers */
	uint64_t stall_ns;    /* 0: VIEWER_STALL_NS */
	uint64_t max_memory;  /* VIEWER_UNSENT_PART of it is for replies */
};

/* The workers, which are the calling thread's, on which RCU must be registered
 * if a state is restored; no thread runs yet. */
enum status live_pool_create(
    struct live_pool **out, const struct live_config *config) MUST_CHECK;
/* Start the threads: at first, after live_pool_get_state() and
 * state_in_free(), or again after live_pool_freeze(). E_NOMEM: some threads
 * run; the pool must be stopped. */
enum status live_pool_run(struct live_pool *p) MUST_CHECK;
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
/* Closes all viewers, joins the threads, if they run. NULL is fine. */
void live_pool_stop(struct live_pool *p);

/*
 * A restart (common/state.h), all on the main thread.
 * freeze: end the threads and close nothing. The workers belong to the calling
 * thread, a registered RCU thread, until live_pool_run(): what ingest workers
 * posted, which end before, is taken in. E_NOMEM: the threads run on.
 * put_ids: the last ids used, before any object is written.
 * put_state: viewers, after all ingest workers.
 * drain: take in all events of restored objects; before get_state.
 * get_state: a viewer that cannot be read is closed, with a line in the log;
 * *TAKEN, *CLOSED: the numbers. E_MALFORMED, E_NOMEM: the rest cannot be read.
 */
enum status live_pool_freeze(struct live_pool *p) MUST_CHECK;
void live_pool_put_ids(struct state_out *o, const struct live_pool *p);
enum status live_pool_get_ids(
    struct live_pool *p, struct state_in *in) MUST_CHECK;
void live_pool_put_state(struct state_out *o, struct live_pool *p);
void live_pool_drain(struct live_pool *p);
enum status live_pool_get_state(struct live_pool *p, struct state_in *in,
    unsigned *taken, unsigned *closed) MUST_CHECK;

#endif
