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
 * Set-uid or set-gid: who calls us must not choose paths. Variables that name
 * files are then not read.
 */
bool environment_is_secure(void);

/*
 * Fills what the command line left open, and run_dir. Values that make no
 * sense are warned about and ignored, as in lttng-relayd; E_REFUSED, with a
 * message: LTTNG_RELAYD_DISALLOW_CLEAR neither true nor false, or no absolute
 * home.
 */
enum status environment_apply(struct options *o) MUST_CHECK;

/* S, below the current directory if relative. E_REFUSED, with a message. */
enum status environment_path(char out[PATH_MAX], const char *s) MUST_CHECK;

#endif
