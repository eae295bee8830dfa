/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"
#include "tools/ftrace/live_time.h"

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)

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
