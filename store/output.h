/* SPDX-License-Identifier: MIT */
/*
 * The output directory, open, the journal of the streams that are open below
 * it, and the room on its disk. Every user of the directory holds a reference.
 * When the directory is removed or replaced, the store opens the directory that
 * is at the path then; files that are open in the old one stay there.
 *
 * One worker owns it; only output_open() is for any thread.
 */
#ifndef STORE_OUTPUT_H
#define STORE_OUTPUT_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"
#include "store/dir.h"
#include "store/reserve.h"

struct journal;
struct journal_config;

struct output {
	unsigned refs;
	int fd;
	bool owns_fd;
	struct dir_id id;
	struct journal *journal;
	struct reserve reserve;
};

/* A descriptor of the directory PATH, which is absolute; it is made, with its
 * parents, if it is not there (streaming 5.1). -1: it cannot be made or is not
 * writable; errno says why, and the log says what to do. Any thread. */
int output_open(const char *path);
/* The same for the state directory (store/notes.h), which only its owner writes
 * to. -1: errno says why; nothing is logged. */
int output_open_state(const char *path);

/* OWNS_FD: FD is closed with the last reference, or now on failure. Otherwise
 * FD is borrowed. CONFIG is the journal's. E_NOMEM. */
enum status output_create(struct output **out, int fd, bool owns_fd,
    const struct journal_config *config) MUST_CHECK;
struct output *output_get(struct output *o);
void output_put(struct output *o); /* NULL is fine */

/* Does PATH still name this directory, and is its journal still there? True
 * also when that cannot be found out now. */
bool output_is_at(const struct output *o, const char *path);

#endif
