/* SPDX-License-Identifier: MIT */
/*
 * The journal of open streams: which files are being written and how long
 * their whole part is, so that a start after kill -9 can cut what was torn.
 *
 * One file per worker, `.tracepulse-journal.<16 hex digits>` in the output
 * directory, mapped shared: a commit stores two numbers and makes no system
 * call, and what was stored survives the process. It comes with the first trace
 * file that is opened and goes with the last one that is closed, at once: where
 * nothing is recorded there is none. It is locked with flock(2) while it is
 * there. Files are named by inode below a root (the session's directory), so
 * that moving a trace chunk needs no entry changed.
 *
 * Single owner, but journal_recover(), which is called before there are any.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/list.h"
#include "common/relpath.h"
#include "common/status.h"

struct journal;

/* BASE_FD is borrowed. */
enum status journal_create(struct journal **out, int base_fd) MUST_CHECK;
/* NULL is fine. */
void journal_destroy(struct journal *j);
/* It is there, and somebody removed the file. */
bool journal_is_gone(const struct journal *j);

/* What files are below: PATH, borrowed, is all that the owner sets. It has a
 * place in the journal while files of it have one. */
struct journal_root {
	const struct relpath *path;
	uint32_t slot;	  /* 0: none */
	uint32_t n_files; /* that have a slot */
};

/*
 * The owner's part of an entry, all zeros before journal_add_file() and after
 * journal_remove_file(), which takes zeros in silence. Adding cannot fail: what
 * finds no room (the disk is full) is remembered, a warning says so once, and
 * the journal is tried again with the next calls, but no more often than once
 * in JOURNAL_RETRY_NS. Meanwhile the relay records without it.
 */
struct journal_file {
	struct list node; /* of those that have no slot */
	struct journal_root *root;
	ino_t ino;
	uint64_t length;
	uint32_t slot;
};

#define JOURNAL_RETRY_NS (50 * NS_PER_MS)

/* ROOT is borrowed until the entry is removed. */
void journal_add_file(struct journal *j, struct journal_file *file,
    struct journal_root *root, ino_t ino);
/* Bytes up to LENGTH are whole; 0 after journal_add_file(). */
void journal_set_length(
    struct journal *j, struct journal_file *file, uint64_t length);
void journal_remove_file(struct journal *j, struct journal_file *file);

/*
 * Cut the torn tails that a killed relay left below BASE_FD, as its journals
 * say, and remove those. Journals of relays that live are left alone. Logs
 * one line per file cut. Returns the number of files cut.
 */
unsigned journal_recover(int base_fd);

#endif
