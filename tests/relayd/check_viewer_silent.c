/* SPDX-License-Identifier: MIT */
/* Streams are announced when something was heard of them, or after a second;
 * until then others wait for them (viewer_streams.c). */
#include "common/clock.h"
#include "relayd/session.h"
#include "relayd/stream.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scene.h"

static struct stream *data, *metadata;

/* A viewer reads, then a process begins, of which nothing is heard. */
static void
begin(void)
{
	scene_open_attached(true);
	scene.studio.gallery.quiet_ns = NS_PER_S;
	metadata = studio_stream(scene.session, "ust/2", "metadata", 0, 0);
	data = studio_stream(scene.session, "ust/2", "ch_0", 0, 0);
	session_publish(scene.session);
	studio_deliver_all(&scene.studio);
	scene_wait_ms(300);
}

static enum live_outcome
ask_index(void)
{
	return scene_ask(LIVE_CMD_get_next_index, scene_id(scene.data));
}

static void
something(bool is_packet)
{
	struct studio_packet p = scene_packet(0);

	if (is_packet)
		studio_packet(scene.data, &p);
	else
		studio_beacon(scene.data, 60);
}

static uint32_t
announced(void)
{
	ck_assert_uint_eq(
	    scene_tell(LIVE_CMD_get_new_streams, scene.session->live->id),
	    LIVE_STREAMS_OK);
	return studio_u32(&scene.out, 4);
}

static void
assert_flagged(void)
{
	ck_assert_int_eq(ask_index(), LIVE_REPLY);
	ck_assert_uint_eq(
	    studio_index_of(&scene.out).flags, LIVE_FLAG_NEW_STREAM);
}

/* What lets others go on: a beacon of the new stream, or its packet. */
START_TEST(others_wait_until_it_is_heard)
{
	struct studio_packet p = scene_packet(0);

	begin();
	something(_i % 2 == 0);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	ck_assert(scene.held.is_any);
	ck_assert_uint_eq(
	    scene.held.until_ns, clock_now_ns() + 700 * NS_PER_MS);
	ck_assert_uint_eq(announced(), 0);
	studio_metadata(metadata, "no class yet;", 13);
	ck_assert_ptr_eq(scene.studio.woken, metadata->metadata);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	ck_assert_uint_eq(announced(), 0);
	if (_i < 2)
		studio_beacon(data, 70);
	else
		studio_packet(data, &p);
	ck_assert_ptr_eq(scene.studio.woken, data->log);
	assert_flagged();
	ck_assert_uint_eq(announced(), 2);
	scene_close();
}
END_TEST

/* What is of a time long before the process began is given: who is behind
 * reads on while others come and go. */
START_TEST(the_past_does_not_wait)
{
	struct studio_packet p = scene_packet(0);

	scene_open_attached(true);
	scene.studio.gallery.quiet_ns = NS_PER_S;
	if (_i == 2)
		studio_beacon(scene.data, VIEWER_LATE_TICKS + 89);
	for (uint64_t seq = 0; _i < 2 && seq < 20; seq++) {
		p = scene_packet(seq);
		if (seq == 19)
			p.end = VIEWER_LATE_TICKS + 89 + (unsigned)_i;
		studio_packet(scene.data, &p);
	}
	(void)studio_stream(scene.session, "ust/2", "metadata", 0, 0);
	(void)studio_stream(scene.session, "ust/2", "ch_0", 0, 0);
	session_publish(scene.session);
	studio_deliver_all(&scene.studio);
	/* Until 89 or 90, and the packet ends at 90. */
	ck_assert_int_eq(ask_index(), _i == 1 ? LIVE_REPLY : LIVE_HOLD);
	if (_i == 1)
		ck_assert_int_eq(ask_index(), LIVE_HOLD);
	scene_close();
}
END_TEST

/* Neither of its metadata nor of its data for a second: as it is. */
START_TEST(others_wait_for_a_second)
{
	begin();
	something(true);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	scene_wait_ms(699);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	scene_wait_ms(1);
	assert_flagged();
	ck_assert_uint_eq(announced(), 2);
	scene_close();
}
END_TEST

/* An index without metadata is not enough. */
START_TEST(metadata_is_needed)
{
	begin();
	studio_beacon(data, 70);
	something(true);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	studio_metadata(metadata, "declarations;", 13);
	assert_flagged();
	scene_close();
}
END_TEST

