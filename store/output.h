/* SPDX-License-Identifier: MIT */
/*
 * The open output directory, with the journal of the streams open below it and
 * the reserve on its disk. Every user of the directory holds a reference. When
 * it is removed or replaced, the store opens the directory that is then at its
 * path; files open in the old one stay there.
 *
 * Owned by one worker, but output_open() may be called on any thread.
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

/* Open the directory PATH, which is absolute, and create it with its parents if
 * it is missing (streaming 5.1). Returns -1 if it cannot be created or is not
 * writable: see errno; the log says what to do. Any thread. */
int output_open(const char *path);
/* The same for the state directory (store/notes.h), which is writable only by
 * its owner. Nothing is logged. */
int output_open_state(const char *path);

/* OWNS_FD: FD is closed with the last reference, or on failure; otherwise it is
 * borrowed. CONFIG is for the journal. E_NOMEM. */
enum status output_create(struct output **out, int fd, bool owns_fd,
    const struct journal_config *config) MUST_CHECK;
struct output *output_get(struct output *o);
void output_put(struct output *o); /* NULL is fine */

/* Is PATH still this directory, with its journal? True also if that cannot be
 * checked now. */
bool output_is_at(const struct output *o, const char *path);

#endif
