/* SPDX-License-Identifier: MIT */
/*
 * How full a ring buffer of this machine must be before its recorder gets
 * anything (the file buffer_percent of tracefs): with 0 each full page leaves
 * at once. SIGUSR2 moves one page, so without this a busy CPU would fall
 * behind. One thread.
 */
#ifndef TOOLS_FTRACE_FLUSH_PERCENT_H
#define TOOLS_FTRACE_FLUSH_PERCENT_H

#include "common/compiler.h"
#include "common/status.h"

/* Buffers: the main one, and instances. More are left as they are. */
#define FLUSH_BUFFERS_MAX 64

struct flush_percent {
	struct flush_buffer {
		char path[320];
		char before[16];
	} buffers[FLUSH_BUFFERS_MAX];
	unsigned n;
};

/* Make it 0 for each buffer that there is now and was not before. E_IO, with
 * errno: the main one's cannot be changed. */
enum status flush_percent_set(struct flush_percent *p) MUST_CHECK;
/* As it was, where nobody has changed it meanwhile. */
void flush_percent_restore(struct flush_percent *p);

#endif
