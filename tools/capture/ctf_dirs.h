/* SPDX-License-Identifier: MIT */
/* The traces below a directory: where files called metadata are. */
#ifndef TOOLS_CAPTURE_CTF_DIRS_H
#define TOOLS_CAPTURE_CTF_DIRS_H

#include <stddef.h>

#include "common/compiler.h"
#include "common/status.h"

struct ctf_dirs {
	char **paths; /* absolute, in order */
	size_t n;
};

/* TOP and all below, without links. Not OK: errno, and DIRS is empty. */
enum status ctf_dirs_find(struct ctf_dirs *dirs, const char *top) MUST_CHECK;
void ctf_dirs_free(struct ctf_dirs *dirs);

#endif
