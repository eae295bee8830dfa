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
 * Is the program set-uid or set-gid? Then the caller must not choose paths, and
 * variables that name files are ignored.
 */
bool environment_is_secure(void);

/* Is the variable NAME the process id of this process? Programs that a service
 * starts inherit its variables, which are not meant for them. */
bool environment_names_us(const char *name);

/*
 * Fill what no option sets, and the directories that none has set. Invalid
 * values are ignored with a warning, as in lttng-relayd. E_REFUSED, logged: the
 * home directory is required and not an absolute path.
 */
enum status environment_apply(struct options *o) MUST_CHECK;

/* Remember the current directory for relative paths, as the daemon may change
 * to another. */
void environment_keep_directory(void);

/* Make S absolute: a relative S is below the remembered directory. E_REFUSED,
 * logged: it is too long, or that directory is unknown. */
enum status environment_path(char out[PATH_MAX], const char *s) MUST_CHECK;

#endif
