/* SPDX-License-Identifier: MIT */
#include "proto/relay.h"

#include <stdlib.h>

#include "common/buf.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

/* B holds exactly HEX; B is emptied. */
static void
expect(struct buf *b, const char *hex)
{
	struct bytes want = bytes_hex(hex);

	ck_assert(!b->bad);
	ck_assert_uint_eq(buf_len(b), want.n);
	ck_assert_mem_eq(buf_data(b), want.p, want.n);
	free(want.p);
	buf_free(b);
}

TEST(short_replies_are_as_recorded)
{
	struct buf b = { 0 };

	buf_u32(&b, RELAY_OK);
	expect(&b, "0000000a");
	buf_u32(&b, RELAY_PENDING_UNKNOWN);
	expect(&b, "ffffffff");
	relay_reply_version(&b, 2, 13);
	expect(&b, "00000002 0000000d");
	relay_reply_configuration(&b, RELAY_OK, RELAY_CONFIG_CLEAR_ALLOWED);
	expect(&b, "0000000a 00000000 00000001");
	relay_reply_configuration(&b, RELAY_INVALID_PROTOCOL, 0);
	expect(&b, "00000098 00000000 00000000");
	relay_reply_stream(&b, 1, RELAY_OK);
	expect(&b, "00000000 00000001 0000000a");
	relay_reply_stream(&b, UINT64_MAX, RELAY_UNKNOWN_ERROR);
	expect(&b, "ffffffff ffffffff 0000000b");
	relay_reply_written(&b, RELAY_OK, &(struct relay_written){ 1, 2, 3 });
	expect(&b, "0000000a 00000000 00000001 00000000 00000002 "
		   "00000000 00000003");
	relay_reply_exists(&b, RELAY_OK, false);
	expect(&b, "0000000a 00");
	relay_reply_exists(&b, RELAY_OK, true);
	expect(&b, "0000000a 01");
}

TEST(session_reply_has_a_path_from_2_11)
{
	static const char *const path = "vm/simple-20261121-022723";
	struct buf b = { 0 };

	relay_reply_session(&b, 13, 1, RELAY_OK, path);
	expect(&b,
	    "00000000 00000001 0000000a 0000001a 766d2f73 696d706c 652d3230"
	    "32363131 32312d30 32323732 3300");
	relay_reply_session(&b, 11, 0, RELAY_FATAL, NULL);
	expect(&b, "00000000 00000000 00000019 00000000");
	relay_reply_session(&b, 10, 7, RELAY_OK, path);
	expect(&b, "00000000 00000007 0000000a");
	relay_reply_session(&b, 0, 0, RELAY_FATAL, NULL);
	expect(&b, "00000000 00000000 00000019");
}

TEST(close_chunk_reply_counts_the_nul)
{
	struct buf b = { 0 };

	relay_reply_close_chunk(&b, RELAY_OK, "a/b");
	expect(&b, "0000000a 00000004 612f6200");
	relay_reply_close_chunk(&b, RELAY_NO_MEMORY, NULL);
	expect(&b, "0000001a 00000000");
}

/* The replies of a recording, put together by our encoders: the beginning of
 * "simple", up to its two streams and its metadata. */
TEST(replies_follow_each_other_as_recorded)
{
	struct bytes want = bytes_source_file(
	    "tests/vectors/simple/ctl.s2c.bin");
	struct buf b = { 0 };

	relay_reply_version(&b, 2, 13);
	relay_reply_configuration(&b, RELAY_OK, RELAY_CONFIG_CLEAR_ALLOWED);
	relay_reply_session(&b, 13, 1, RELAY_OK, "vm/simple-20261121-022723");
	buf_u32(&b, RELAY_OK); /* CREATE_TRACE_CHUNK */
	for (uint64_t handle = 1; handle <= 3; handle++)
		relay_reply_stream(&b, handle, RELAY_OK);
	buf_u32(&b, RELAY_OK); /* STREAMS_SENT */
	ck_assert_uint_le(buf_len(&b), want.n);
	ck_assert_mem_eq(buf_data(&b), want.p, buf_len(&b));
	buf_free(&b);
	free(want.p);
}
