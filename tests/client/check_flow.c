/* SPDX-License-Identifier: MIT */
/* How fast, how much at a time, and what is kept: pace, window, held. */
#include <stdlib.h>

#include "common/clock.h"
#include "tests/lib/unit.h"
#include "tools/client/flow.h"

/* Messages of this size at this rate take this long. */
static const struct {
	uint64_t rate;
	size_t message;
} paces[] = {
	{ 1000, 1 },
	{ 1000, 5000 },
	{ 1000000, 1500 },
	{ 4000000000, 65536 },
};

TEST_ROWS(the_rate_is_kept_and_used, ARRAY_LEN(paces))
{
	const uint64_t rate = paces[_i].rate;
	const size_t message = paces[_i].message;
	const unsigned n = 200;
	uint64_t now = 12345;
	struct pace p;
	double want;

	pace_init(&p, rate, now);
	for (unsigned i = 0; i < n; i++) {
		while (pace_allowance(&p, now) == 0) {
			const uint64_t ready = pace_ready_ns(&p, now);

			ck_assert_uint_gt(ready, now);
			now = ready;
		}
		pace_spend(&p, message);
	}
	/* The last message is paid for later. */
	want = (double)(n - 1) * (double)message / (double)rate * 1e9;
	ck_assert_double_ge((double)(now - 12345), want * 0.99);
	/* and each may wait for a grain */
	ck_assert_double_le((double)(now - 12345),
	    want * 1.01 + 2e6 + (1024 / (double)rate + 0.01) * 1e9);
}

/* Of a stream that takes any number of bytes at a time: row 2's. */
TEST(pieces_are_worth_a_call)
{
	const uint64_t rate = 1000000, second = 1000000000;
	uint64_t now = 0, bytes = 0;
	unsigned calls = 0;
	struct pace p;
	size_t n;

	pace_init(&p, rate, now);
	while (now < second) {
		n = pace_allowance(&p, now);
		calls += n > 0;
		bytes += n;
		pace_spend(&p, n);
		now += 1000; /* that is how long a call takes */
	}
	ck_assert_uint_le(calls, 101);
	ck_assert_uint_ge(bytes, rate * 98 / 100);
	ck_assert_uint_le(bytes, rate);
}

/* However slow or fast: after two seconds something left, and not too much. */
TEST_ROWS(any_rate_moves, 6)
{
	const uint64_t rates[] = { 1, 15, 30, 1000, UINT64_C(1) << 40,
		UINT64_MAX };
	const uint64_t rate = rates[_i];
	uint64_t now = 0;
	double bytes = 0;
	struct pace p;
	size_t n;

	pace_init(&p, rate, now);
	for (; now < 2000000000; now += 1500000) {
		n = pace_allowance(&p, now);
		pace_spend(&p, n);
		bytes += (double)n;
	}
	ck_assert_double_ge(bytes, 1);
	ck_assert_double_le(bytes, 2.001 * (double)rate);
	if (rate >= 1000)
		ck_assert_double_ge(bytes, 0.45 * (double)p.rate);
	now += 3600 * NS_PER_S;
	ck_assert_uint_gt(pace_allowance(&p, now), 0);
}

TEST(idle_time_is_not_saved_up)
{
	struct pace p;
	size_t burst;

	pace_init(&p, 1000000, 0);
	burst = pace_allowance(&p, 3600 * NS_PER_S);
	ck_assert_uint_le(burst, 1000000 / 100 + 1);
	ck_assert_uint_gt(burst, 0);
}

TEST(no_rate_is_no_limit)
{
	struct pace p;

	pace_init(&p, 0, 0);
	pace_spend(&p, SIZE_MAX);
	ck_assert_uint_eq(pace_allowance(&p, 1), SIZE_MAX);
	ck_assert_uint_eq(pace_ready_ns(&p, 1), 1);
}

static void
flight(struct window *w, bool has_loss)
{
	window_spend(w, window_allowance(w));
	ck_assert_uint_eq(window_allowance(w), 0);
	window_ask(w);
	window_answer(w, has_loss, 0);
}

/* The answer to a quarter comes while the relay still reads the rest. */
TEST(a_question_is_due_after_a_quarter)
{
	struct window w;

	window_init(&w);
	window_spend(&w, WINDOW_FIRST / 4 - 1);
	ck_assert(!window_is_due(&w));
	window_spend(&w, 1);
	ck_assert(window_is_due(&w));
	window_ask(&w);
	ck_assert(!window_is_due(&w));
}

TEST(a_window_opens_and_closes)
{
	struct window w;
	uint64_t before;

	window_init(&w);
	flight(&w, false);
	ck_assert_uint_eq(w.size, 2 * WINDOW_FIRST);
	flight(&w, true);
	ck_assert_uint_eq(w.size, WINDOW_FIRST);
	before = w.size;
	flight(&w, false);
	ck_assert_uint_gt(w.size, before);
	ck_assert_uint_lt(w.size, before + before / 4);
	for (int i = 0; i < 100; i++)
		flight(&w, true);
	ck_assert_uint_eq(w.size, WINDOW_LEAST);
	for (int i = 0; i < 10000; i++)
		flight(&w, false);
	ck_assert_uint_eq(w.size, WINDOW_MOST);
}

TEST(one_flight_is_cut_once)
{
	struct window w;

	window_init(&w);
	window_spend(&w, 1000);
	window_ask(&w);
	window_spend(&w, 50000);
	window_answer(&w, true, 0);
	ck_assert_uint_eq(w.size, WINDOW_FIRST / 2);
	/* What was under way then is lost, too. */
	window_ask(&w);
	window_answer(&w, true, 0);
	ck_assert_uint_eq(w.size, WINDOW_FIRST / 2);
	window_spend(&w, 1);
	window_ask(&w);
	window_answer(&w, true, 0);
	ck_assert_uint_eq(w.size, WINDOW_LEAST);
}

TEST(what_is_missing_is_under_way)
{
	struct window w;

	window_init(&w);
	window_spend(&w, 100000);
	window_ask(&w);
	window_answer(&w, false, 40000);
	ck_assert_uint_eq(w.sent - w.confirmed, 40000);
	window_answer(&w, false, 0);
	ck_assert_uint_eq(w.sent - w.confirmed, 0);
	/* Never more than half of it stops us. */
	window_spend(&w, window_allowance(&w));
	window_ask(&w);
	window_answer(&w, false, UINT64_MAX);
	ck_assert_uint_ge(window_allowance(&w), w.size / 2);
}

static void
count(void *arg)
{
	++*(unsigned *)arg;
}

TEST(held_packets_are_found_until_released)
{
	struct held h = { 0 };
	unsigned done = 0;

	for (unsigned i = 0; i < 1000; i++) {
		const struct client_packet p = {
			.size = i, .done = count, .arg = &done
		};

		ck_assert_int_eq(held_put(&h, &p, i), OK);
		if (i >= 100) {
			held_release(&h, i - 99);
			ck_assert_ptr_null(held_find(&h, i - 100));
		}
		ck_assert_uint_eq(held_find(&h, i)->packet.size, i);
		ck_assert_uint_eq(held_find(&h, h.first)->packet.size, h.first);
		ck_assert_ptr_null(held_find(&h, i + 1));
	}
	ck_assert_uint_eq(done, 900);
	ck_assert_uint_eq(h.bytes, (900 + 999) * 100 / 2);
	ck_assert_uint_le(h.cap, 128);
	held_release(&h, 5); /* old news */
	held_free(&h);
	ck_assert_uint_eq(done, 1000);
}
