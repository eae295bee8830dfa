/* SPDX-License-Identifier: MIT */
/*
 * A small file that exists while the daemon runs, with its pid or a port. It
 * appears whole, as it is written to PATH.tmp and then renamed. Its mode is
 * 0644 less the umask. It is removed at the end unless somebody replaced it.
 */
#ifndef RELAYD_PROCESS_RUNFILE_H
#define RELAYD_PROCESS_RUNFILE_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/compiler.h"
#include "common/status.h"

/* If all is zero, no file was written. */
struct runfile {
	char path[PATH_MAX];
	dev_t dev;
	ino_t ino;
};

/* Writes VALUE in decimal and a newline. An existing PATH is replaced if it is
 * a regular file. Failures are logged. */
enum status runfile_write(
    struct runfile *f, const char *path, uint64_t value) MUST_CHECK;
void runfile_remove(struct runfile *f);

#endif
