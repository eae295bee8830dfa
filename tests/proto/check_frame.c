/* SPDX-License-Identifier: MIT */
#include "proto/frame.h"

#include <stdlib.h>

#include "common/buf.h"
#include "proto/relay.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

TEST(a_frame_is_whole_when_its_last_byte_is_there)
{
	struct relay_header hdr;
	struct reader body;
	struct bytes b = bytes_hex("0123456789abcdef 0000000000000008 00000016"
				   "00000063 0000000000000001 ff");

	for (size_t n = 0; n < b.n; n++) {
		struct bytes cut = bytes_copy(b.p, n);

		ck_assert_int_eq(
		    frame_relay(cut.p, n, &hdr, &body), n < 32 ? E_MORE : OK);
		if (n >= RELAY_HEADER_LEN) {
			ck_assert_uint_eq(hdr.size, 8);
			ck_assert_uint_eq(hdr.cmd, 22);
		}
		free(cut.p);
	}
	ck_assert_int_eq(frame_relay(b.p, b.n, &hdr, &body), OK);
	ck_assert_ptr_eq(body.p, b.p + RELAY_HEADER_LEN);
	ck_assert_uint_eq(reader_left(&body), 8);
	free(b.p);
}

TEST(an_empty_payload_needs_no_more)
{
	struct bytes b = bytes_hex("0000000000000000 0000000000000000"
				   "00000010 00000000");
	struct relay_header hdr;
	struct reader body;

	ck_assert_int_eq(frame_relay(b.p, b.n, &hdr, &body), OK);
	ck_assert_uint_eq(hdr.size, 0);
	ck_assert_uint_eq(reader_left(&body), 0);
	free(b.p);
}

static const struct {
	uint32_t cmd;
	uint64_t max;
} limits[] = {
	{ RELAY_CMD_version, 8192 },
	{ RELAY_CMD_create_session, 8192 },
	{ RELAY_CMD_add_stream, 8192 },
	{ RELAY_CMD_send_index, 8192 },
	{ RELAY_CMD_udp_open, 8192 },
	{ RELAY_CMD_rotate_streams, UINT64_C(1) << 20 },
	{ RELAY_CMD_send_metadata, RELAY_PAYLOAD_MAX },
	{ 0, RELAY_UNKNOWN_MAX },
	{ 4, RELAY_UNKNOWN_MAX },
	{ 12, RELAY_UNKNOWN_MAX },
	{ 23, RELAY_UNKNOWN_MAX },
	{ 9999, RELAY_UNKNOWN_MAX },
	{ UINT32_MAX, RELAY_UNKNOWN_MAX },
};

TEST_ROWS(sizes_above_the_limit_are_known_at_the_header, ARRAY_LEN(limits))
{
	const uint64_t max = limits[_i].max;
	const uint64_t hostile[] = { max + 1, RELAY_PAYLOAD_MAX + 1,
		UINT64_C(1) << 32, INT64_MAX, UINT64_MAX - 23, UINT64_MAX };
	struct relay_header hdr;
	struct reader body;
	struct buf b = { 0 };

	frame_relay_encode(&b, limits[_i].cmd, max);
	ck_assert_uint_eq(buf_len(&b), RELAY_HEADER_LEN);
	ck_assert_int_eq(
	    frame_relay(buf_data(&b), buf_len(&b), &hdr, &body), E_MORE);
	ck_assert_uint_eq(hdr.size, max);
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		buf_truncate(&b, 0);
		frame_relay_encode(&b, limits[_i].cmd, hostile[i]);
		ck_assert_int_eq(
		    frame_relay(buf_data(&b), buf_len(&b), &hdr, &body),
		    E_LIMIT);
		ck_assert_uint_eq(hdr.size, hostile[i]);
		ck_assert_uint_eq(hdr.cmd, limits[_i].cmd);
	}
	buf_free(&b);
}

TEST(unknown_commands_are_framed_too)
{
	struct relay_header hdr;
	struct reader body;
	struct buf b = { 0 };

	frame_relay_encode(&b, 10000, RELAY_UNKNOWN_MAX);
	buf_zero(&b, RELAY_UNKNOWN_MAX);
	ck_assert_int_eq(
	    frame_relay(buf_data(&b), buf_len(&b), &hdr, &body), OK);
	ck_assert_uint_eq(hdr.cmd, 10000);
	ck_assert_uint_eq(reader_left(&body), RELAY_UNKNOWN_MAX);
	ck_assert_ptr_null(relay_row(hdr.cmd)->name);
	buf_free(&b);
}
