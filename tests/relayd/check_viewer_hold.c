/* SPDX-License-Identifier: MIT */
/* Held replies (live 4.8) and the empty OK (live 4.9). */
#include "common/clock.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "tests/lib/unit.h"
#include "tests/relayd/fixture.h"

static void
packet(uint64_t seq)
{
	struct live_pair_packet p = fixture_packet(seq);

	live_pair_packet(fixture.data, &p);
}

static enum live_outcome
ask_index(void)
{
	return fixture_ask(LIVE_CMD_get_next_index, fixture_id(fixture.data));
}

static void
assert_index(uint32_t status, uint64_t end)
{
	struct live_index i;

	ck_assert_int_eq(ask_index(), LIVE_REPLY);
	i = live_pair_index_of(&fixture.out);
	ck_assert_uint_eq(i.status, status);
	ck_assert_uint_eq(i.timestamp_end, end);
}

static void
assert_held(uint64_t limit_ms)
{
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	ck_assert_uint_eq(
	    fixture.held.until_ns, clock_now_ns() + limit_ms * NS_PER_MS);
	ck_assert_ptr_eq(fixture.held.source, fixture.data->log);
}

/* What came before, in ms between requests, and what becomes of the next. */
static const struct {
	const char *name;
	int gaps[6]; /* each a "nothing" reply so long after the last; -1: end
		      */
	int last;
	bool is_held;
} rows[] = {
	{ "the first nothing goes out", { -1 }, 0, false },
	{ "the first goes out after a sleep, too", { -1 }, 100, false },
	{ "the second goes out at once", { 0, -1 }, 0, false },
	{ "the second goes out within 80 ms", { 0, -1 }, 79, false },
	{ "the second is held after 80 ms", { 0, -1 }, 80, true },
	{ "the third goes out at once", { 0, 0, -1 }, 0, false },
	{ "the third is held after a sleep", { 0, 0, -1 }, 100, true },
	{ "the fourth is held at once", { 0, 0, 0, -1 }, 0, true },
	{ "the fourth is held after 10 ms", { 0, 10, 10, -1 }, 10, true },
};

START_TEST(nothing_is_held_by_the_rule)
{
	fixture_open_attached(true);
	packet(0);
	assert_index(LIVE_INDEX_OK, 90);
	for (int i = 0; rows[_i].gaps[i] >= 0; i++) {
		fixture_wait_ms((uint64_t)rows[_i].gaps[i]);
		assert_index(LIVE_INDEX_RETRY, 0);
	}
	fixture_wait_ms((uint64_t)rows[_i].last);
	ck_assert_msg(
	    ask_index() == (rows[_i].is_held ? LIVE_HOLD : LIVE_REPLY), "%s",
	    rows[_i].name);
	fixture_close();
}
END_TEST

/* It prints what it has before it asks again. */
START_TEST(babeltrace_1_is_held_after_one)
{
	fixture_open(true);
	viewer_destroy(fixture.viewer);
	fixture.viewer = fixture_viewer(false, 4);
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
	(void)fixture_ask(LIVE_CMD_get_metadata, fixture_id(fixture.metadata));
	for (uint64_t seq = 0; seq < 3; seq++) {
		packet(seq);
		assert_index(LIVE_INDEX_OK, 100 * seq + 90);
		assert_index(LIVE_INDEX_RETRY, 0);
		assert_held(FIXTURE_PERIOD_US / 1000);
	}
	fixture_close();
}
END_TEST

START_TEST(nothing_is_held_when_told_so)
{
	fixture_open_attached(false);
	for (int i = 0; i < 10; i++) {
		fixture_wait_ms(100);
		assert_index(LIVE_INDEX_RETRY, 0);
	}
	fixture_close();
}
END_TEST

static void
until_held(void)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask_index(), LIVE_REPLY);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
}

