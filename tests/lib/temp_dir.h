/* SPDX-License-Identifier: MIT */
/* Where tests make their files: $TMPDIR, which "make check" sets. */
#ifndef TESTS_LIB_TEMP_DIR_H
#define TESTS_LIB_TEMP_DIR_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Make a directory whose name begins with NAME and write its path to PATH, of
 * SIZE bytes. Returns false when that fails. */
static inline bool
temp_dir(char *path, size_t size, const char *name)
{
	const char *parent = getenv("TMPDIR");

	(void)snprintf(
	    path, size, "%s/%s.XXXXXX", parent == NULL ? "/tmp" : parent, name);
	return mkdtemp(path) != NULL;
}

#endif
