/* SPDX-License-Identifier: MIT */
/* What tracepulse-ftrace flush reads. One thread. */
#ifndef TOOLS_FTRACE_FLUSH_H
#define TOOLS_FTRACE_FLUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"

/* Reads less than SIZE bytes of a file. False: errno; OUT is "". */
bool flush_read_text(const char *path, char *out, size_t size) MUST_CHECK;

/* The events in a CPU's file "stats". */
struct flush_stats {
	uint64_t waiting; /* in the ring buffer */
	uint64_t gone;	  /* read or overwritten */
};

/* TEXT is NUL-terminated. False: it is not in the kernel's format. */
bool flush_stats_parse(const char *text, struct flush_stats *out) MUST_CHECK;

#endif
