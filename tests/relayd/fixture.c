/* SPDX-License-Identifier: MIT */
#include "tests/relayd/fixture.h"

#include <check.h>
#include <string.h>

#include "common/clock.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "relayd/live/viewer_internal.h"

struct fixture fixture;

static char peer[] = "viewer";
static uint64_t now_ns;

void
fixture_wait_ms(uint64_t ms)
{
	now_ns += ms * NS_PER_MS;
	clock_freeze(now_ns, 1600000000);
}

struct viewer *
fixture_viewer(bool is_babeltrace2, uint32_t minor)
{
	struct viewer *v;

	ck_assert_int_eq(viewer_create(&v, &fixture.pair.viewers, peer), OK);
	(void)live_pair_tell(v,
	    &(struct live_request){ .cmd = LIVE_CMD_connect,
		.major = 2,
		.minor = minor,
		.type = LIVE_CLIENT_COMMAND },
	    &fixture.out);
	ck_assert_uint_eq(buf_len(&fixture.out), 20);
	for (int i = 0; i < 2; i++)
		(void)live_pair_tell(v,
		    &(struct live_request){
			.cmd = (i == 0) == is_babeltrace2
				   ? LIVE_CMD_create_session
				   : LIVE_CMD_list_sessions },
		    &fixture.out);
	return v;
}

void
fixture_open(bool holds_replies)
{
	now_ns = NS_PER_S;
	fixture_wait_ms(0);
	live_pair_open(&fixture.pair, holds_replies, 0);
	fixture.session = live_pair_session(
	    &fixture.pair, "one", FIXTURE_PERIOD_US, false);
	fixture.metadata = live_pair_stream(
	    fixture.session, "ust/uid", "metadata", 0, 0);
	fixture.data = live_pair_stream(
	    fixture.session, "ust/uid", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_metadata(
	    fixture.metadata, FIXTURE_METADATA, FIXTURE_METADATA_LEN);
	live_pair_deliver_all(&fixture.pair);
	fixture.viewer = fixture_viewer(true, 4);
}

uint32_t
fixture_attach(struct viewer *v, uint32_t seek)
{
	(void)live_pair_tell(v,
	    &(struct live_request){ .cmd = LIVE_CMD_attach_session,
		.id = fixture.session->live->id,
		.seek = seek },
	    &fixture.out);
	return live_pair_u32(&fixture.out, 0);
}

void
fixture_open_attached(bool holds_replies)
{
	fixture_open(holds_replies);
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
	(void)fixture_ask(LIVE_CMD_get_metadata, fixture_id(fixture.metadata));
	ck_assert_uint_eq(buf_len(&fixture.out), 12 + FIXTURE_METADATA_LEN);
}

void
fixture_close(void)
{
	while (!list_empty(&fixture.pair.viewers.all))
		viewer_destroy(
		    list_first(&fixture.pair.viewers.all, struct viewer, node));
	live_pair_close(&fixture.pair);
	buf_free(&fixture.out);
}

enum live_outcome
fixture_ask_full(const struct live_request *q)
{
	return live_pair_ask(fixture.viewer, q,
	    &(struct live_how){
		.arrived_ns = clock_now_ns(), .may_hold = true },
	    &fixture.out, &fixture.held);
}

enum live_outcome
fixture_ask(uint32_t cmd, uint64_t id)
{
	return fixture_ask_full(&(struct live_request){ .cmd = cmd, .id = id });
}

uint32_t
fixture_tell(uint32_t cmd, uint64_t id)
{
	size_t at = cmd == LIVE_CMD_get_metadata     ? 8
		    : cmd == LIVE_CMD_get_next_index ? 56
						     : 0;

	ck_assert_int_eq(
	    live_pair_tell(fixture.viewer,
		&(struct live_request){ .cmd = cmd, .id = id }, &fixture.out),
	    LIVE_REPLY);
	return live_pair_u32(&fixture.out, at);
}

struct live_index
fixture_index(void)
{
	(void)fixture_tell(LIVE_CMD_get_next_index, fixture_id(fixture.data));
	return live_pair_index_of(&fixture.out);
}

uint64_t
fixture_id(const struct stream *t)
{
	return t->live->id;
}

struct live_pair_packet
fixture_packet(uint64_t seq)
{
	return (struct live_pair_packet){ .seq = seq,
		.begin = seq * 100 + 10,
		.end = seq * 100 + 90,
		.bytes = 64,
		.tag = seq << 32,
		.ctf_stream = LIVE_PAIR_CLASS };
}
