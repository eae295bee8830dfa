/* SPDX-License-Identifier: MIT */
/*
 * Every message of the recorded viewer connections: requests are read whole,
 * replies are taken apart by the layouts of live 1.5 and put together by our
 * encoders, and come out byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/reader.h"
#include "proto/live.h"
#include "tests/lib/dialogue.h"
#include "tests/lib/unit.h"

static const char *const recorded[] = { "live-peruid", "live-perpid",
	"live-inactive", "live-clear", "live-bigpkt", "live-begin", "live-list",
	"live-errors-1", "live-errors-2", "live-bt1" };

#define VIEWER_SESSION 16 /* of CONNECT: any value, never looked at */

static void
check_request(const struct dialogue_part *part, struct live_request *q)
{
	struct buf out = { 0 };
	struct bytes want = bytes_copy(part->p, part->n);
	size_t used = 0;

	ck_assert_int_eq(live_request_decode(want.p, want.n, q, &used), OK);
	ck_assert_uint_eq(used, part->n);
	live_request_encode(&out, q);
	ck_assert_uint_eq(buf_len(&out), part->n);
	if (q->cmd == LIVE_CMD_connect)
		memset(want.p + VIEWER_SESSION, 0xff, 8);
	ck_assert_mem_eq(buf_data(&out), want.p, want.n);
	buf_free(&out);
	free(want.p);
}

static void
echo_sessions(struct reader *r, struct buf *out)
{
	uint32_t n = reader_u32(r);

	live_reply_u32(out, n);
	for (; n > 0; n--) {
		struct live_session_record s = { .id = reader_u64(r) };

		s.live_timer_us = reader_u32(r);
		s.clients = reader_u32(r);
		s.streams = reader_u32(r);
		s.hostname = reader_cstr_array(r, 64).p;
		s.name = reader_cstr_array(r, 255).p;
		live_reply_session(out, 4, &s);
	}
}

static void
echo_streams(struct reader *r, struct buf *out)
{
	uint32_t n;

	live_reply_u32(out, reader_u32(r));
	n = reader_u32(r);
	live_reply_u32(out, n);
	for (; n > 0; n--) {
		struct live_stream_record s = { .id = reader_u64(r) };

		s.trace_id = reader_u64(r);
		s.is_metadata = reader_u32(r) != 0;
		s.path = reader_cstr_array(r, 4096).p;
		s.channel = reader_cstr_array(r, 255).p;
		live_reply_stream(out, &s);
	}
}

static void
echo_index(struct reader *r, struct buf *out)
{
	struct live_index i = { .offset = reader_u64(r) };

	i.packet_size = reader_u64(r);
	i.content_size = reader_u64(r);
	i.timestamp_begin = reader_u64(r);
	i.timestamp_end = reader_u64(r);
	i.events_discarded = reader_u64(r);
	i.ctf_stream = reader_u64(r);
	i.status = reader_u32(r);
	i.flags = reader_u32(r);
	live_reply_index(out, &i);
}

static void
echo_packet(struct reader *r, struct buf *out)
{
	uint32_t status = reader_u32(r), length = reader_u32(r);

	live_reply_packet(out, status, length, reader_u32(r));
	buf_bytes(out, r->p, length);
	(void)reader_take(r, length);
}

static void
echo_metadata(struct reader *r, struct buf *out)
{
	uint64_t length = reader_u64(r);

	live_reply_metadata(out, length, reader_u32(r));
	buf_bytes(out, r->p, (size_t)length);
	(void)reader_take(r, length);
}

static void
echo_reply(uint32_t cmd, struct reader *r, struct buf *out)
{
	uint64_t id;
	uint32_t major;

	switch (cmd) {
	case LIVE_CMD_connect:
		id = reader_u64(r);
		major = reader_u32(r);
		live_reply_connect(out, id, major, reader_u32(r));
		ck_assert_uint_eq(reader_u32(r), 0);
		break;
	case LIVE_CMD_list_sessions:
		echo_sessions(r, out);
		break;
	case LIVE_CMD_attach_session:
	case LIVE_CMD_get_new_streams:
		echo_streams(r, out);
		break;
	case LIVE_CMD_get_next_index:
		echo_index(r, out);
		break;
	case LIVE_CMD_get_packet:
		echo_packet(r, out);
		break;
	case LIVE_CMD_get_metadata:
		echo_metadata(r, out);
		break;
	default:
		live_reply_u32(out, reader_u32(r));
		break;
	}
}

TEST_ROWS(recorded_messages_come_back_byte_by_byte, ARRAY_LEN(recorded))
{
	struct dialogue d = dialogue_read(recorded[_i]);
	struct live_request q = { 0 };
	unsigned replies = 0;

	for (size_t i = 0; i < d.n; i++) {
		const struct dialogue_part *part = &d.parts[i];
		struct reader r = reader_over(part->p, part->n);
		struct buf out = { 0 };

		if (!part->is_reply) {
			check_request(part, &q);
			continue;
		}
		echo_reply(q.cmd, &r, &out);
		ck_assert_msg(reader_done(&r) == OK && reader_left(&r) == 0,
		    "part %zu: not the layout of command %u", i, q.cmd);
		ck_assert_uint_eq(buf_len(&out), part->n);
		ck_assert_mem_eq(buf_data(&out), part->p, part->n);
		buf_free(&out);
		replies++;
	}
	ck_assert_uint_ge(replies, 2);
	dialogue_free(&d);
}

static bool seen[16];

TEST(every_command_was_recorded)
{
	for (size_t n = 0; n < ARRAY_LEN(recorded); n++) {
		struct dialogue d = dialogue_read(recorded[n]);
		struct live_request q;

		for (size_t i = 0; i < d.n; i++) {
			if (d.parts[i].is_reply)
				continue;
			check_request(&d.parts[i], &q);
			seen[q.cmd % ARRAY_LEN(seen)] = true;
		}
		dialogue_free(&d);
	}
#define LIVE(wire, name, allowed, size, status_at) \
	ck_assert_msg(seen[wire], "nobody sent " #name);
#include "proto/live.tbl.h"
#undef LIVE
}
