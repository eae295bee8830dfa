/* SPDX-License-Identifier: MIT */
#include "common/clock.h"

#include <stdbool.h>
#include <time.h>

static struct {
	bool is_frozen;
	uint64_t now_ns, wall_s;
} frozen;

static struct timespec
read_clock(clockid_t id)
{
	struct timespec ts = { 0 };

	/* The call cannot fail: these two clocks exist wherever this
	 * compiles. */
	(void)clock_gettime(id, &ts);
	return ts;
}

uint64_t
clock_now_ns(void)
{
	struct timespec ts;

	if (frozen.is_frozen)
		return frozen.now_ns;
	ts = read_clock(CLOCK_MONOTONIC);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t
clock_wall_s(void)
{
	if (frozen.is_frozen)
		return frozen.wall_s;
	return (uint64_t)read_clock(CLOCK_REALTIME).tv_sec;
}

void
clock_freeze(uint64_t now_ns, uint64_t wall_s)
{
	frozen.is_frozen = true;
	frozen.now_ns = now_ns;
	frozen.wall_s = wall_s;
}
