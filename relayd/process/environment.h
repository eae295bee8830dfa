/* SPDX-License-Identifier: MIT */
/* The environment's part of struct options (streaming 6.3). */
#ifndef RELAYD_PROCESS_ENVIRONMENT_H
#define RELAYD_PROCESS_ENVIRONMENT_H

#include <limits.h>
#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

struct options;

/*
 * Is the program set-uid or set-gid? Then its caller must not choose paths, and
 * variables that name files are not read.
 */
bool environment_is_secure(void);

/*
 * Fills run_dir, and what no variable TRACEPULSE_* and not the command line
 * set. Bad values are ignored with a warning, as in lttng-relayd. E_REFUSED,
 * with a message: LTTNG_RELAYD_DISALLOW_CLEAR is neither true nor false, or the
 * home directory is needed and is not an absolute path.
 */
enum status environment_apply(struct options *o) MUST_CHECK;

/* From here on relative paths start at the current directory, also when the
 * daemon has gone to another. */
void environment_keep_directory(void);

/* S as an absolute path: a relative S is below the current directory.
 * E_REFUSED, with a message: it is too long, or that directory is unknown. */
enum status environment_path(char out[PATH_MAX], const char *s) MUST_CHECK;

#endif
