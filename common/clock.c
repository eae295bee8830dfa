/* SPDX-License-Identifier: MIT */
#include "common/clock.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

static struct {
	bool is_frozen;
	uint64_t now_ns, wall_s;
} frozen;

static uint64_t
read_clock(clockid_t id)
{
	struct timespec ts = { 0 };

	/* The call cannot fail: these two clocks exist wherever this
	 * compiles. */
	(void)clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t
clock_now_ns(void)
{
	return frozen.is_frozen ? frozen.now_ns : read_clock(CLOCK_MONOTONIC);
}

uint64_t
clock_wall_ns(void)
{
	return frozen.is_frozen ? frozen.wall_s * NS_PER_S
				: read_clock(CLOCK_REALTIME);
}

uint64_t
clock_wall_s(void)
{
	return clock_wall_ns() / NS_PER_S;
}

double
clock_cpu_s(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) != 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int
clock_ms_until(uint64_t until_ns)
{
	const uint64_t now = clock_now_ns();
	uint64_t ms;

	if (until_ns <= now)
		return 0;
	ms = (until_ns - now - 1) / NS_PER_MS + 1;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

void
clock_freeze(uint64_t now_ns, uint64_t wall_s)
{
	frozen.is_frozen = true;
	frozen.now_ns = now_ns;
	frozen.wall_s = wall_s;
}