START_TEST(each_news_counts_anew)
{
	fixture_open_attached(true);
	until_held();
	packet(0);
	assert_index(LIVE_INDEX_OK, 90);
	until_held();
	live_pair_beacon(fixture.data, 95); /* a new time */
	assert_index(LIVE_INDEX_INACTIVE, 95);
	until_held();
	live_pair_beacon(fixture.data, 95); /* the same time */
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	live_pair_beacon(fixture.data, 96);
	assert_index(LIVE_INDEX_INACTIVE, 96);
	until_held();
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_next_index, 999), LIVE_INDEX_ERR);
	until_held();
	fixture_close();
}
END_TEST

static const struct {
	uint32_t period_us;
	uint64_t limit_ms;
} limits[] = { { 100000, 100 }, { 200000, 200 }, { 1000000, 1000 },
	{ 5000000, 1000 }, { UINT32_MAX, 1000 } };

START_TEST(the_limit_is_the_live_period_at_most_a_second)
{
	fixture_open_attached(true);
	fixture.session->live->live_timer_us = limits[_i].period_us;
	until_held();
	fixture_wait_ms(5);
	assert_held(limits[_i].limit_ms);
	fixture_close();
}
END_TEST

/* The writer wakes who waits; a stream that was not asked for does not. */
START_TEST(news_of_this_stream_wake)
{
	struct stream *other;
	struct live_pair_packet p = fixture_packet(0);

	fixture_open(true);
	other = live_pair_stream(fixture.session, "ust/uid", "ch_1", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_uint_eq(
	    fixture_attach(fixture.viewer, LIVE_SEEK_LAST), LIVE_ATTACH_OK);
	until_held();
	live_pair_packet(other, &p);
	live_pair_beacon(other, 1000);
	ck_assert_ptr_null(fixture.pair.woken);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	packet(0);
	ck_assert_ptr_eq(fixture.pair.woken, fixture.data->log);
	assert_index(LIVE_INDEX_OK, 90);

	until_held();
	fixture.pair.woken = NULL;
	live_pair_beacon(fixture.data, 1000);
	ck_assert_ptr_eq(fixture.pair.woken, fixture.data->log);
	assert_index(LIVE_INDEX_INACTIVE, 1000);

	until_held();
	fixture.pair.woken = NULL;
	stream_close(fixture.data, 0);
	ck_assert_ptr_nonnull(fixture.pair.woken);
	fixture.data = other;
	fixture_close();
}
END_TEST

/* One wake-up is enough for one wait; waiting again asks for another. */
START_TEST(nobody_waits_nobody_is_woken)
{
	fixture_open_attached(true);
	packet(0);
	ck_assert_ptr_null(fixture.pair.woken);
	assert_index(LIVE_INDEX_OK, 90);
	until_held();
	packet(1);
	ck_assert_ptr_nonnull(fixture.pair.woken);
	fixture.pair.woken = NULL;
	packet(2);
	ck_assert_ptr_null(fixture.pair.woken);
	fixture_close();
}
END_TEST

static struct live_index
interrupted_index(void)
{
	ck_assert_int_eq(
	    live_pair_ask(fixture.viewer,
		&(struct live_request){ .cmd = LIVE_CMD_get_next_index,
		    .id = fixture_id(fixture.data) },
		&(struct live_how){
		    .arrived_ns = clock_now_ns(), .is_interrupted = true },
		&fixture.out, &fixture.held),
	    LIVE_REPLY);
	return live_pair_index_of(&fixture.out);
}

/* babeltrace2's Ctrl-C: the first 4 bytes must read as DETACH OK. */
START_TEST(an_interrupted_nothing_reads_as_detached)
{
	struct live_index i;

	fixture_open_attached(true);
	if (_i == 1) {
		live_pair_beacon(fixture.data, 7);
		assert_index(LIVE_INDEX_INACTIVE, 7);
	}
	until_held();
	i = interrupted_index();
	ck_assert_uint_eq(i.status, LIVE_INDEX_RETRY);
	ck_assert_uint_eq(i.offset, UINT64_C(1) << 32);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0), LIVE_DETACH_OK);
	ck_assert_uint_eq(i.timestamp_end, 0);
	fixture_close();
}
END_TEST

