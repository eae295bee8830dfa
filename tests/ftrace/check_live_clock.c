/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"
#include "tools/ftrace/live_time.h"

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static uint64_t
now_of(const struct live_clock *c, uint64_t now)
{
	uint64_t time;

	ck_assert(live_clock_now(c, now, &time));
	return time;
}

TEST(nothing_is_known_before_the_first_page)
{
	const struct live_clock c = { 0 };
	uint64_t time;

	ck_assert(!live_clock_now(&c, 5 * S, &time));
}

/* Its clock is 100 s behind ours. */
TEST(the_page_that_came_fastest_counts)
{
	struct live_clock c = { 0 };

	live_clock_page(&c, 110 * S, 8 * S);
	ck_assert_uint_eq(now_of(&c, 110 * S), 8 * S);
	live_clock_page(&c, 111 * S, 11 * S - 5 * MS);
	ck_assert_uint_eq(now_of(&c, 111 * S), 11 * S - 5 * MS);
	live_clock_page(&c, 120 * S, 12 * S);
	ck_assert_uint_eq(now_of(&c, 120 * S), 20 * S - 5 * MS);
}

TEST(a_clock_ahead_of_ours_is_no_trouble)
{
	struct live_clock c = { 0 };

	live_clock_page(&c, 10 * S, 500 * S);
	ck_assert_uint_eq(now_of(&c, 11 * S), 501 * S);
}

/* What was seen two minutes ago is forgotten: the clock has drifted. */
TEST(pages_of_the_last_minutes_count)
{
	struct live_clock c = { 0 };

	live_clock_page(&c, 1000 * S, 100 * S);
	for (uint64_t t = 1; t <= 200; t++)
		live_clock_page(&c, (1000 + t) * S, (100 + t) * S - 20 * MS);
	ck_assert_uint_eq(now_of(&c, 1200 * S), 300 * S - 20 * MS);
}

TEST(silence_forgets_nothing)
{
	struct live_clock c = { 0 };

	live_clock_page(&c, 1000 * S, 100 * S);
	ck_assert_uint_eq(now_of(&c, 9000 * S), 8100 * S);
	live_clock_page(&c, 9000 * S, 8100 * S - 50 * MS);
	ck_assert_uint_eq(now_of(&c, 9000 * S), 8100 * S);
}

TEST(times_that_cannot_be_are_not_used)
{
	struct live_clock c = { 0 };
	uint64_t time;

	live_clock_page(&c, 1000 * S, 1);
	ck_assert(!live_clock_now(&c, 0, &time));
	live_clock_page(&c, 1000 * S, UINT64_MAX);
	(void)live_clock_now(&c, UINT64_MAX, &time);
}
