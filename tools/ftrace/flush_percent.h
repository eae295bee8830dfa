/* SPDX-License-Identifier: MIT */
/*
 * How full a ring buffer of this machine must be before its recorder gets
 * anything (the file buffer_percent of tracefs). SIGUSR2 moves one page, so a
 * busy CPU would fall behind if it had to be half full. With 0, or whatever is
 * less than two pages, the recorder of a CPU ends sooner or later: it was told
 * that there is something, the signal takes that away, and it takes "nothing"
 * for the end (trace-cmd 3.1.6). One thread.
 */
#ifndef TOOLS_FTRACE_FLUSH_PERCENT_H
#define TOOLS_FTRACE_FLUSH_PERCENT_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* Buffers: the main one, and instances. More are left as they are. */
#define FLUSH_BUFFERS_MAX 64

/* Full pages in a CPU's ring buffer that make its recorder take them. */
#define FLUSH_PAGES 3

struct flush_percent {
	const char *tracefs; /* borrowed; NULL: where it is mounted */
	struct flush_buffer {
		char path[320];
		char before[16]; /* what others have set */
		char ours[16];	 /* "": not written yet */
	} buffers[FLUSH_BUFFERS_MAX];
	unsigned n;
};

/* What is FLUSH_PAGES in a buffer of so many pages, or a little more; 0: it is
 * not known. */
unsigned flush_percent_of(uint64_t pages);
/* Set it for each buffer that there is now; again, as sizes change, and as
 * buffers go and come again under their names. E_IO, with errno: the main one's
 * cannot be changed. */
enum status flush_percent_set(struct flush_percent *p) MUST_CHECK;
/* As it was, where nobody has changed it meanwhile. */
void flush_percent_restore(struct flush_percent *p);

#endif
