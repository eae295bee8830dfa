/* SPDX-License-Identifier: MIT */
/*
 * A small file that says something while the daemon runs: its pid, a port.
 * It appears whole (written as PATH.tmp, then renamed), mode 0644 less the
 * umask, and is removed at the end unless somebody else replaced it.
 */
#ifndef RELAYD_PROCESS_RUNFILE_H
#define RELAYD_PROCESS_RUNFILE_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/compiler.h"
#include "common/status.h"

/* All zero: not written. */
struct runfile {
	char path[PATH_MAX];
	dev_t dev;
	ino_t ino;
};

/* VALUE in decimal and a newline. PATH may replace a regular file only. */
enum status runfile_write(
    struct runfile *f, const char *path, uint64_t value) MUST_CHECK;
void runfile_remove(struct runfile *f);

#endif
