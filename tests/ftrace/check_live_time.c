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

static struct live_hold hold;
static uint64_t now;

/* N pages, one every 200 ms. */
static uint64_t
after(unsigned n, uint64_t age, bool is_partial)
{
	for (unsigned i = 0; i < n; i++) {
		now += 200 * MS;
		live_hold_page(&hold, now, age, is_partial);
	}
	return live_hold_ns(&hold);
}

static void
begin_auto(void)
{
	hold = (struct live_hold){ .fixed_ns = LIVE_HOLD_AUTO };
	now = 1000 * S;
}

static void
begin_flushed(void)
{
	begin_auto();
	ck_assert_uint_eq(
	    after(LIVE_HOLD_PAGES, 100 * MS, true), LIVE_HOLD_FLUSHED_MS * MS);
}

TEST(what_is_asked_for_stays)
{
	hold = (struct live_hold){ .fixed_ns = 700 * MS };
	ck_assert_uint_eq(after(100, 3 * S, true), 700 * MS);
	ck_assert_uint_eq(after(100, 3 * S, false), 700 * MS);
}

TEST(who_does_not_flush_is_waited_for)
{
	begin_auto();
	ck_assert_uint_eq(live_hold_ns(&hold), LIVE_HOLD_MS * MS);
	ck_assert_uint_eq(after(1000, 10 * MS, false), LIVE_HOLD_MS * MS);
	ck_assert_uint_eq(
	    after(LIVE_HOLD_PAGES - 1, 10 * MS, true), LIVE_HOLD_MS * MS);
}

TEST(what_was_old_before_the_first_flush_does_not_count)
{
	begin_auto();
	(void)after(LIVE_HOLD_PAGES - 1, 8 * S, true);
	ck_assert_uint_eq(after(1, 10 * MS, true), LIVE_HOLD_FLUSHED_MS * MS);
}

TEST(pages_that_take_longer_are_waited_for)
{
	begin_flushed();
	ck_assert_uint_eq(after(1, 800 * MS, true), S);
	ck_assert_uint_eq(after(1, 2 * S, false), 2500 * MS);
	ck_assert_uint_eq(after(1, 9 * S, true), LIVE_HOLD_MS * MS);
	ck_assert_uint_eq(after(1, UINT64_MAX, true), LIVE_HOLD_MS * MS);
}

TEST(for_half_a_minute_to_a_minute)
{
	begin_flushed();
	ck_assert_uint_eq(after(1, 800 * MS, true), S);
	ck_assert_uint_eq(after(140, 100 * MS, true), S);
	ck_assert_uint_eq(
	    after(320, 100 * MS, true), LIVE_HOLD_FLUSHED_MS * MS);
}

/* Silence says nothing. */
TEST(a_sender_that_is_silent_is_as_before)
{
	begin_flushed();
	now += 10000 * S;
	ck_assert_uint_eq(after(1, 100 * MS, true), LIVE_HOLD_FLUSHED_MS * MS);
	now += 10000 * S;
	ck_assert_uint_eq(after(1, 100 * MS, false), LIVE_HOLD_FLUSHED_MS * MS);
	ck_assert_uint_eq(after(1, 100 * MS, true), LIVE_HOLD_FLUSHED_MS * MS);
}

TEST(flushes_that_end_are_noticed)
{
	begin_flushed();
	ck_assert_uint_eq(
	    after(20, 100 * MS, false), LIVE_HOLD_FLUSHED_MS * MS);
	ck_assert_uint_eq(after(10, 100 * MS, false), LIVE_HOLD_MS * MS);
	ck_assert_uint_eq(
	    after(LIVE_HOLD_PAGES, 100 * MS, true), LIVE_HOLD_FLUSHED_MS * MS);
}
