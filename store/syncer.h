/* SPDX-License-Identifier: MIT */
/*
 * The thread of --sync=TIME. Four times in TIME it has all that was written in
 * the output directory on the disk. Journals then say which lengths that were:
 * a power cut costs what was written in the last TIME, and while the disk
 * synced. The thread may block as long as the disk does; no worker waits for
 * it, and it touches nothing of theirs.
 *
 * It syncs the whole file system of the output directory, syncfs(2): with the
 * bytes go the names and the renames, whatever their number. A directory that
 * takes its place on another file system is not synced, which is logged.
 */
#ifndef STORE_SYNCER_H
#define STORE_SYNCER_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct syncer;

/* BASE_FD is borrowed. E_NOMEM: also if the thread cannot be started. Logged.
 */
enum status syncer_start(
    struct syncer **out, int base_fd, uint64_t time_ns) MUST_CHECK;
/* Syncs once more. NULL is fine. */
void syncer_stop(struct syncer *s);

/* Have the next round at once, or as soon as HURRY_PAUSE_NS after the last. Any
 * thread. */
void syncer_request(struct syncer *s);

/* What is written now is on the disk when the round of this number is done. */
uint64_t syncer_round(const struct syncer *s);
/* The last round that is done. */
uint64_t syncer_done(const struct syncer *s);
/* Up to this round, one failed: of what waited for it, the kernel does not know
 * any more that it is not on the disk. A later round says nothing of it. Read
 * it after syncer_done(). */
uint64_t syncer_failed(const struct syncer *s);
/* Between two rounds. */
uint64_t syncer_pause_ns(const struct syncer *s);

#endif
