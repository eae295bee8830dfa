/* SPDX-License-Identifier: MIT */
/*
 * What is finished is deleted, the oldest first, until --max-age, --max-use and
 * --keep-free hold. Only directories that the relay made and noted are, and
 * only when nobody uses them: no session, no viewer, no other relay. A
 * directory is opened below the output directory without following links, must
 * have the inode and the time of birth that were noted, is locked like a
 * session's, and renamed to a name with a dot before its files go, so that
 * readers see a trace whole, or not at all.
 *
 * It has a thread, which may block on the disk, and no sockets. All is done in
 * slices, with a pause behind each. Single owner.
 */
#ifndef RELAYD_RETENTION_RETENTION_H
#define RELAYD_RETENTION_RETENTION_H

#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"
#include "relayd/stats/stored_info.h"

/* How often the limits are looked at. */
#define RETENTION_TICK_NS (1 * NS_PER_S)
/* A slice of work, and the pause behind it: who records has the disk and the
 * processors for five sixths of the time, also while thousands of directories
 * go, and for half of it when there is hardly any room left. */
#define RETENTION_SLICE_NS (1 * NS_PER_MS)
#define RETENTION_PAUSE_NS (5 * NS_PER_MS)
#define RETENTION_SHORT_PAUSE_NS (NS_PER_MS / 2)
/* A directory that is in use, or cannot be removed, is tried again then. One
 * that contains a newer one: after the first pause, twice that, and so on up to
 * the second. */
#define RETENTION_BUSY_NS (10 * NS_PER_S)
#define RETENTION_RETRY_NS (600 * NS_PER_S)
/* File systems tell of room that was made with the next commit of their
 * journal, which takes 5 s at most. Until then it is taken for granted. */
#define RETENTION_SETTLE_NS (6 * NS_PER_S)
/* Entries of which it is looked in a second whether they are still there; for
 * --max-use all of them are, before anything goes, unless that was done
 * within RETENTION_FRESH_NS. */
#define RETENTION_LOOKS 100
#define RETENTION_FRESH_NS (60 * NS_PER_S)
/* How long who asks for a deletion waits for it, at most. */
#define RETENTION_WAIT_NS (8 * NS_PER_S)

/* What is noted may take this part of --max-memory, which is not less than the
 * second, 40,000 directories, and not more than the third, so that the file of
 * notes is read at each start. What comes then is not noted, and not deleted;
 * what a start finds in the file is. */
#define RETENTION_MEMORY_PART 8
#define RETENTION_MEMORY_MIN (UINT64_C(16) << 20)
#define RETENTION_MEMORY_MAX (UINT64_C(256) << 20)

struct dir_registry;
struct retention;
struct stored_note;

/* REGISTRY, and OUTPUT and STATE_DIR, paths of directories, are borrowed.
 * STATE_DIR is made if it is missing; without one that can be written nothing
 * is noted, and nothing deleted. MEMORY_MAX: bytes for what is noted. The first
 * turn reads the notes. E_NOMEM. */
enum status retention_create(struct retention **out,
    struct dir_registry *registry, const char *output, const char *state_dir,
    uint64_t memory_max) MUST_CHECK;
/* Notes what ended; what is being deleted is left to the next start. NULL is
 * fine. */
void retention_destroy(struct retention *r);

void retention_set_limits(
    struct retention *r, const struct retention_limits *limits);
/* A directory was made, or has ended. */
void retention_take(struct retention *r, struct stored_note *take_n);
/* Somebody asks; ANSWER is called with it, now or in a later turn, and then
 * owns it. */
void retention_ask(struct retention *r, struct stored_info *take_i);
void retention_on_answer(struct retention *r,
    void (*answer)(void *arg, struct stored_info *take_i), void *arg);
/* Look at the limits with the next turn. */
void retention_look_now(struct retention *r);

/* Do a slice of what is to be done. Returns when to call it again, in ns of
 * clock_now_ns(). */
uint64_t retention_turn(struct retention *r);

#endif
