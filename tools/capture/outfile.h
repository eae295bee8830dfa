/* SPDX-License-Identifier: MIT */
/*
 * A file written by a library that does not report failures: the library writes
 * to a pipe, and a thread of ours from there to the file. One thread calls
 * these functions.
 */
#ifndef TOOLS_CAPTURE_OUTFILE_H
#define TOOLS_CAPTURE_OUTFILE_H

#include "common/compiler.h"
#include "common/status.h"

struct outfile;

/* Creates, or empties, the file; "-" is standard output. Not OK: errno. */
enum status outfile_create(struct outfile **out, const char *path) MUST_CHECK;
/* The path that the library opens for writing; lives as long as F. */
const char *outfile_path(const struct outfile *f);
/* The errno of the first failure; 0: none yet. */
int outfile_error(const struct outfile *f);
/* Call it when the library has closed its end: writes the rest. Returns as
 * outfile_error(). */
int outfile_finish(struct outfile *f) MUST_CHECK;
/* After outfile_finish(), or before the library opened it; NULL is fine. */
void outfile_destroy(struct outfile *f);

#endif
