/* SPDX-License-Identifier: MIT */
/*
 * A file that a library writes, which does not say whether that succeeded: it
 * writes to a pipe of ours, and a thread here writes to the file. One thread
 * calls this.
 */
#ifndef TOOLS_CAPTURE_OUTFILE_H
#define TOOLS_CAPTURE_OUTFILE_H

#include "common/compiler.h"
#include "common/status.h"

struct outfile;

/* Creates, or empties, the file; "-" is standard output. Not OK: errno. */
enum status outfile_create(struct outfile **out, const char *path) MUST_CHECK;
/* What the library opens for writing; lives as long as F. */
const char *outfile_path(const struct outfile *f);
/* The errno of the first failure; 0: none yet. */
int outfile_error(const struct outfile *f);
/* The library has closed its end: the rest is written. As outfile_error(). */
int outfile_finish(struct outfile *f) MUST_CHECK;
/* After outfile_finish(), or before the library opened it; NULL is fine. */
void outfile_destroy(struct outfile *f);

#endif
