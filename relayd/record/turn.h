/* SPDX-License-Identifier: MIT */
/*
 * What a worker does with its shard at the end of each turn of its loop: what
 * endpoints left to do is done for all sessions and streams together. Stands on
 * top of the model, which does not know it. No libevent here: the edge calls in
 * (worker, desk, udp_port), tests do too. The shard's thread.
 */
#ifndef RELAYD_RECORD_TURN_H
#define RELAYD_RECORD_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct shard;

/* Commit what is ready. */
void turn_commit(struct shard *sh);

/* Delete some more files; true when there are more. */
bool turn_delete_some(struct shard *sh);

/* Timers: do what is due, and say when to come again (ns of clock_now_ns();
 * UINT64_MAX: nothing waits). */
uint64_t turn_tick(struct shard *sh, uint64_t now_ns);

/* The last one: ends every session as an ordered shutdown does. shard_destroy()
 * comes after it. NULL is fine. */
void turn_last(struct shard *sh);

#endif
