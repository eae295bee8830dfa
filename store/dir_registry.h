/* SPDX-License-Identifier: MIT */
/*
 * Which sessions own which directories below the output directories: one tree
 * in memory, keyed by path component, for all threads. It has the directories
 * that sessions of this process have claimed, and the finished ones that
 * retention has noted. Session directories never nest: while a path is claimed,
 * there is no other claim at it, above it or below it. Calls take time
 * proportional to the depth of the path and make no file system calls.
 *
 * The tree does not know what other programs do on the disk. The caller that
 * creates the directory of a claim checks that, and calls dir_claim_avoid() for
 * a name that is taken (session_dir.c).
 *
 * A call holds the tree for microseconds. A thread that finds the tree in use
 * by another thread gets E_LATER and asks again in its next cycle. Releasing a
 * claim always works. Retention, whose thread may block, and a session whose
 * directory was removed try until they have the tree.
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

/* Suffixes -1, -2, ... that are tried for one name before a random one is
 * used: each may cost the caller system calls. */
#define DIR_REGISTRY_SUFFIXES 4
/* Names of one component, random ones included, that may be taken on the disk:
 * more cannot be chance. */
#define DIR_REGISTRY_TRIES (2 * DIR_REGISTRY_SUFFIXES)
/* Directories of ended snapshot sessions that are remembered, so that the next
 * snapshot is added to them. The oldest is forgotten first; its next snapshot
 * gets a new directory. They take 10 MB with the longest paths, 0.5 MB with
 * usual ones. */
#define DIR_REGISTRY_SHARED_MAX 1000

struct dir_node;
struct dir_registry; /* [shared] */

/* One session's right to a directory. It belongs to one thread. */
struct dir_claim {
	struct dir_registry *registry;
	struct dir_id output;
	struct dir_node *node;
	struct relpath *path; /* the claimed one; owned */
	struct relpath *wanted;
	uint64_t sharers;
	/* Earlier sessions of the same sharers may have left files in the
	 * directory. */
	bool may_add;
	bool joins; /* a claim of the same sharers has the directory now */
	struct dir_id shared; /* the directory that MAY_ADD is true of */
	bool is_settled;      /* dir_claim_settled() was called */
	/* The first component of PATH, from 0 on, that belongs to a finished
	 * session unless somebody removed it; UINT_MAX: none. */
	unsigned finished_at;
	unsigned level, tries; /* of dir_claim_avoid() */
	struct dir_claim *next_released;
};

enum status dir_registry_create(struct dir_registry **out) MUST_CHECK;
void dir_registry_destroy(struct dir_registry *r); /* no claim is left */

/* Which path a claim may get. */
enum dir_claim_kind {
	DIR_CLAIM_BESIDE, /* a name beside it, if it is taken */
	DIR_CLAIM_EXACT,  /* this path only, unless a finished session has it */
	DIR_CLAIM_DELETE, /* this path only, to delete a finished session */
};

/*
 * Claim WANTED below the directory OUTPUT. DIR_CLAIM_BESIDE: components that
 * are, or lead into, a claimed directory get a suffix; for the other kinds they
 * are E_EXISTS. SHARERS, not 0, stands for a peer, host and session name:
 * claims of the same sharers share a directory (snapshot sessions); 0: it is
 * for one claim. E_LATER, E_NOMEM; E_LIMIT: the path would be too long.
 */
enum status dir_registry_claim(struct dir_claim **out, struct dir_registry *r,
    const struct dir_id *output, const struct relpath *wanted,
    enum dir_claim_kind kind, uint64_t sharers) MUST_CHECK;

/* Component N of the path, from 0 on, is taken on the disk: claim a path with
 * another name there. E_LATER, E_NOMEM, E_LIMIT leave the claim as it was. */
enum status dir_claim_avoid(struct dir_claim *c, unsigned n) MUST_CHECK;
/* The directory was created, or found free; it is ID. */
void dir_claim_settled(struct dir_claim *c, const struct dir_id *id);
void dir_claim_release(struct dir_claim *take_c); /* NULL is fine */

/*
 * For retention, which waits for the tree: add the node of a noted directory;
 * ENTRY is the note. E_NOMEM; E_EXISTS: another entry has the path.
 */
enum status dir_registry_enter(struct dir_node **out, struct dir_registry *r,
    const struct dir_id *output, const char *path, void *entry) MUST_CHECK;
void dir_registry_forget(struct dir_registry *r, struct dir_node *n);
/* The entry of PATH; NULL: none. */
void *dir_registry_find(
    struct dir_registry *r, const struct dir_id *output, const char *path);
/* The entry of the nearest directory above N that is noted; NULL: none. */
void *dir_node_above(const struct dir_node *n);

#endif
