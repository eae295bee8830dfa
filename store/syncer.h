/* SPDX-License-Identifier: MIT */
/*
 * The thread of --sync=TIME. Four times in TIME it syncs everything written in
 * the output directory. Journals then store the lengths that were synced: a
 * power cut loses what was written in the last TIME and while the disk was
 * syncing. The thread may block as long as the disk does: no worker waits for
 * it, and it shares no data with them.
 *
 * It syncs the whole file system of the output directory with syncfs(2), which
 * includes names and renames. If the output directory is replaced by one on
 * another file system, that one is not synced, which is logged.
 */
#ifndef STORE_SYNCER_H
#define STORE_SYNCER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/status.h"

struct syncer {
	pthread_t thread;
	bool has_thread;
	int base_fd, stop_fd, request_fd; /* eventfds: to end, to sync now */
	uint64_t pause_ns;		  /* between two rounds */
	uint64_t last_error_log, errors;
	/* The numbers of the last rounds: what is written now is synced after
	 * the round that follows BEGUN. What waited for a round that FAILED
	 * may never reach the disk, and no later round reports it: read that
	 * after DONE. */
	struct published begun, done, failed;
};

/* BASE_FD is borrowed. E_NOMEM, logged. */
enum status syncer_create(
    struct syncer **out, int base_fd, uint64_t time_ns) MUST_CHECK;
/* Start its thread, once. E_NOMEM, logged. */
enum status syncer_start(struct syncer *s) MUST_CHECK;
/* Syncs a last time, if the thread was started. NULL is fine. */
void syncer_stop(struct syncer *s);

/* Request the next round now, or REQUEST_PAUSE_NS after the last one. Any
 * thread. */
void syncer_request(struct syncer *s);

#endif
