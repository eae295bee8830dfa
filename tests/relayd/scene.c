/* SPDX-License-Identifier: MIT */
#include "tests/relayd/scene.h"

#include <check.h>
#include <string.h>

#include "common/clock.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "relayd/live/viewer_internal.h"

struct scene scene;

static char peer[] = "viewer";
static uint64_t now_ns;

void
scene_wait_ms(uint64_t ms)
{
	now_ns += ms * NS_PER_MS;
	clock_freeze(now_ns, 1600000000);
}

struct viewer *
scene_viewer(bool is_babeltrace2, uint32_t minor)
{
	struct viewer *v;

	ck_assert_int_eq(viewer_create(&v, &scene.studio.viewers, peer), OK);
	(void)studio_tell(v,
	    &(struct live_request){ .cmd = LIVE_CMD_connect,
		.major = 2,
		.minor = minor,
		.type = LIVE_CLIENT_COMMAND },
	    &scene.out);
	ck_assert_uint_eq(buf_len(&scene.out), 20);
	for (int i = 0; i < 2; i++)
		(void)studio_tell(v,
		    &(struct live_request){
			.cmd = (i == 0) == is_babeltrace2
				   ? LIVE_CMD_create_session
				   : LIVE_CMD_list_sessions },
		    &scene.out);
	return v;
}

void
scene_open(bool holds_replies)
{
	now_ns = NS_PER_S;
	scene_wait_ms(0);
	studio_open(&scene.studio, holds_replies, 0);
	scene.session = studio_session(
	    &scene.studio, "one", SCENE_PERIOD_US, false);
	scene.metadata = studio_stream(
	    scene.session, "ust/uid", "metadata", 0, 0);
	scene.data = studio_stream(scene.session, "ust/uid", "ch_0", 0, 0);
	session_publish(scene.session);
	studio_metadata(scene.metadata, SCENE_METADATA, SCENE_METADATA_LEN);
	studio_deliver_all(&scene.studio);
	scene.viewer = scene_viewer(true, 4);
}

uint32_t
scene_attach(struct viewer *v, uint32_t seek)
{
	(void)studio_tell(v,
	    &(struct live_request){ .cmd = LIVE_CMD_attach_session,
		.id = scene.session->live->id,
		.seek = seek },
	    &scene.out);
	return studio_u32(&scene.out, 0);
}

void
scene_open_attached(bool holds_replies)
{
	scene_open(holds_replies);
	ck_assert_uint_eq(
	    scene_attach(scene.viewer, LIVE_SEEK_BEGINNING), LIVE_ATTACH_OK);
	(void)scene_ask(LIVE_CMD_get_metadata, scene_id(scene.metadata));
	ck_assert_uint_eq(buf_len(&scene.out), 12 + SCENE_METADATA_LEN);
}

void
scene_close(void)
{
	while (!list_empty(&scene.studio.viewers.all))
		viewer_destroy(
		    list_first(&scene.studio.viewers.all, struct viewer, node));
	studio_close(&scene.studio);
	buf_free(&scene.out);
}

enum live_outcome
scene_ask_full(const struct live_request *q)
{
	return studio_ask(scene.viewer, q,
	    &(struct live_how){
		.arrived_ns = clock_now_ns(), .may_hold = true },
	    &scene.out, &scene.held);
}

enum live_outcome
scene_ask(uint32_t cmd, uint64_t id)
{
	return scene_ask_full(&(struct live_request){ .cmd = cmd, .id = id });
}

uint32_t
scene_tell(uint32_t cmd, uint64_t id)
{
	size_t at = cmd == LIVE_CMD_get_metadata     ? 8
		    : cmd == LIVE_CMD_get_next_index ? 56
						     : 0;

	ck_assert_int_eq(
	    studio_tell(scene.viewer,
		&(struct live_request){ .cmd = cmd, .id = id }, &scene.out),
	    LIVE_REPLY);
	return studio_u32(&scene.out, at);
}

struct live_index
scene_index(void)
{
	(void)scene_tell(LIVE_CMD_get_next_index, scene_id(scene.data));
	return studio_index_of(&scene.out);
}

uint64_t
scene_id(const struct stream *t)
{
	return t->live->id;
}

struct studio_packet
scene_packet(uint64_t seq)
{
	return (struct studio_packet){ .seq = seq,
		.begin = seq * 100 + 10,
		.end = seq * 100 + 90,
		.bytes = 64,
		.tag = seq << 32,
		.ctf_stream = STUDIO_CLASS };
}
