/* SPDX-License-Identifier: MIT */
/*
 * An ingest worker: a thread, its loop, its shard and its connections. The main
 * thread starts and stops it.
 */
#ifndef RELAYD_WORKER_H
#define RELAYD_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/net/loop.h"

struct control_config;
struct state_in;
struct state_out;
struct account;
struct shard_config;
struct store_config;
struct worker;
struct threads;

struct worker_config {
	const struct shard_config *shard;     /* copied */
	const struct store_config *store;     /* copied */
	const struct control_config *control; /* borrowed */
	uint64_t stall_ns;		      /* 0: CONN_STALL_NS */
	int udp_fd;			      /* taken; -1: no UDP */
	struct account *underway; /* bytes of forwarded datagrams; borrowed */
	struct loop *acceptor;	  /* gets SESSION_GONE and DATAGRAM */
};

/* The worker belongs to the calling thread until worker_run() starts its
 * thread. */
enum status worker_create(
    struct worker **out, const struct worker_config *config) MUST_CHECK;
enum status worker_run(struct worker *w) MUST_CHECK;

/* Its socket for UDP, borrowed; -1: none. Its connections. Not while the thread
 * runs. */
int worker_udp_fd(const struct worker *w);
unsigned worker_conns(const struct worker *w);
/* See acceptor_leave_files(). */
void worker_leave_files(struct worker *w);

/* The worker's loop, to post messages to. Any thread. */
struct loop *worker_loop(struct worker *w);

/* The threads of N workers, added to OUT. */
void workers_threads(
    struct worker *const *workers, unsigned n, struct threads *out);
/* Have all N loops ran a cycle since the last call? See loop_is_alive(). Main
 * thread. */
bool workers_are_alive(struct worker *const *workers, unsigned n);

/*
 * A restart (common/state.h), all on the main thread. freeze: the workers write
 * what they have read, or READS_ALL that has arrived, leave the disk as for a
 * stop (cycle_settle()), and their threads end; nothing is closed, and
 * worker_run() goes on. E_NOMEM: they run on. get_state: before worker_run();
 * PLACED is called for each session that is counted in the placement.
 */
enum status workers_freeze(
    struct worker *const *workers, unsigned n, bool reads_all) MUST_CHECK;
void worker_put_state(struct state_out *o, struct worker *w);
enum status worker_get_state(struct worker *w, struct state_in *in,
    void (*placed)(const struct placement_key *key, void *arg),
    void *arg) MUST_CHECK;

/* The worker reads and writes what has arrived and closes every connection.
 * Returns when its thread has ended. W may be NULL. */
void worker_stop(struct worker *w);
/* The same for N workers, in parallel. */
void workers_stop(struct worker *const *workers, unsigned n);

#endif
