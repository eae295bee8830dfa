/* SPDX-License-Identifier: MIT */
/*
 * buffer_percent of tracefs: how full a ring buffer must be before its recorder
 * gets anything. SIGUSR2 moves one page, so a busy CPU would fall behind if its
 * buffer had to be half full. With 0, or less than two pages, the process of a
 * CPU ends sooner or later: it is told that there is data, the signal takes the
 * data away, and the process takes "nothing" for the end (trace-cmd 3.1.6).
 *
 * Several processes may do this at a time, and be killed. So the values that
 * were there before are in a file, and the last process restores them, or the
 * next one, if that was killed. One thread.
 */
#ifndef TOOLS_FTRACE_FLUSH_PERCENT_H
#define TOOLS_FTRACE_FLUSH_PERCENT_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* The main buffer, and instances. Further ones are left unchanged. */
#define FLUSH_BUFFERS_MAX 64

/* A recorder gets the pages of a CPU once this many are full. */
#define FLUSH_PAGES 3

struct flush_percent {
	const char *tracefs, *file; /* borrowed */
	int fd;			    /* of FILE */
	struct flush_table *table;  /* its bytes; NULL: it has not begun */
};

#define FLUSH_PERCENT_OF_SYSTEM                        \
	{                                              \
		.tracefs = "/sys/kernel/tracing",      \
		.file = "/run/tracepulse-ftrace-flush" \
	}

/* The percentage that is FLUSH_PAGES in a buffer of PAGES pages, or slightly
 * more. PAGES 0: not known. */
unsigned flush_percent_of(uint64_t pages);
/* Opens the file; does nothing if it is open. Restores what a killed process
 * has left, if no other one runs. E_IO, with errno. */
enum status flush_percent_begin(struct flush_percent *p) MUST_CHECK;
/* Sets it for each buffer that exists now. Call it again, since sizes change,
 * and buffers are removed and created. E_IO, with errno: that of the main
 * buffer cannot be changed. */
enum status flush_percent_set(struct flush_percent *p) MUST_CHECK;
/* The last process restores the values that nobody else has changed. It may not
 * have begun. */
void flush_percent_end(struct flush_percent *p);

#endif
