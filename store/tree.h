/* SPDX-License-Identifier: MIT */
/*
 * All that is below a directory: how much room it takes, or its removal, in
 * steps. No link is followed, no other file system entered, and at any time one
 * descriptor is open, however deep the tree is. What somebody moves out of the
 * tree meanwhile stays. Linear in the number of files. Any one thread, which
 * may block.
 */
#ifndef STORE_TREE_H
#define STORE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* Directories of one tree; what lies below more is left. */
#define TREE_DIRS_MAX 1000000

struct tree;

/* The directory ROOT, borrowed. REMOVES: files and directories are removed,
 * but for ROOT itself; otherwise they are counted. E_NOMEM. */
enum status tree_create(struct tree **out, int root, bool removes) MUST_CHECK;
void tree_destroy(struct tree *t); /* NULL is fine */

/* Look at N more names, about. True: all is done. */
bool tree_step(struct tree *t, unsigned n) MUST_CHECK;

/* Bytes on the disk of what was seen so far, by its blocks. */
uint64_t tree_bytes(const struct tree *t);
/* Is something left that could not be removed, or was not seen? */
bool tree_is_left(const struct tree *t);

#endif
