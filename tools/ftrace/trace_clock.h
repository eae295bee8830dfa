/* SPDX-License-Identifier: MIT */
/*
 * The clocks of ftrace on this machine: what must be added to their times to
 * get Unix time is measured, not estimated (trace-cmd 4.4). Any thread.
 */
#ifndef TOOLS_FTRACE_TRACE_CLOCK_H
#define TOOLS_FTRACE_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* An offset in ns, which is wrong by at most ERROR_NS. */
struct trace_clock_offset {
	int64_t ns;
	uint64_t error_ns;
};

/* Is a machine of this name and kernel (uname(2)) this one? */
bool trace_clock_is_ours(const char *hostname, const char *release);

/*
 * Measures the clock NAME of ftrace. False: programs cannot read it. Most are
 * clocks of clock_gettime(2); local, global and perf are only read by root, if
 * tracefs is mounted and uses that clock.
 */
bool trace_clock_measure(const char *name, struct trace_clock_offset *out);

#endif
