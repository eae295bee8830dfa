/* SPDX-License-Identifier: MIT */
/*
 * The output directory, open, and the journal of the streams that are open
 * below it. Whoever has a place there holds a reference: when the directory is
 * removed or replaced, a store opens what stands at the path then, and what is
 * open in the one before stays there.
 *
 * A worker's own, but for output_open().
 */
#ifndef STORE_OUTPUT_H
#define STORE_OUTPUT_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

struct journal;

struct output {
	unsigned refs;
	int fd;
	bool owns_fd;
	struct journal *journal;
};

/* A descriptor of PATH, absolute; the directory is made, with its parents, if
 * it is not there (streaming 5.1). -1: it cannot be, or is not writable;
 * logged, with what to do; errno says why. Any thread. */
int output_open(const char *path);

/* OWNS_FD: FD is closed with the last reference, and now on failure; else it
 * is borrowed. E_NOMEM. */
enum status output_create(struct output **out, int fd, bool owns_fd) MUST_CHECK;
struct output *output_get(struct output *o);
void output_put(struct output *o); /* NULL is fine */

/* Is it still what PATH names, and its journal in it? What cannot be looked at
 * now counts as being there. */
bool output_is_at(const struct output *o, const char *path);

#endif