/* Nothing to read and nothing heard: one "nothing" more is no harm, and then
 * it is held; the new stream ends it. */
START_TEST(an_idle_viewer_is_woken)
{
	begin();
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask_index(), LIVE_REPLY);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	ck_assert(scene.held.is_any);
	studio_metadata(metadata, "declarations;", 13);
	studio_beacon(data, 70);
	ck_assert_ptr_eq(scene.studio.woken, data->log);
	assert_flagged();
	scene_close();
}
END_TEST

/* A viewer that has no stream yet waits in GET_NEW_STREAMS. */
START_TEST(new_streams_are_held_until_one_is_heard)
{
	scene_open(true);
	scene.studio.gallery.quiet_ns = NS_PER_S;
	ck_assert_uint_eq(
	    scene_attach(scene.viewer, LIVE_SEEK_LAST), LIVE_ATTACH_OK);
	ck_assert_uint_eq(studio_u32(&scene.out, 4), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(announced(), 0);
	ck_assert_int_eq(
	    scene_ask(LIVE_CMD_get_new_streams, scene.session->live->id),
	    LIVE_HOLD);
	ck_assert(scene.held.is_any);
	studio_beacon(scene.data, 5);
	ck_assert_ptr_eq(scene.studio.woken, scene.data->log);
	ck_assert_int_eq(
	    scene_ask(LIVE_CMD_get_new_streams, scene.session->live->id),
	    LIVE_REPLY);
	ck_assert_uint_eq(studio_u32(&scene.out, 4), 2);
	scene_close();
}
END_TEST

/* A channel that comes later has its class in metadata that comes later. */
START_TEST(each_stream_of_a_known_trace_is_heard_itself)
{
	struct stream *t;

	scene_open_attached(true);
	scene.studio.gallery.quiet_ns = NS_PER_S;
	t = studio_stream(scene.session, "ust/uid", "late_0", 0, 0);
	session_publish(scene.session);
	studio_deliver_all(&scene.studio);
	ck_assert_ptr_nonnull(t->live);
	ck_assert_uint_eq(t->live->trace_id, scene.data->live->trace_id);
	something(true);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	studio_beacon(t, 3);
	assert_flagged();
	ck_assert_uint_eq(announced(), 1);
	scene_close();
}
END_TEST

/* Ctrl-C while it waits: babeltrace2 takes what comes for its DETACH's OK. */
START_TEST(an_interrupted_wait_reads_as_detached)
{
	begin();
	something(true);
	ck_assert_int_eq(ask_index(), LIVE_HOLD);
	ck_assert_int_eq(
	    studio_ask(scene.viewer,
		&(struct live_request){ .cmd = LIVE_CMD_get_next_index,
		    .id = scene_id(scene.data) },
		&(struct live_how){ .arrived_ns = clock_now_ns(),
		    .is_interrupted = true,
		    .was_held = true },
		&scene.out, &scene.held),
	    LIVE_REPLY);
	ck_assert_uint_eq(studio_u32(&scene.out, 0), LIVE_DETACH_OK);
	ck_assert_uint_eq(studio_index_of(&scene.out).status, LIVE_INDEX_RETRY);
	scene_close();
}
END_TEST

/* --live-hold=off: asked again instead. */
START_TEST(nothing_waits_when_told_so)
{
	begin();
	scene.studio.gallery.holds_replies = false;
	something(true);
	ck_assert_int_eq(ask_index(), LIVE_REPLY);
	ck_assert_uint_eq(studio_index_of(&scene.out).status, LIVE_INDEX_RETRY);
	ck_assert_uint_eq(studio_index_of(&scene.out).flags, 0);
	studio_metadata(metadata, "declarations;", 13);
	studio_beacon(data, 70);
	assert_flagged();
	scene_close();
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ others_wait_until_it_is_heard, 4, 0 },
		{ the_past_does_not_wait, 3, 0 },
		{ others_wait_for_a_second, 0, 0 },
		{ metadata_is_needed, 0, 0 },
		{ an_idle_viewer_is_woken, 0, 0 },
		{ new_streams_are_held_until_one_is_heard, 0, 0 },
		{ each_stream_of_a_known_trace_is_heard_itself, 0, 0 },
		{ an_interrupted_wait_reads_as_detached, 0, 0 },
		{ nothing_waits_when_told_so, 0, 0 },
	};

	return unit_run("viewer_silent", units, ARRAY_LEN(units));
}
