/* SPDX-License-Identifier: MIT */
/*
 * What tracepulse-ftrace flush does. One thread.
 *
 * buffer_percent of tracefs: how full a ring buffer must be before its recorder
 * gets anything. SIGUSR2 moves one page, so a busy CPU would fall behind if its
 * buffer had to be half full. With 0, or less than two pages, the process of a
 * CPU ends sooner or later: it is told that there is data, the signal takes the
 * data away, and the process takes "nothing" for the end (trace-cmd 3.1.6).
 */
#ifndef TOOLS_FTRACE_FLUSH_H
#define TOOLS_FTRACE_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* The main buffer, and instances. Further ones are left unchanged. */
#define FLUSH_BUFFERS_MAX 64

/* A recorder gets the pages of a CPU once this many are full. */
#define FLUSH_PAGES 3

struct flush_percent {
	const char *tracefs; /* borrowed; NULL: the usual place */
	struct flush_buffer {
		char path[320];
		char before[16]; /* as others have set it */
		char ours[16];	 /* "": not written yet */
	} buffers[FLUSH_BUFFERS_MAX];
	unsigned n;
};

/* The percentage that is FLUSH_PAGES in a buffer of PAGES pages, or slightly
 * more. PAGES 0: not known. */
unsigned flush_percent_of(uint64_t pages);
/* Sets it for each buffer that exists now. Call it again, since sizes change,
 * and buffers are removed and created. E_IO, with errno: that of the main
 * buffer cannot be changed. */
enum status flush_percent_set(struct flush_percent *p) MUST_CHECK;
/* Restores the values that nobody else has changed. */
void flush_percent_restore(struct flush_percent *p);

/* The events in a CPU's file "stats". */
struct flush_stats {
	uint64_t waiting; /* in the ring buffer */
	uint64_t gone;	  /* read or overwritten */
};

/* TEXT is NUL-terminated. False: it is not in the kernel's format. */
bool flush_stats_parse(const char *text, struct flush_stats *out) MUST_CHECK;

#endif
