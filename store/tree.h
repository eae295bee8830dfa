/* SPDX-License-Identifier: MIT */
/*
 * Everything below a directory: its size, or its removal, in steps. Only files
 * of traces are removed: metadata, .loss.jsonl, index files, a file that has an
 * index file or begins with the magic number of a CTF packet, and an empty file
 * beside metadata. Other files, links, FIFOs and sockets stay, with the
 * directories above them. Links are not followed and other file systems not
 * entered, and only one directory is open at a time, however deep the tree is.
 * What is moved out of the tree meanwhile stays. Linear in the number of files.
 * Any one thread, which may block.
 */
#ifndef STORE_TREE_H
#define STORE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct stat;

/* Directories of one tree; further ones are left. */
#define TREE_DIRS_MAX 1000000

struct tree;

/* The directory ROOT, borrowed. REMOVES: files and directories are removed,
 * except ROOT itself; otherwise they are counted. E_NOMEM. */
enum status tree_create(struct tree **out, int root, bool removes) MUST_CHECK;
/* Call MAY_GO for each directory below the root, open as FD, before its files
 * are read. False: it is in use, and the tree ends there. */
void tree_guard(struct tree *t, bool (*may_go)(void *arg, int fd), void *arg);
/* Call SEE for each file of the trace, in the directory DIR, a path below the
 * root. */
typedef void tree_see(
    void *arg, const char *dir, const char *name, const struct stat *sb);
void tree_watch(struct tree *t, tree_see *see, void *arg);
void tree_destroy(struct tree *t); /* NULL is fine */

/* Process about N more names. True: all is done, or a directory is in use. */
bool tree_step(struct tree *t, unsigned n) MUST_CHECK;

/* What was found so far. */
struct tree_found {
	uint64_t bytes;	    /* on the disk, by its blocks; counted or removed */
	uint64_t n_foreign; /* files that were left: not part of a trace */
	/* A folder of streams has no metadata: its packets cannot be read. */
	bool is_unreadable;
	bool has_losses; /* as a file of losses says (store/chunk.h) */
	/* The directory below the root that the guard keeps; NULL: none. */
	const char *used;
	bool is_left; /* something could not be removed, or was not seen */
};
const struct tree_found *tree_found(const struct tree *t);

#endif
