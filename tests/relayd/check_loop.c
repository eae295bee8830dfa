/* SPDX-License-Identifier: MIT */
#include "relayd/net/loop.h"

#include "common/clock.h"
#include "common/compiler.h"
#include "tests/lib/unit.h"

static struct loop loop;
static unsigned taken;

/* NEWS can wait, WAKE cannot. */
static void
on_message(struct message *m, void *arg)
{
	taken++;
	if (m->kind == MESSAGE_EVENT)
		loop_rest(&loop);
	else
		loop_cancel_rest(&loop);
}

static void
post(enum message_kind kind)
{
	struct message *m;

	ck_assert_int_eq(message_create(&m, kind), OK);
	loop_post(&loop, m);
}

static void
begin(void)
{
	taken = 0;
	ck_assert_int_eq(loop_init(&loop, on_message, NULL), OK);
	post(MESSAGE_EVENT);
}

TEST(what_comes_in_a_rest_is_taken_at_once_behind_it)
{
	uint64_t began;

	begin();
	began = clock_now_ns();
	loop_run_cycle(&loop);
	ck_assert_uint_eq(taken, 1);
	post(MESSAGE_EVENT);
	post(MESSAGE_EVENT);
	post(MESSAGE_WAKE);
	loop_run_cycle(&loop);
	ck_assert_uint_eq(taken, 1);
	/* The timer counts whole milliseconds. */
	ck_assert_uint_ge(clock_now_ns() - began, LOOP_REST_NS - 1 * NS_PER_MS);
	loop_run_cycle(&loop);
	ck_assert_uint_eq(taken, 4);
	/* The last of them could not wait: there is no other rest. */
	post(MESSAGE_WAKE);
	loop_run_cycle(&loop);
	ck_assert_uint_eq(taken, 5);
	loop_destroy(&loop);
}

TEST(what_cannot_wait_ends_a_rest_of_its_turn)
{
	begin();
	post(MESSAGE_WAKE);
	loop_run_cycle(&loop);
	ck_assert_uint_eq(taken, 2);
	post(MESSAGE_WAKE);
	loop_run_cycle(&loop);
	ck_assert_uint_eq(taken, 3);
	loop_destroy(&loop);
}

TEST(who_ends_in_a_rest_takes_what_is_there)
{
	begin();
	loop_run_cycle(&loop);
	post(MESSAGE_WAKE);
	loop_destroy(&loop);
	ck_assert_uint_eq(taken, 2);
}
