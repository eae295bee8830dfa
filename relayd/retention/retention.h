/* SPDX-License-Identifier: MIT */
/*
 * Retention deletes finished traces, the oldest first, until --max-age,
 * --max-use and --keep-free hold. It deletes only directories that the relay
 * created and noted, and only while no session, viewer or other relay uses
 * them. A directory is opened below the output directory without following
 * links, must have the noted inode and time of birth, is locked like a
 * session's, and gets a name with a dot before its files are removed, so that
 * readers see a whole trace or none.
 *
 * It runs in a thread of its own, which may block on the disk and has no
 * sockets. It works in slices and pauses after each. Single owner.
 */
#ifndef RELAYD_RETENTION_RETENTION_H
#define RELAYD_RETENTION_RETENTION_H

#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"
#include "relayd/stats/stored_info.h"

/* How often the limits are checked. */
#define RETENTION_TICK_NS (1 * NS_PER_S)
/* A slice of work, and the pause after it: recording has the disk and the
 * processors for five sixths of the time, even while thousands of directories
 * are deleted, and for half of it when the disk is nearly full. */
#define RETENTION_SLICE_NS (1 * NS_PER_MS)
#define RETENTION_PAUSE_NS (5 * NS_PER_MS)
#define RETENTION_SHORT_PAUSE_NS (NS_PER_MS / 2)
/* A directory that is in use, or cannot be removed, is tried again then. One
 * that contains a newer one: after the first pause, twice that, and so on up to
 * the second. */
#define RETENTION_BUSY_NS (10 * NS_PER_S)
#define RETENTION_RETRY_NS (600 * NS_PER_S)
/* File systems report freed space with the next commit of their journal, after
 * at most 5 s. Until then the space counts as free. */
#define RETENTION_SETTLE_NS (6 * NS_PER_S)
/* Entries to check for existence in one second. For --max-use all of them are
 * checked before anything is deleted, unless that was done within
 * RETENTION_FRESH_NS. */
#define RETENTION_CHECKS 100
#define RETENTION_FRESH_NS (60 * NS_PER_S)
/* How long a request for a deletion waits for its end. */
#define RETENTION_WAIT_NS (8 * NS_PER_S)

/* Notes may take this part of --max-memory, at least the second (40,000
 * directories) and at most the third, as each start reads the file of notes.
 * Further directories are not noted, and so never deleted; a start keeps all
 * that are in the file. */
#define RETENTION_MEMORY_PART 8
#define RETENTION_MEMORY_MIN (UINT64_C(16) << 20)
#define RETENTION_MEMORY_MAX (UINT64_C(256) << 20)

struct dir_registry;
struct retention;
struct stored_note;

/* REGISTRY, and OUTPUT and STATE_DIR, paths of directories, are borrowed.
 * STATE_DIR is created if it is missing; if it cannot be written, nothing is
 * noted or deleted. MEMORY_MAX: bytes for what is noted. ANSWER is called with
 * requests that are answered, and owns them. The first step reads the notes.
 * E_NOMEM. */
enum status retention_create(struct retention **out,
    struct dir_registry *registry, const char *output, const char *state_dir,
    uint64_t memory_max, void (*answer)(struct stored_info *take_i)) MUST_CHECK;
/* Writes the ends of traces to the notes. The next start finishes a deletion
 * that is in progress. NULL is fine. */
void retention_destroy(struct retention *r);

void retention_set_limits(
    struct retention *r, const struct retention_limits *limits);
/* A directory was created, or has ended. */
void retention_take(struct retention *r, struct stored_note *take_n);
/* A request, which is answered in this step or a later one. */
void retention_ask(struct retention *r, struct stored_info *take_i);

/* Do a slice of the pending work. Returns when to call it again, in ns of
 * clock_now_ns(). */
uint64_t retention_step(struct retention *r);

#endif
