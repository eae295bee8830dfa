/* SPDX-License-Identifier: MIT */
/*
 * The directory of a session (streaming 5.2), claimed so that no other
 * session writes there: nothing that exists is ever truncated or mixed with
 * another session's files. The claim is a flock(2) on the directory, exclusive,
 * or shared among snapshot sessions; it ends with the process. Where
 * directories cannot be locked, a session other than a snapshot's gets a new
 * directory.
 *
 * One worker owns it: get and put are not for other threads.
 */
#ifndef STORE_SESSION_DIR_H
#define STORE_SESSION_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/relpath.h"
#include "common/status.h"
#include "store/journal.h"

struct folder_base;
struct output;
struct store;
struct stored_dir;

struct session_dir {
	unsigned refs;
	int fd;
	struct folder_base *base; /* has FD, for viewers; NULL: none has */
	struct relpath *wanted;	  /* below the output directory, as computed */
	struct relpath *path; /* the same, or with a suffix; NULL: the output
				 directory itself (peers before 2.11) */
	/* Claimed for a snapshot session: it may hold files of others. */
	bool is_shared;
	bool is_new; /* it was not there before */
	/* What session_dir_note() told; NULL: nothing. */
	struct stored_dir *stored;
	char *host, *session;
	/* Not used where each stream's family has a root. */
	struct journal_root journal_root;
	struct store *store;
	struct output *output; /* a reference */
	/* The directory made at the same path after this one was removed; a
	 * reference, or NULL. */
	struct session_dir *next;
};

/* How many suffixes are tried: -1 ... -999. */
#define SESSION_DIR_SUFFIX_MAX 999

/*
 * Make WANTED, or the first of WANTED-1, WANTED-2, ... that is new, or empty
 * and unclaimed. If an ancestor below the first component is a session's
 * directory (session_dir_is_taken()), the ancestor gets a suffix first. A
 * snapshot session also takes a directory with content: its chunks have names
 * of their own. E_IO, E_NOMEM, E_LIMIT (path too long, no suffix left).
 */
enum status session_dir_claim(struct session_dir **out, struct store *store,
    const struct relpath *wanted, bool is_snapshot) MUST_CHECK;

/*
 * *D is a reference. If somebody removed the directory, it is made again at its
 * path (with one more suffix, if that is taken by now). *D becomes a reference
 * to the new directory, which is the same for all callers. On failure, as
 * session_dir_claim()'s, *D is left as it was. Files that are open in the old
 * directory stay there.
 */
enum status session_dir_renew(struct session_dir **d) MUST_CHECK;

/* The output directory itself, for peers before 2.11. */
enum status session_dir_base(
    struct session_dir **out, struct store *store) MUST_CHECK;

/* Tell the store's listener that a session of this name has the directory. All
 * that use it count, until the last reference is gone and no viewer has a
 * folder in it. Once, after the claim; a directory that is made again is told
 * of by itself. */
void session_dir_note(
    struct session_dir *d, const char *host, const char *session);
/* N bytes more (less: N < 0) are in its files. */
void session_dir_count(struct session_dir *d, int64_t n);

/* The directory as viewers share it, borrowed. It stays open as long as one of
 * them has a folder in it; the claim ends before. E_NOMEM. */
enum status session_dir_share(
    struct session_dir *d, struct folder_base **out) MUST_CHECK;

/* The path below the output directory, for logs. */
static inline const char *
session_dir_text(const struct session_dir *d)
{
	return d->path == NULL ? "." : d->path->s;
}

/* Has a session claimed PATH? Nothing is locked for it, not even for an
 * instant: another worker that looks would take that for a claim. */
bool session_dir_is_locked(int base, const char *path);
/* FD was locked with flock(2), which claims a directory: let others see it. */
void session_dir_show_claim(int fd);
/*
 * Is the first N bytes of PATH a directory that is, or was, a session's? One
 * that a session has claimed is locked; kernel, ust and archives are what one
 * leaves behind. A session of snapshots that has ended has none of these.
 */
bool session_dir_is_taken(int base, const char *path, size_t n);
/* The same, but what a peer before 2.11 may have left does not count. */
bool session_dir_is_rotated(int base, const char *path, size_t n);

/* A name that the relay uses itself: archives, and what begins with a dot. */
bool session_dir_is_own_name(const char *name, size_t n);
/* Is PATH, or the host that it begins with, where the relay has files of its
 * own, its journals and notes? */
bool session_dir_is_relays(const char *path);

struct session_dir *session_dir_get(struct session_dir *d);
void session_dir_put(struct session_dir *d); /* NULL is fine */

/* Does another program, or another session, hold a lock on the directory FD? */
bool session_dir_has_lock(int fd);

#endif