START_TEST(an_interrupted_answer_with_news_stays_one)
{
	struct live_index i;

	fixture_open_attached(true);
	until_held();
	packet(0);
	i = interrupted_index();
	ck_assert_uint_eq(i.status, LIVE_INDEX_OK);
	ck_assert_uint_eq(i.offset, 0);
	fixture_close();
}
END_TEST

/* At its limit it goes as it is. */
START_TEST(a_nothing_at_its_limit_is_an_ordinary_one)
{
	struct live_index i;

	fixture_open_attached(true);
	until_held();
	i = fixture_index();
	ck_assert_uint_eq(i.status, LIVE_INDEX_RETRY);
	ck_assert_uint_eq(i.offset, 0);
	fixture_close();
}
END_TEST

static uint64_t
session_id(void)
{
	return fixture.session->live->id;
}

START_TEST(new_streams_are_waited_for_without_data_streams)
{
	struct stream *t;

	fixture_open(true);
	stream_close(fixture.data, UINT64_MAX);
	stream_close(fixture.metadata, UINT64_MAX);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_uint_eq(
	    fixture_attach(fixture.viewer, LIVE_SEEK_LAST), LIVE_ATTACH_OK);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(
		    fixture_ask(LIVE_CMD_get_new_streams, session_id()),
		    LIVE_REPLY);
	ck_assert_int_eq(
	    fixture_ask(LIVE_CMD_get_new_streams, session_id()), LIVE_HOLD);
	ck_assert_uint_eq(fixture.held.until_ns,
	    clock_now_ns() + FIXTURE_PERIOD_US * UINT64_C(1000));
	t = live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	fixture.data = live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_int_eq(
	    fixture_ask(LIVE_CMD_get_new_streams, session_id()), LIVE_REPLY);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 2);
	(void)t;
	fixture_close();
}
END_TEST

/* Neither nothing nor news; but it is a reply, so the viewer did not sleep. */
START_TEST(new_streams_beside_data_streams_do_not_count)
{
	fixture_open_attached(true);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(
		    fixture_ask(LIVE_CMD_get_new_streams, session_id()),
		    LIVE_REPLY);
	assert_index(LIVE_INDEX_RETRY, 0);
	fixture_wait_ms(100);
	ck_assert_int_eq(
	    fixture_ask(LIVE_CMD_get_new_streams, session_id()), LIVE_REPLY);
	assert_index(LIVE_INDEX_RETRY, 0);
	fixture_wait_ms(100);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	fixture_close();
}
END_TEST

static enum live_outcome
ask_metadata(const struct stream *t)
{
	return fixture_ask(LIVE_CMD_get_metadata, fixture_id(t));
}

/* By babeltrace 1.5 (0), which asks without end. babeltrace2 (1) aborts when
 * it is interrupted here. */
START_TEST(metadata_is_waited_for_until_there_is_some)
{
	struct stream *t;

	fixture_open(true);
	if (_i == 0) {
		viewer_destroy(fixture.viewer);
		fixture.viewer = fixture_viewer(false, 4);
	}
	(void)live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	t = live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_uint_eq(
	    fixture_attach(fixture.viewer, LIVE_SEEK_LAST), LIVE_ATTACH_OK);
	for (int i = 0; i < (_i == 0 ? 1 : 10); i++) {
		ck_assert_int_eq(ask_metadata(t), LIVE_REPLY);
		ck_assert_uint_eq(
		    live_pair_u32(&fixture.out, 8), LIVE_METADATA_NO_NEW);
		ck_assert_uint_eq(live_pair_u64(&fixture.out, 0), 0);
	}
	if (_i == 1) {
		fixture_close();
		return;
	}
	ck_assert_int_eq(ask_metadata(t), LIVE_HOLD);
	ck_assert_ptr_eq(fixture.held.source, t->metadata);
	live_pair_metadata(t, "x", 1);
	ck_assert_ptr_eq(fixture.pair.woken, t->metadata);
	ck_assert_int_eq(ask_metadata(t), LIVE_REPLY);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 8), LIVE_METADATA_OK);
	/* From now on "no more" ends a parser's round. */
	for (int i = 0; i < 10; i++) {
		fixture_wait_ms(100);
		ck_assert_int_eq(ask_metadata(t), LIVE_REPLY);
		ck_assert_uint_eq(
		    live_pair_u32(&fixture.out, 8), LIVE_METADATA_NO_NEW);
	}
	fixture_close();
}
END_TEST

