/* SPDX-License-Identifier: MIT */
/*
 * The worker of each session: that of its siblings if they are known, else the
 * worker with the fewest sessions. Main thread only.
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

/* Choose KEY->worker and count the session there. Peers before 2.11 send no
 * ids, so all sessions of such a host share a worker, where those of one
 * tracing session find each other (relayd/record/old_root.h). */
enum status placement_claim(
    struct placement *p, struct placement_key *key) MUST_CHECK;
/* Count a session where it is already, after a restart. E_NOMEM. */
enum status placement_restore(
    struct placement *p, const struct placement_key *key) MUST_CHECK;
/* The session that was counted with KEY ended or was refused. */
void placement_release(struct placement *p, const struct placement_key *key);

/* The number of sessions of HOST. */
unsigned placement_of_host(struct placement *p, const struct peer_host *host);
/* The number of sessions on all workers. */
unsigned placement_sessions(const struct placement *p);

#endif
