/* SPDX-License-Identifier: MIT */
/* Processes come and go, and a viewer does not read: what waits for this viewer
 * is bounded (W9). */
#include <stdio.h>

#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "relayd/live/viewer_internal.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scene.h"

#define MAX 8

static uint32_t
announced(void)
{
	ck_assert_uint_eq(
	    scene_tell(LIVE_CMD_get_new_streams, scene.session->live->id),
	    LIVE_STREAMS_OK);
	return studio_u32(&scene.out, 4);
}

/* A process with two data streams, each of one packet; IS_TOLD: the viewer
 * hears of it while it runs. */
static void
process(unsigned n, bool is_told)
{
	char path[32];
	struct studio_packet p = scene_packet(0);
	struct stream *t[3];

	(void)snprintf(path, sizeof(path), "ust/pid/%u", n);
	for (unsigned i = 0; i < 3; i++)
		t[i] = studio_stream(scene.session, path,
		    i == 0   ? "metadata"
		    : i == 1 ? "c_0"
			     : "c_1",
		    0, 0);
	session_publish(scene.session);
	studio_metadata(t[0], "declarations;", 13);
	studio_packet(t[1], &p);
	studio_packet(t[2], &p);
	studio_deliver_all(&scene.studio);
	if (is_told)
		ck_assert_uint_eq(announced(), 3);
	for (unsigned i = 0; i < 3; i++)
		stream_close(t[(i + 1) % 3], i == 2 ? UINT64_MAX : 0);
	studio_deliver_all(&scene.studio);
}

START_TEST(the_oldest_it_was_not_told_of_are_lost)
{
	scene_open_attached(true);
	scene.studio.viewers.max_ended = MAX;
	for (unsigned n = 0; n < 100; n++)
		process(n, false);
	ck_assert_uint_eq(scene.viewer->n_ended, MAX);
	ck_assert_uint_eq(scene.viewer->lost, 2 * 100 - MAX);
	ck_assert(!scene.viewer->is_overdue);
	/* The latest four are whole. */
	ck_assert_uint_eq(announced(), 3 * MAX / 2);
	ck_assert_str_eq(
	    (const char *)buf_data(&scene.out) + 8 + 20, "ust/pid/96");
	/* And what it was told of stays, however many follow. */
	for (unsigned n = 100; n < 120; n++)
		process(n, false);
	ck_assert_uint_eq(scene.viewer->n_ended, MAX);
	ck_assert_uint_eq(announced(), 0);
	scene_close();
}
END_TEST

START_TEST(who_asks_and_does_not_read_is_closed)
{
	scene_open_attached(true);
	scene.studio.viewers.max_ended = MAX;
	for (unsigned n = 0; n < VIEWER_ENDED_TOLD * MAX / 2; n++) {
		process(n, true);
		ck_assert(!scene.viewer->is_overdue);
	}
	process(100, true);
	ck_assert(scene.viewer->is_overdue);
	ck_assert(scene.studio.viewers.has_overdue);
	scene_close();
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ the_oldest_it_was_not_told_of_are_lost, 0, 0 },
		{ who_asks_and_does_not_read_is_closed, 0, 0 },
	};

	return unit_run("viewer_ended", units, ARRAY_LEN(units));
}
