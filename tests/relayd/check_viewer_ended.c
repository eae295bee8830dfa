/* SPDX-License-Identifier: MIT */
/* Processes come and go, and a viewer does not read: what waits for this viewer
 * is bounded (W9). */
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "relayd/live/viewer_internal.h"
#include "tests/lib/unit.h"
#include "tests/relayd/fixture.h"

#define MAX 8

static uint32_t
announced(void)
{
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_new_streams, fixture.session->live->id),
	    LIVE_STREAMS_OK);
	return live_pair_u32(&fixture.out, 4);
}

/* A process with two data streams, each of one packet; IS_TOLD: the viewer
 * hears of it while it runs. */
static void
process(unsigned n, bool is_told)
{
	char path[32];
	struct live_pair_packet p = fixture_packet(0);
	struct stream *t[3];

	(void)snprintf(path, sizeof(path), "ust/pid/%u", n);
	for (unsigned i = 0; i < 3; i++)
		t[i] = live_pair_stream(fixture.session, path,
		    i == 0   ? "metadata"
		    : i == 1 ? "c_0"
			     : "c_1",
		    0, 0);
	session_publish(fixture.session);
	live_pair_metadata(t[0], "declarations;", 13);
	live_pair_packet(t[1], &p);
	live_pair_packet(t[2], &p);
	live_pair_deliver_all(&fixture.pair);
	if (is_told)
		ck_assert_uint_eq(announced(), 3);
	for (unsigned i = 0; i < 3; i++)
		stream_close(t[(i + 1) % 3], i == 2 ? UINT64_MAX : 0);
	live_pair_deliver_all(&fixture.pair);
}

EACH_TEST(NULL, fixture_close)

TEST(the_oldest_unannounced_streams_are_lost)
{
	fixture_open_attached(true);
	fixture.pair.viewers.max_ended = MAX;
	for (unsigned n = 0; n < 100; n++)
		process(n, false);
	ck_assert_uint_eq(fixture.viewer->n_ended, MAX);
	ck_assert_uint_eq(fixture.viewer->lost, 2 * 100 - MAX);
	ck_assert(!fixture.viewer->is_to_be_closed);
	/* The latest four are whole. */
	ck_assert_uint_eq(announced(), 3 * MAX / 2);
	ck_assert_str_eq(
	    (const char *)buf_data(&fixture.out) + 8 + 20, "ust/pid/96");
	/* And what was announced to it stays, however many follow. */
	for (unsigned n = 100; n < 120; n++)
		process(n, false);
	ck_assert_uint_eq(fixture.viewer->n_ended, MAX);
	ck_assert_uint_eq(announced(), 0);
}

TEST(a_viewer_that_asks_and_does_not_read_is_closed)
{
	fixture_open_attached(true);
	fixture.pair.viewers.max_ended = MAX;
	for (unsigned n = 0; n < VIEWER_ENDED_TOLD * MAX / 2; n++) {
		process(n, true);
		ck_assert(!fixture.viewer->is_to_be_closed);
	}
	process(100, true);
	ck_assert(fixture.viewer->is_to_be_closed);
	ck_assert(fixture.pair.viewers.has_to_be_closed);
}

/* Memory for viewers is short: a viewer that has little gets more, one that has
 * much does not, and none is still counted at the end. */
TEST(positions_are_counted)
{
	struct viewers *vs = &fixture.pair.viewers;
	struct viewer *other;

	fixture_open_attached(true);
	unit_capture_stderr();
	ck_assert_uint_eq(
	    account_used(&vs->memory), 2 * VIEWER_POSITION_MEMORY);
	account_init(&vs->memory, 320 * VIEWER_POSITION_MEMORY,
	    640 * VIEWER_POSITION_MEMORY, 10 * VIEWER_POSITION_MEMORY);
	account_add(&vs->memory, 2 * VIEWER_POSITION_MEMORY);
	for (unsigned i = 2; i < 400; i++) {
		char channel[16];

		(void)snprintf(channel, sizeof(channel), "c_%u", i);
		(void)live_pair_stream(
		    fixture.session, "ust/uid", channel, 0, 0);
	}
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_uint_eq(
	    account_used(&vs->memory), 320 * VIEWER_POSITION_MEMORY);
	/* Errors, and one warning, which is counted apart. */
	ck_assert_uint_eq(unit_stderr_lines(), LOG_PEER_LINES + 1);
	ck_assert_uint_eq(fixture.viewer->memory, account_used(&vs->memory));
	other = fixture_viewer(true, 4);
	ck_assert_uint_eq(
	    fixture_attach(other, LIVE_SEEK_LAST), LIVE_ATTACH_UNKNOWN);
	ck_assert_uint_eq(other->memory, 0);
	(void)live_pair_session(&fixture.pair, "few", 1000000, false);
	live_pair_deliver_all(&fixture.pair);
	viewer_destroy(fixture.viewer);
	ck_assert_uint_eq(account_used(&vs->memory), 0);
	fixture.viewer = other;
}

/* As long as streams linger, no viewer alone keeps them: it may read all of
 * them, however many there are. */
