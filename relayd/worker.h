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

/* Starts the thread. */
enum status worker_start(
    struct worker **out, const struct worker_config *config) MUST_CHECK;

/* The worker's loop, to post messages to. Any thread. */
struct loop *worker_loop(struct worker *w);

/* The threads of N workers, added to OUT. */
void workers_threads(
    struct worker *const *workers, unsigned n, struct threads *out);
/* Have all N loops ran a cycle since the last call? See loop_is_alive(). Main
 * thread. */
bool workers_are_alive(struct worker *const *workers, unsigned n);

/* The worker reads and writes what has arrived and closes every connection.
 * Returns when its thread has ended. W may be NULL. */
void worker_stop(struct worker *w);
/* The same for N workers, in parallel. */
void workers_stop(struct worker *const *workers, unsigned n);

#endif
