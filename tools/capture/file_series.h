/* SPDX-License-Identifier: MIT */
/*
 * The names of packet files, and when the next one begins, as with tcpdump's
 * options -C, -G and -W. With a time limit the name is for strftime(3). With a
 * limit of size the files have numbers: from 0, with as many digits as the last
 * one, if their count is limited, and then begin with 0 again; otherwise the
 * first has none.
 */
#ifndef TOOLS_CAPTURE_FILE_SERIES_H
#define TOOLS_CAPTURE_FILE_SERIES_H

#include <limits.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/rotation.h"

struct file_series {
	const char *name; /* borrowed */
	struct rotation rotation;
	unsigned count; /* files at most; 0: no limit */
	unsigned number, n_by_time;
	uint64_t first_ns; /* when the series began */
	char base[PATH_MAX], path[PATH_MAX];
};

static inline bool
file_series_rotates(const struct file_series *s)
{
	return s->rotation.max_bytes != 0 || s->rotation.max_ns != 0;
}

/* The first file, at NS of the wall clock: fills PATH. E_REFUSED: the name is
 * too long. */
enum status file_series_begin(struct file_series *s, uint64_t ns) MUST_CHECK;
/* Does the packet of time NS begin another file? A packet of a recorded file is
 * older than the series: it counts as its beginning. */
bool file_series_is_due(const struct file_series *s, uint64_t ns);
/* That file: fills PATH. E_STOPPED: there are as many as there may be. */
enum status file_series_next(struct file_series *s, uint64_t ns) MUST_CHECK;

#endif