/* A second process: its trace appears while the first one is idle. */
static void
add_trace(void)
{
	(void)live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	(void)live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
}

static void
assert_flagged(uint32_t status, uint64_t time)
{
	struct live_index i;

	assert_index(status, time);
	i = live_pair_index_of(&fixture.out);
	ck_assert_uint_eq(i.flags, LIVE_FLAG_NEW_STREAM);
	ck_assert_uint_eq(i.packet_size, 0);
}

START_TEST(a_published_stream_is_news)
{
	fixture_open_attached(true);
	until_held();
	add_trace();
	live_pair_deliver_all(&fixture.pair);
	assert_flagged(LIVE_INDEX_RETRY, 0);
	fixture_close();
}
END_TEST

/* Data alone cannot be announced: no reason to let go (live 6, P1). */
START_TEST(a_published_stream_without_metadata_is_none)
{
	fixture_open_attached(true);
	until_held();
	(void)live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	fixture_close();
}
END_TEST

/* Nor can metadata alone. */
START_TEST(published_metadata_without_a_stream_is_none)
{
	fixture_open_attached(true);
	until_held();
	(void)live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	(void)live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	assert_flagged(LIVE_INDEX_RETRY, 0);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_new_streams, session_id()), 1);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 2);
	fixture_close();
}
END_TEST

START_TEST(an_empty_ok_once_for_a_viewer_that_ignores_the_flag)
{
	struct live_index i;

	fixture_open_attached(true);
	live_pair_beacon(fixture.data, 50);
	assert_index(LIVE_INDEX_INACTIVE, 50);
	add_trace();
	live_pair_deliver_all(&fixture.pair);
	live_pair_beacon(fixture.data, 60);
	/* Never a later bound before it asked. */
	assert_flagged(LIVE_INDEX_INACTIVE, 50);
	assert_index(LIVE_INDEX_OK, 0);
	i = live_pair_index_of(&fixture.out);
	ck_assert_uint_eq(i.flags, LIVE_FLAG_NEW_STREAM);
	ck_assert_uint_eq(i.packet_size, 0);
	ck_assert_uint_eq(i.content_size, 0);
	ck_assert_uint_eq(i.offset, 0);
	ck_assert_uint_eq(i.ctf_stream, LIVE_PAIR_CLASS);
	/* Once: then the bound again, until it asks. */
	for (int n = 0; n < 5; n++)
		assert_flagged(LIVE_INDEX_INACTIVE, 50);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_new_streams, session_id()), 1);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 2);
	assert_index(LIVE_INDEX_INACTIVE, 60);
	ck_assert_uint_eq(live_pair_index_of(&fixture.out).flags, 0);
	fixture_close();
}
END_TEST

/* The next publication is told again. */
START_TEST(an_empty_ok_per_publication)
{
	fixture_open_attached(true);
	live_pair_beacon(fixture.data, 50);
	assert_index(LIVE_INDEX_INACTIVE, 50);
	add_trace();
	live_pair_deliver_all(&fixture.pair);
	assert_flagged(LIVE_INDEX_INACTIVE, 50);
	assert_flagged(LIVE_INDEX_OK, 0);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_new_streams, session_id()), 1);
	assert_index(LIVE_INDEX_INACTIVE, 50);
	(void)live_pair_stream(fixture.session, "ust/2", "ch_1", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	assert_flagged(LIVE_INDEX_INACTIVE, 50);
	assert_flagged(LIVE_INDEX_OK, 0);
	fixture_close();
}
END_TEST

