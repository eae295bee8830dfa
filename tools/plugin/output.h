/* SPDX-License-Identifier: MIT */
/* Where a sink writes: a file, or standard output. Errors are those of errno.
 */
#ifndef TOOLS_PLUGIN_OUTPUT_H
#define TOOLS_PLUGIN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens PATH for writing, makes it empty; NULL or "-" is standard output. -1:
 * errno says why.
 */
int output_open(const char *path);

/*
 * Writes all LEN bytes, waiting for a slow reader. A reader that is gone is
 * what it is for the program: SIGPIPE, or EPIPE if it ignores that.
 */
bool output_write(int fd, const char *bytes, size_t len);

/* Closes it, unless it is standard output; an error of delayed writing. */
bool output_close(int fd);

#endif
