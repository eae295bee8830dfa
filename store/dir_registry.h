/* SPDX-License-Identifier: MIT */
/*
 * What all threads know of directories below the output directories: which of
 * them retention has noted, and which ones snapshot sessions share. Who has a
 * directory now is shown by its lock only (store/session_dir.h).
 *
 * A call holds one of the two maps for microseconds and makes no file system
 * calls. Only retention, whose thread may block, waits for the map of noted
 * directories; the list of shared ones is used once or twice by each snapshot
 * session.
 */
#ifndef STORE_DIR_REGISTRY_H
#define STORE_DIR_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/publish.h"
#include "common/relpath.h"
#include "common/status.h"
#include "store/dir.h"

/* Directories of ended snapshot sessions that are remembered, so that the next
 * snapshot is added to them. The oldest is forgotten first; its next snapshot
 * gets a new directory. They take 5 MB with the longest paths. */
#define DIR_REGISTRY_SHARED_MAX 1000

struct dir_registry; /* [shared] */

enum status dir_registry_create(struct dir_registry **out) MUST_CHECK;
void dir_registry_destroy(struct dir_registry *r); /* NULL is fine */

/*
 * For retention, which waits for the map: ENTRY is the note of the directory
 * PATH below the directory OUTPUT. E_NOMEM; E_EXISTS: another entry has the
 * path.
 */
enum status dir_registry_enter(struct dir_registry *r,
    const struct dir_id *output, const char *path, void *entry) MUST_CHECK;
void dir_registry_forget(
    struct dir_registry *r, const struct dir_id *output, const char *path);
/* The entry of PATH; NULL: none. */
void *dir_registry_find(
    struct dir_registry *r, const struct dir_id *output, const char *path);

/* For workers: E_EXISTS: PATH is noted. E_LATER: another thread has the map:
 * ask again in the next cycle. */
enum status dir_registry_check(struct dir_registry *r,
    const struct dir_id *output, const char *path) MUST_CHECK;

/* A directory of snapshot sessions. Its users are sessions that record now. */
struct shared_dir {
	struct list node;
	struct published users;
	struct dir_id output, id;
	uint64_t sharers, wanted; /* a peer, host and session; key of a path */
	char path[];		  /* below the output directory */
};

/* The directory that sessions of SHARERS got last when they wanted the path
 * WANTED; the caller becomes a user of it. *IS_USED: there were others. NULL:
 * none. */
struct shared_dir *dir_registry_share(struct dir_registry *r,
    const struct dir_id *output, const struct relpath *wanted, uint64_t sharers,
    bool *is_used);
/* The same for a directory that the caller has made. NULL: out of memory, so
 * others do not share it. */
struct shared_dir *dir_registry_remember(struct dir_registry *r,
    const struct dir_id *output, const struct relpath *wanted, uint64_t sharers,
    const struct relpath *path, const struct dir_id *id);
/* Another session has the directory ID now: nobody shares it. */
void dir_registry_unshare(struct dir_registry *r, const struct dir_id *id);
/* The caller is a user no longer. NULL is fine. */
void dir_registry_leave(struct shared_dir *d);

#endif