TEST(streams_that_linger_cost_no_viewer_anything)
{
	struct viewers *vs = &fixture.pair.viewers;
	struct viewer *other;

	fixture_open_attached(true);
	vs->linger_ns = NS_PER_S;
	vs->max_ended = MAX;
	for (unsigned n = 0; n < 20; n++)
		process(n, false);
	other = fixture_viewer(true, 4);
	ck_assert_uint_eq(
	    fixture_attach(other, LIVE_SEEK_BEGINNING), LIVE_ATTACH_OK);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 2 + 60);
	viewer_destroy(other);
	ck_assert_uint_eq(announced(), 60);
	ck_assert_uint_eq(fixture.viewer->n_ended, 0);
	ck_assert_uint_eq(viewers_end_lingering(vs, clock_now_ns()),
	    clock_now_ns() + NS_PER_S);
	fixture_wait_ms(1000);
	ck_assert_uint_eq(
	    viewers_end_lingering(vs, clock_now_ns()), UINT64_MAX);
	ck_assert_uint_eq(fixture.viewer->n_ended, 40);
	ck_assert_uint_eq(vs->n_lingering_streams, 0);
}

TEST(the_oldest_of_too_many_that_linger_give_way)
{
	struct viewers *vs = &fixture.pair.viewers;

	fixture_open(true);
	unit_capture_stderr();
	vs->linger_ns = NS_PER_S;
	vs->max_lingering_streams = 6;
	for (unsigned n = 0; n < 4; n++)
		process(n, false);
	ck_assert_uint_eq(vs->n_lingering_streams, 6);
	ck_assert_uint_eq(unit_stderr_lines(), 1);
	fixture.viewer = fixture_viewer(true, 4);
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 2 + 6);
}

static void
publish_some(struct stream *t[], unsigned n, unsigned from)
{
	char channel[16];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(channel, sizeof(channel), "c_%u", from + i);
		t[i] = live_pair_stream(
		    fixture.session, "ust/uid", channel, 0, 0);
		live_pair_packet(
		    t[i], &(struct live_pair_packet){ .bytes = 64 });
	}
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
}

static void
close_some(struct stream *t[], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		stream_close(t[i], 0);
	live_pair_deliver_all(&fixture.pair);
}

/* Streams that are closed and not read are kept by their viewers alone: the one
 * with most of them gives way, and another loses nothing. */
TEST(closed_streams_are_counted)
{
	struct viewers *vs = &fixture.pair.viewers;
	struct viewer *greedy, *few;
	struct stream *t[100];

	fixture_open_attached(true);
	greedy = fixture.viewer;
	publish_some(t, 100, 0);
	close_some(t, 100);
	few = fixture_viewer(true, 4);
	ck_assert_uint_eq(fixture_attach(few, LIVE_SEEK_LAST), LIVE_ATTACH_OK);
	publish_some(t, 100, 100);
	vs->memory.hard = account_used(&vs->memory) + 150 * VIEWER_ENDED_MEMORY;
	close_some(t, 100);
	ck_assert_uint_le(account_used(&vs->memory), vs->memory.hard);
	ck_assert_uint_ge(greedy->lost, 40);
	ck_assert_uint_lt(greedy->lost, 50);
	ck_assert_uint_eq(few->n_ended, 100);
	ck_assert_uint_eq(few->lost, 0);
	ck_assert(!greedy->is_to_be_closed && !few->is_to_be_closed);
	/* A viewer to which all were announced is closed. */
	(void)announced();
	vs->memory.hard = UINT64_MAX;
	publish_some(t, 1, 200);
	vs->memory.hard = account_used(&vs->memory);
	close_some(t, 1);
	ck_assert(greedy->is_to_be_closed && vs->has_to_be_closed &&
		  !few->is_to_be_closed);
}

/* V attaches to a new session, with one stream that can be read, which then
 * ends. */
static void
watch_a_session_end(struct viewer *v)
{
	struct session *s = live_pair_session(
	    &fixture.pair, "short", FIXTURE_PERIOD_US, false);
	struct live_pair_packet p = fixture_packet(0);
	struct stream *t[] = { live_pair_stream(s, "ust", "metadata", 0, 0),
		live_pair_stream(s, "ust", "c", 0, 0) };
	const uint64_t id = s->live->id;

	session_publish(s);
	live_pair_metadata(t[0], "declarations;", 13);
	live_pair_packet(t[1], &p);
	live_pair_deliver_all(&fixture.pair);
	(void)live_pair_tell(v,
	    &(struct live_request){ .cmd = LIVE_CMD_attach_session,
		.id = id,
		.seek = LIVE_SEEK_BEGINNING },
	    &fixture.out);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0), LIVE_ATTACH_OK);
	session_end(s, false);
	live_pair_deliver_all(&fixture.pair);
}

/* An ended session's directory stays open for its viewers. A viewer with many
 * of them is closed; one with a single one may read it to its end. */
TEST(ended_sessions_are_counted)
{
	struct viewers *vs = &fixture.pair.viewers;
	struct viewer *greedy, *few[MAX];

	fixture_open(true);
	greedy = fixture.viewer;
	vs->max_ended_sessions = MAX;
	for (unsigned i = 0; i < MAX; i++) {
		few[i] = fixture_viewer(true, 4);
		watch_a_session_end(few[i]);
	}
	ck_assert_uint_eq(vs->n_ended_sessions, MAX);
	watch_a_session_end(greedy);
	ck_assert(!vs->has_to_be_closed);
	watch_a_session_end(greedy);
	ck_assert(vs->has_to_be_closed && greedy->is_to_be_closed);
	for (unsigned i = 0; i < MAX; i++)
		ck_assert(
		    !few[i]->is_to_be_closed && few[i]->n_ended_sessions == 1);
	viewer_destroy(greedy);
	ck_assert_uint_eq(vs->n_ended_sessions, MAX);
	while (!list_empty(&vs->all))
		viewer_destroy(list_first(&vs->all, struct viewer, node));
	ck_assert_uint_eq(vs->n_ended_sessions, 0);
}
