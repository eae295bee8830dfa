/* SPDX-License-Identifier: MIT */
/*
 * What a worker does with its shard at the end of each cycle of its loop: the
 * work that endpoints left for all sessions and streams together. Sessions and
 * streams do not call these functions. The worker, its connections and tests
 * do, on the shard's thread. No libevent here.
 */
#ifndef RELAYD_RECORD_CYCLE_H
#define RELAYD_RECORD_CYCLE_H

#include <stdbool.h>
#include <stdint.h>

struct shard;

/* Commit what is ready. */
void cycle_commit(struct shard *sh);

/* Delete some files of deleted chunks, and free some memory of what has ended.
 * True: there is more. */
bool cycle_delete_some(struct shard *sh);

/* Do what is due. Returns when to call it again (ns of clock_now_ns();
 * UINT64_MAX: nothing waits). */
uint64_t cycle_tick(struct shard *sh, uint64_t now_ns);

/*
 * For a restart: commit everything, and leave the disk as for a stop, although
 * all sessions go on, in this process or in the next one. Records do not wait
 * for readers' locks, files are closed as the store does it for files that are
 * not used, and chunks are where they stay. Whole packets that wait are also in
 * their files, behind what counts there.
 */
void cycle_settle(struct shard *sh);

/* For an ordered shutdown, before shard_destroy(): end every session. NULL is
 * fine. */
void cycle_last(struct shard *sh);

#endif
