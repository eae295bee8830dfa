/* SPDX-License-Identifier: MIT */
/* A file in memory, read only. It must not be cut short meanwhile. */
#ifndef TOOLS_CLIENT_MAPPED_H
#define TOOLS_CLIENT_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct mapped {
	const uint8_t *p; /* NULL: none, or an empty file */
	uint64_t n;
	bool has_fd;
	int fd;
};

/* E_NOENT: there is no such file. Otherwise E_IO, with errno; EINVAL: it is not
 * a regular file. IS_KEPT: keep the file open if its descriptor is below
 * MAPPED_FD_MAX and half of the soft limit: enough descriptors are left for
 * everything else. */
#define MAPPED_FD_MAX 512
enum status mapped_open(
    struct mapped *m, const char *path, bool is_kept) MUST_CHECK;
void mapped_close(struct mapped *m);

#endif
