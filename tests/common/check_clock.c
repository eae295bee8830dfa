/* SPDX-License-Identifier: MIT */
#include "common/clock.h"

#include <limits.h>
#include <time.h>

#include "common/compiler.h"
#include "tests/lib/unit.h"

TEST(monotonic_time_goes_forward)
{
	const struct timespec pause = { .tv_nsec = 2 * (long)NS_PER_MS };
	const uint64_t before = clock_now_ns();
	uint64_t after;

	ck_assert_int_eq(nanosleep(&pause, NULL), 0);
	after = clock_now_ns();
	ck_assert_uint_ge(after - before, 2 * NS_PER_MS);
	ck_assert_uint_lt(after - before, 30 * NS_PER_S);
}

TEST(wall_time_is_that_of_the_system)
{
	const uint64_t before = (uint64_t)time(NULL);
	const uint64_t now = clock_wall_s();

	/* time(2) may lag by one tick */
	ck_assert_uint_ge(now, before);
	ck_assert_uint_le(now, (uint64_t)time(NULL) + 1);
}

TEST(frozen_clocks_stand_still)
{
	clock_freeze(5, 7);
	ck_assert_uint_eq(clock_now_ns(), 5);
	ck_assert_uint_eq(clock_wall_s(), 7);
	clock_freeze(6, 8);
	ck_assert_uint_eq(clock_now_ns(), 6);
	ck_assert_uint_eq(clock_wall_s(), 8);
}

TEST(a_wait_ends_no_millisecond_too_early)
{
	clock_freeze(NS_PER_S, 0);
	ck_assert_int_eq(clock_ms_until(0), 0);
	ck_assert_int_eq(clock_ms_until(NS_PER_S), 0);
	ck_assert_int_eq(clock_ms_until(NS_PER_S + 1), 1);
	ck_assert_int_eq(clock_ms_until(NS_PER_S + NS_PER_MS), 1);
	ck_assert_int_eq(clock_ms_until(NS_PER_S + NS_PER_MS + 1), 2);
	ck_assert_int_eq(clock_ms_until(UINT64_MAX), INT_MAX);
}

TEST(work_takes_processor_time)
{
	const double before = clock_cpu_s();

	while (clock_cpu_s() == before)
		continue;
	ck_assert(clock_cpu_s() > before);
}
