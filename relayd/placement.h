/* SPDX-License-Identifier: MIT */
/*
 * Which worker a session lives on: its siblings' worker if they are known, else
 * the worker with the fewest sessions. It belongs to the acceptor; main thread
 * only.
 */
#ifndef RELAYD_PLACEMENT_H
#define RELAYD_PLACEMENT_H

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/net/loop.h"

struct placement;

enum status placement_create(
    struct placement **out, unsigned n_workers) MUST_CHECK;
void placement_destroy(struct placement *p); /* NULL is fine */

/* Choose KEY->worker and count the session there. Sessions of peers
 * before 2.11, which tell no ids, are on one worker for each host: those of one
 * tracing session must meet (relayd/record/old_root.h). */
enum status placement_claim(
    struct placement *p, struct placement_key *key) MUST_CHECK;
/* The session that was counted with KEY is gone, or was refused. */
void placement_release(struct placement *p, const struct placement_key *key);

/* How many sessions are counted of KEY's host. */
unsigned placement_of_host(struct placement *p, const struct peer_host *host);
/* How many sessions are counted on all workers. */
unsigned placement_sessions(const struct placement *p);

#endif
