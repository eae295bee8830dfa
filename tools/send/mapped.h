/* SPDX-License-Identifier: MIT */
/* A file in memory, read only. It must not be cut short meanwhile. */
#ifndef SEND_MAPPED_H
#define SEND_MAPPED_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct mapped {
	const uint8_t *p; /* NULL: none, or an empty file */
	uint64_t n;
};

/* E_NOENT: there is none of that name; else E_IO, with errno: EINVAL: it is no
 * regular file. */
enum status mapped_open(struct mapped *m, const char *path) MUST_CHECK;
void mapped_close(struct mapped *m);

#endif
