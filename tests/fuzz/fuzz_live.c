/* SPDX-License-Identifier: MIT */
/*
 * The viewer port's bytes: requests of one viewer beside another that is
 * attached, on two sessions with a few packets. Ids are taken modulo a small
 * number, so that they mean something. Each reply must have its layout, and
 * nothing may be left when the viewer goes.
 */
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>

#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "tests/lib/live_pair.h"

#define IDS 12 /* sessions are 1 and 2, streams from 1 on */
#define PACKETS 4
#define REQUESTS_MAX 200

static struct live_pair pair;
static struct session *sessions[2];
static struct viewer *other;
static struct buf out;
static char peer[] = "fuzz";

static void
make_session(struct session **s, const char *name)
{
	struct stream *data, *ring, *metadata;

	*s = live_pair_session(&pair, name, 1000000, name[0] == 'b');
	metadata = live_pair_stream(*s, "ust", "metadata", 0, 0);
	data = live_pair_stream(*s, "ust", "a", 0, 0);
	ring = live_pair_stream(*s, "ust", "b", 128, 2);
	(void)live_pair_stream(*s, "lost", "c", 0, 0);
	session_publish(*s);
	live_pair_metadata(metadata, "metadata", 8);
	for (uint64_t n = 0; n < PACKETS; n++) {
		struct live_pair_packet p = { .seq = n,
			.begin = n * 100,
			.end = n * 100 + 50,
			.bytes = 64,
			.ctf_stream = LIVE_PAIR_CLASS };

		live_pair_packet(data, &p);
		live_pair_packet(ring, &p);
	}
	live_pair_beacon(data, 1000);
}

static void
close_pair(void)
{
	live_pair_close(&pair);
	buf_free(&out);
}

static void
open_pair(void)
{
	if (sessions[0] != NULL)
		return;
	atexit(close_pair);
	live_pair_open(&pair, true, 0);
	make_session(&sessions[0], "a");
	make_session(&sessions[1], "b");
	live_pair_deliver_all(&pair);
}

static enum live_outcome
ask(struct viewer *v, const struct live_request *q, unsigned n)
{
	struct live_how how = { .arrived_ns = n * UINT64_C(50000000),
		.may_hold = n % 3 != 0,
		.is_interrupted = n % 9 == 0 };
	struct live_held held;

	return live_pair_ask(v, q, &how, &out, &held);
}

static void
check_reply(const struct live_request *q)
{
	size_t n = buf_len(&out);

	switch ((enum live_cmd)q->cmd) {
	case LIVE_CMD_connect:
		assert(n == 20);
		break;
	case LIVE_CMD_list_sessions:
		assert(live_pair_u32(&out, 0) <= 2);
		break;
	case LIVE_CMD_attach_session:
	case LIVE_CMD_get_new_streams:
		assert(n == 8 + live_pair_u32(&out, 4) *
				    (size_t)LIVE_STREAM_RECORD_LEN);
		assert(live_pair_u32(&out, 0) == 1 || n == 8);
		break;
	case LIVE_CMD_get_next_index:
		assert(n == 64);
		assert(live_pair_u32(&out, 56) >= LIVE_INDEX_OK &&
		       live_pair_u32(&out, 56) <= LIVE_INDEX_INACTIVE);
		assert(live_pair_u32(&out, 60) < 4);
		break;
	case LIVE_CMD_get_packet:
		assert(n == 12 + (size_t)live_pair_u32(&out, 4));
		assert(live_pair_u32(&out, 0) == LIVE_PACKET_OK ||
		       (live_pair_u32(&out, 0) == LIVE_PACKET_ERR && n == 12));
		break;
	case LIVE_CMD_get_metadata:
		assert(n == 12 + live_pair_u64(&out, 0));
		assert(
		    (live_pair_u32(&out, 8) == LIVE_METADATA_OK) == (n > 12));
		break;
	case LIVE_CMD_create_session:
	case LIVE_CMD_detach_session:
		assert(n == 4);
		break;
	}
}

static void
serve(struct viewer *v, const uint8_t *p, size_t n)
{
	enum live_outcome outcome = LIVE_REPLY;
	struct live_request q;
	size_t used;

	for (unsigned i = 0;
	     i < REQUESTS_MAX && live_request_decode(p, n, &q, &used) == OK;
	     i++) {
		p += used;
		n -= used;
		q.id %= IDS;
		outcome = ask(v, &q, i);
		if (outcome == LIVE_HOLD)
			assert(buf_len(&out) == 0);
		else if (outcome == LIVE_REPLY)
			check_reply(&q);
		else
			break;
		assert(outcome != LIVE_REPLY_LAST || buf_len(&out) == 4);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct live_request start[] = {
		{ .cmd = LIVE_CMD_connect, .major = 2, .minor = 15, .type = 1 },
		{ .cmd = LIVE_CMD_create_session },
		{ .cmd = LIVE_CMD_attach_session, .id = 1, .seek = 1 },
	};
	struct viewer *v;

	open_pair();
	if (viewer_create(&other, &pair.viewers, peer) != OK ||
	    viewer_create(&v, &pair.viewers, peer) != OK)
		abort();
	for (size_t i = 0; i < ARRAY_LEN(start); i++) {
		enum live_outcome outcome = ask(other, &start[i], 0);

		assert(outcome == LIVE_REPLY);
	}
	serve(v, p, n);
	viewer_destroy(v);
	assert(published(&sessions[0]->live->clients) == 1);
	assert(published(&sessions[1]->live->clients) == 0);
	viewer_destroy(other);
	assert(list_empty(&pair.viewers.files.all));
	return 0;
}