/* Without a bound given: RETRY. Without a class: no OK can be made up. */
START_TEST(no_empty_ok_before_the_class_is_known)
{
	fixture_open_attached(true);
	add_trace();
	live_pair_deliver_all(&fixture.pair);
	for (int n = 0; n < 5; n++)
		assert_flagged(LIVE_INDEX_RETRY, 0);
	live_pair_beacon(fixture.data, 50);
	assert_flagged(LIVE_INDEX_OK, 0);
	assert_flagged(LIVE_INDEX_RETRY, 0);
	fixture_close();
}
END_TEST

static const struct {
	const char *name;
	bool is_babeltrace2;
	uint32_t minor;
	bool gets_it;
} viewers[] = {
	{ "babeltrace2 2.0", true, 4, true },
	{ "babeltrace2 that says 14", true, 14, true },
	{ "babeltrace2 2.1", true, 15, false },
	{ "babeltrace 1.5: it would hang", false, 4, false },
};

START_TEST(an_empty_ok_only_for_viewers_that_need_it)
{
	fixture_open(true);
	viewer_destroy(fixture.viewer);
	fixture.viewer = fixture_viewer(
	    viewers[_i].is_babeltrace2, viewers[_i].minor);
	ck_assert_uint_eq(
	    fixture_attach(fixture.viewer, LIVE_SEEK_LAST), LIVE_ATTACH_OK);
	(void)fixture_ask(LIVE_CMD_get_metadata, fixture_id(fixture.metadata));
	live_pair_beacon(fixture.data, 50);
	assert_index(LIVE_INDEX_INACTIVE, 50);
	add_trace();
	live_pair_deliver_all(&fixture.pair);
	assert_flagged(LIVE_INDEX_INACTIVE, 50);
	for (int n = 0; n < 4; n++) {
		bool is_ok = viewers[_i].gets_it && n == 0;

		assert_flagged(is_ok ? LIVE_INDEX_OK : LIVE_INDEX_INACTIVE,
		    is_ok ? 0 : 50);
	}
	fixture_close();
}
END_TEST

/* It waits for its session with CREATE and LIST again and again (live 4.1). */
START_TEST(a_babeltrace2_that_waited_for_its_session_stays_one)
{
	fixture_open(true);
	for (int n = 0; n < 3; n++) {
		(void)fixture_tell(LIVE_CMD_create_session, 0);
		(void)fixture_tell(LIVE_CMD_list_sessions, 0);
	}
	ck_assert_uint_eq(
	    fixture_attach(fixture.viewer, LIVE_SEEK_LAST), LIVE_ATTACH_OK);
	live_pair_beacon(fixture.data, 50);
	assert_index(LIVE_INDEX_INACTIVE, 50);
	add_trace();
	live_pair_deliver_all(&fixture.pair);
	(void)ask_index();
	assert_index(LIVE_INDEX_OK, 0);
	fixture_close();
}
END_TEST

/*
 * Packets and beacons are seen at once, publications by a message: a viewer
 * must not be given a time beyond the beginning of a stream whose message is
 * still under way (live 4.6, point 4).
 */
START_TEST(no_time_is_given_while_a_publication_is_under_way)
{
	fixture_open_attached(_i < 2);
	add_trace();
	if (_i % 2 == 0)
		live_pair_beacon(fixture.data, 60);
	else
		packet(0);
	if (_i < 2)
		ck_assert_int_eq(ask_index(), LIVE_HOLD);
	else
		assert_index(LIVE_INDEX_RETRY, 0);
	while (fixture.pair.n_waiting > 0)
		ck_assert(live_pair_deliver(&fixture.pair));
	ck_assert_int_eq(ask_index(), LIVE_REPLY);
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).flags & LIVE_FLAG_NEW_STREAM,
	    LIVE_FLAG_NEW_STREAM);
	fixture_close();
}
END_TEST

/* Another data stream of the same trace, known to the viewer. */
static struct stream *
add_stream(void)
{
	struct stream *t = live_pair_stream(
	    fixture.session, "ust/uid", "ch_1", 0, 0);

	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_new_streams, session_id()), 1);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 1);
	return t;
}

