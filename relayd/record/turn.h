/* SPDX-License-Identifier: MIT */
/*
 * What a worker does with its shard at the end of each turn of its loop: the
 * work that endpoints left is done for all sessions and streams together. The
 * model does not know these functions. No libevent here: the edge (worker,
 * desk, udp_port) and tests call them, on the shard's thread.
 */
#ifndef RELAYD_RECORD_TURN_H
#define RELAYD_RECORD_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct shard;

/* Commit what is ready. */
void turn_commit(struct shard *sh);

/* Delete some files of deleted chunks, and free some memory of what is over;
 * true when more is left. */
bool turn_delete_some(struct shard *sh);

/* Do what is due, and return when to call it again (ns of clock_now_ns();
 * UINT64_MAX: nothing waits). */
uint64_t turn_tick(struct shard *sh, uint64_t now_ns);

/* The last turn, for an ordered shutdown: end every session. Call it before
 * shard_destroy(). NULL is fine. */
void turn_last(struct shard *sh);

#endif
