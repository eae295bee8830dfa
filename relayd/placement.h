/* SPDX-License-Identifier: MIT */
/*
 * Which worker a session lives on: that of its siblings if they are known,
 * else the one with the fewest sessions. The lobby's own; main thread only.
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

/* Choose KEY->worker and count the session there. */
enum status placement_claim(
    struct placement *p, struct placement_key *key) MUST_CHECK;
/* That session is gone, or was refused. */
void placement_release(struct placement *p, const struct placement_key *key);

/* How many are counted, on all workers. */
unsigned placement_sessions(const struct placement *p);

#endif