static enum live_outcome
ask(const struct stream *t)
{
	return fixture_ask(LIVE_CMD_get_next_index, fixture_id(t));
}

/* Whatever its pause: at one stream it must not wait for another. */
START_TEST(who_asks_in_turn_is_not_held)
{
	struct stream *other;

	fixture_open_attached(true);
	other = add_stream();
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(ask(fixture.data), LIVE_REPLY);
		ck_assert_int_eq(ask(other), LIVE_REPLY);
		fixture_wait_ms(_i == 0 ? 1 : 100);
	}
	/* Now it stays at one. */
	ck_assert_int_eq(ask(other), LIVE_HOLD);
	fixture_close();
}
END_TEST

/* babeltrace 1.5 asks in turn and is held, until a packet comes anywhere. */
START_TEST(who_lists_first_is_let_go_by_any_packet)
{
	struct live_pair_packet p = fixture_packet(0);
	struct stream *other;

	fixture_open(true);
	viewer_destroy(fixture.viewer);
	fixture.viewer = fixture_viewer(false, 4);
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
	(void)fixture_ask(LIVE_CMD_get_metadata, fixture_id(fixture.metadata));
	other = add_stream();
	ck_assert_int_eq(ask(fixture.data), LIVE_REPLY);
	ck_assert_int_eq(ask(other), LIVE_HOLD);
	ck_assert(fixture.held.is_turn);
	live_pair_beacon(fixture.data, 5);
	ck_assert_ptr_eq(fixture.pair.woken, fixture.data->log);
	ck_assert(!viewer_is_its_turn(fixture.viewer, fixture.data->log));
	live_pair_packet(fixture.data, &p);
	ck_assert_ptr_eq(fixture.pair.woken, fixture.data->log);
	ck_assert(viewer_is_its_turn(fixture.viewer, fixture.data->log));
	/* It is not read yet: no time to wait elsewhere. */
	ck_assert_int_eq(ask(other), LIVE_REPLY);
	assert_index(LIVE_INDEX_OK, 90);
	ck_assert_int_eq(ask(other), LIVE_REPLY);
	ck_assert_int_eq(ask(other), LIVE_HOLD);
	fixture_close();
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ nothing_is_held_by_the_rule, ARRAY_LEN(rows), 0 },
		{ babeltrace_1_is_held_after_one, 0, 0 },
		{ nothing_is_held_when_told_so, 0, 0 },
		{ each_news_counts_anew, 0, 0 },
		{ the_limit_is_the_live_period_at_most_a_second,
		    ARRAY_LEN(limits), 0 },
		{ news_of_this_stream_wake, 0, 0 },
		{ nobody_waits_nobody_is_woken, 0, 0 },
		{ an_interrupted_nothing_reads_as_detached, 2, 0 },
		{ an_interrupted_answer_with_news_stays_one, 0, 0 },
		{ a_nothing_at_its_limit_is_an_ordinary_one, 0, 0 },
		{ new_streams_are_waited_for_without_data_streams, 0, 0 },
		{ new_streams_beside_data_streams_do_not_count, 0, 0 },
		{ metadata_is_waited_for_until_there_is_some, 2, 0 },
		{ a_published_stream_is_news, 0, 0 },
		{ a_published_stream_without_metadata_is_none, 0, 0 },
		{ published_metadata_without_a_stream_is_none, 0, 0 },
		{ an_empty_ok_once_for_a_viewer_that_ignores_the_flag, 0, 0 },
		{ an_empty_ok_per_publication, 0, 0 },
		{ no_empty_ok_before_the_class_is_known, 0, 0 },
		{ an_empty_ok_only_for_viewers_that_need_it, ARRAY_LEN(viewers),
		    0 },
		{ a_babeltrace2_that_waited_for_its_session_stays_one, 0, 0 },
		{ no_time_is_given_while_a_publication_is_under_way, 4, 0 },
		{ who_asks_in_turn_is_not_held, 2, 0 },
		{ who_lists_first_is_let_go_by_any_packet, 0, 0 },
	};

	return unit_run("viewer_hold", units, ARRAY_LEN(units));
}
