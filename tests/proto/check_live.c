/* SPDX-License-Identifier: MIT */
/* The viewer port's layouts, byte by byte (live 1.2 to 1.5). */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "proto/live.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

#define ID 0x0102030405060708

/* Requests as viewers send them; what they must be read as. */
static const struct request_case {
	const char *hex;
	struct live_request q;
} requests[] = {
	{ "0000000000000014 00000001 00000000"
	  "ffffffffffffffff 00000002 00000004 00000001",
	    { .cmd = 1, .major = 2, .minor = 4, .type = 1 } },
	{ "0000000000000014 00000001 00000000"
	  "ffffffffffffffff 00000003 00000063 00000002",
	    { .cmd = 1, .major = 3, .minor = 99, .type = 2 } },
	{ "0000000000000000 00000002 00000000", { .cmd = 2 } },
	{ "0000000000000014 00000003 00000000"
	  "0102030405060708 0000000000000000 00000002",
	    { .cmd = 3, .id = ID, .seek = 2 } },
	{ "0000000000000008 00000004 00000000 0102030405060708",
	    { .cmd = 4, .id = ID } },
	{ "0000000000000014 00000005 00000000"
	  "0102030405060708 1112131415161718 21222324",
	    { .cmd = 5,
		.id = ID,
		.offset = 0x1112131415161718,
		.length = 0x21222324 } },
	{ "0000000000000008 00000006 00000000 0102030405060708",
	    { .cmd = 6, .id = ID } },
	{ "0000000000000008 00000007 00000000 0102030405060708",
	    { .cmd = 7, .id = ID } },
	{ "0000000000000000 00000008 00000000", { .cmd = 8 } },
	{ "0000000000000008 00000009 00000000 0102030405060708",
	    { .cmd = 9, .id = ID } },
};

static void
assert_same(const struct live_request *a, const struct live_request *b)
{
	ck_assert_uint_eq(a->cmd, b->cmd);
	ck_assert_uint_eq(a->major, b->major);
	ck_assert_uint_eq(a->minor, b->minor);
	ck_assert_uint_eq(a->type, b->type);
	ck_assert_uint_eq(a->id, b->id);
	ck_assert_uint_eq(a->seek, b->seek);
	ck_assert_uint_eq(a->offset, b->offset);
	ck_assert_uint_eq(a->length, b->length);
}

TEST_ROWS(requests_are_read_as_laid_out, ARRAY_LEN(requests))
{
	struct bytes b = bytes_hex(requests[_i].hex);
	struct live_request q;
	struct buf out = { 0 };
	size_t used = 0;

	ck_assert_int_eq(live_request_decode(b.p, b.n, &q, &used), OK);
	ck_assert_uint_eq(used, b.n);
	assert_same(&q, &requests[_i].q);
	live_request_encode(&out, &q);
	ck_assert_uint_eq(buf_len(&out), b.n);
	ck_assert_mem_eq(buf_data(&out), b.p, b.n);
	buf_free(&out);
	free(b.p);
}

TEST_ROWS(a_request_cut_anywhere_is_waited_for, ARRAY_LEN(requests))
{
	struct bytes b = bytes_hex(requests[_i].hex);
	struct live_request q;
	size_t used;

	for (size_t n = 0; n < b.n; n++) {
		struct bytes cut = bytes_copy(b.p, n);

		ck_assert_int_eq(
		    live_request_decode(cut.p, cut.n, &q, &used), E_MORE);
		free(cut.p);
	}
	free(b.p);
}

/* The next request may be in the same segment (live 6, P24). */
TEST_ROWS(bytes_after_a_request_are_the_next_one, ARRAY_LEN(requests))
{
	struct bytes b = bytes_hex(requests[_i].hex);
	struct buf two = { 0 };
	struct live_request q;
	size_t used = 0;

	buf_bytes(&two, b.p, b.n);
	buf_bytes(&two, b.p, b.n);
	ck_assert_int_eq(
	    live_request_decode(buf_data(&two), buf_len(&two), &q, &used), OK);
	ck_assert_uint_eq(used, b.n);
	assert_same(&q, &requests[_i].q);
	buf_free(&two);
	free(b.p);
}

/* Trace Compass sends 20 or 0 for everything, clients of 2013 their host's
 * byte order (live 1.2; 6, P2). */
TEST_ROWS(data_size_and_cmd_version_say_nothing, ARRAY_LEN(requests))
{
	static const uint64_t lies[] = { 0, 1, 7, 20, UINT64_MAX,
		0x1400000000000000, 0x0800000000000000 };
	struct bytes b = bytes_hex(requests[_i].hex);
	struct live_request q;
	size_t used;

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct buf lie = { 0 };

		buf_u64(&lie, lies[i]);
		buf_bytes(&lie, b.p + 8, 4);
		buf_u32(&lie, 0xdeadbeef);
		buf_bytes(&lie, b.p + 16, b.n - 16);
		ck_assert_int_eq(live_request_decode(
				     buf_data(&lie), buf_len(&lie), &q, &used),
		    OK);
		ck_assert_uint_eq(used, b.n);
		assert_same(&q, &requests[_i].q);
		buf_free(&lie);
	}
	free(b.p);
}

TEST_ROWS(an_unknown_command_is_whole_with_its_header, 5)
{
	static const uint32_t unknown[] = { 0, 10, 11, 77, UINT32_MAX };
	struct buf b = { 0 };
	struct live_request q;
	size_t used = 0;

	buf_u64(&b, 1000);
	buf_u32(&b, unknown[_i]);
	buf_u32(&b, 0);
	buf_u64(&b, 1);
	ck_assert_ptr_null(live_row(unknown[_i])->name);
	ck_assert_int_eq(
	    live_request_decode(buf_data(&b), 15, &q, &used), E_MORE);
	ck_assert_int_eq(
	    live_request_decode(buf_data(&b), buf_len(&b), &q, &used), OK);
	ck_assert_uint_eq(used, LIVE_HEADER_LEN);
	ck_assert_uint_eq(q.cmd, unknown[_i]);
	buf_free(&b);
}

TEST(the_table_has_the_sizes_of_the_specification)
{
	static const struct {
		const char *name;
		unsigned payload;
	} want[] = { { NULL, 0 }, { "connect", 20 }, { "list_sessions", 0 },
		{ "attach_session", 20 }, { "get_next_index", 8 },
		{ "get_packet", 20 }, { "get_metadata", 8 },
		{ "get_new_streams", 8 }, { "create_session", 0 },
		{ "detach_session", 8 } };

	for (uint32_t i = 1; i < ARRAY_LEN(want); i++) {
		const struct live_row *row = live_row(i);

		ck_assert_str_eq(row->name, want[i].name);
		ck_assert_uint_eq(row->payload, want[i].payload);
		ck_assert_uint_le(row->payload, LIVE_PAYLOAD_MAX);
		/* Only CONNECT comes first (live 1.3). */
		ck_assert_uint_eq((row->allowed & LIVE_IN_NEW) != 0, i == 1);
		ck_assert((row->allowed & LIVE_IN_GREETED) != 0);
	}
}

static void
assert_bytes(struct buf *b, const char *hex)
{
	struct bytes want = bytes_hex(hex);

	ck_assert(!b->bad);
	ck_assert_uint_eq(buf_len(b), want.n);
	ck_assert_mem_eq(buf_data(b), want.p, want.n);
	free(want.p);
	buf_free(b);
}

TEST(replies_of_fixed_size)
{
	struct buf b = { 0 };

	live_reply_u32(&b, LIVE_UNKNOWN_COMMAND);
	assert_bytes(&b, "0000000b");
	live_reply_connect(&b, ID, LIVE_MAJOR, LIVE_MINOR);
	assert_bytes(&b, "0102030405060708 00000002 0000000f 00000000");
	live_reply_packet(&b, LIVE_PACKET_OK, 0x1000, 2);
	assert_bytes(&b, "00000001 00001000 00000002");
	live_reply_packet(&b, LIVE_PACKET_ERR, 0, 0);
	assert_bytes(&b, "00000003 00000000 00000000");
	live_reply_metadata(&b, ID, LIVE_METADATA_OK);
	assert_bytes(&b, "0102030405060708 00000001");
	live_reply_metadata(&b, 0, LIVE_METADATA_NO_NEW);
	assert_bytes(&b, "0000000000000000 00000002");
}

TEST(an_index_reply)
{
	struct buf b = { 0 };

	live_reply_index(
	    &b, &(struct live_index){ .offset = 0x1112131415161718,
		    .packet_size = 0x2122232425262728,
		    .content_size = 0x3132333435363738,
		    .timestamp_begin = 0x4142434445464748,
		    .timestamp_end = 0x5152535455565758,
		    .events_discarded = 0x6162636465666768,
		    .ctf_stream = 0x7172737475767778,
		    .status = LIVE_INDEX_INACTIVE,
		    .flags = LIVE_FLAG_NEW_METADATA | LIVE_FLAG_NEW_STREAM });
	assert_bytes(&b, "1112131415161718 2122232425262728 3132333435363738"
			 "4142434445464748 5152535455565758 6162636465666768"
			 "7172737475767778 00000005 00000003");
}

/* One session record of minor MINOR. */
static struct buf
session_record(unsigned minor, const char *host, const char *name)
{
	struct buf b = { 0 };

	live_reply_session(&b, minor,
	    &(struct live_session_record){ .id = ID,
		.live_timer_us = 200000,
		.clients = 3,
		.streams = 0x11121314,
		.hostname = host,
		.name = name,
		.trace_format = 1 });
	ck_assert(!b.bad);
	return b;
}

static const char session_start[] = "0102030405060708 00030d40 00000003"
				    "11121314";

static void
assert_front(const struct buf *b, const char *hex)
{
	struct bytes want = bytes_hex(hex);

	ck_assert_uint_ge(buf_len(b), want.n);
	ck_assert_mem_eq(buf_data(b), want.p, want.n);
	free(want.p);
}

static void
assert_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(p[i], 0);
}

TEST_ROWS(a_session_before_2_15, 4)
{
	static const unsigned minors[] = { 0, 4, 13, 14 };
	struct buf b = session_record(minors[_i], "host", "session");

	ck_assert_uint_eq(buf_len(&b), 339);
	assert_front(&b, session_start);
	ck_assert_mem_eq(buf_data(&b) + 20, "host", 4);
	assert_zero(buf_data(&b) + 24, 60);
	ck_assert_mem_eq(buf_data(&b) + 84, "session", 7);
	assert_zero(buf_data(&b) + 91, 248);
	buf_free(&b);
}

TEST(a_session_from_2_15)
{
	struct buf b = session_record(15, "host", "session");

	assert_front(&b, session_start);
	assert_bytes(&b, "0102030405060708 00030d40 00000003 11121314"
			 "00000004 00000007 00000001 686f7374 73657373696f6e");
	b = session_record(15, "", "");
	assert_bytes(&b, "0102030405060708 00030d40 00000003 11121314"
			 "00000000 00000000 00000001");
}

TEST(long_names_are_cut_and_ended)
{
	char host[300], name[300];
	struct buf b;

	memset(host, 'h', sizeof(host));
	memset(name, 'n', sizeof(name));
	host[299] = name[299] = '\0';
	b = session_record(4, host, name);
	ck_assert_uint_eq(buf_len(&b), 339);
	ck_assert_uint_eq(buf_data(&b)[82], 'h');
	ck_assert_uint_eq(buf_data(&b)[83], 0);
	ck_assert_uint_eq(buf_data(&b)[84], 'n');
	ck_assert_uint_eq(buf_data(&b)[337], 'n');
	ck_assert_uint_eq(buf_data(&b)[338], 0);
	buf_free(&b);
	b = session_record(15, host, name);
	ck_assert_uint_eq(buf_len(&b), 32 + 299 + 299);
	buf_free(&b);
}

TEST_ROWS(a_stream_record, 2)
{
	char path[5000];
	struct live_stream_record s = { .id = ID,
		.trace_id = 0x1112131415161718,
		.is_metadata = _i == 0,
		.path = "ust/uid/1001/64-bit",
		.channel = "ch_0" };
	struct buf b = { 0 };

	live_reply_stream(&b, &s);
	ck_assert_uint_eq(buf_len(&b), LIVE_STREAM_RECORD_LEN);
	assert_front(&b, s.is_metadata
			     ? "0102030405060708 1112131415161718 00000001"
			     : "0102030405060708 1112131415161718 00000000");
	ck_assert_str_eq((const char *)buf_data(&b) + 20, s.path);
	assert_zero(buf_data(&b) + 20 + 19, 4096 - 19);
	ck_assert_str_eq((const char *)buf_data(&b) + 4116, "ch_0");
	assert_zero(buf_data(&b) + 4120, 251);
	buf_free(&b);

	memset(path, 'p', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	s.path = path;
	live_reply_stream(&b, &s);
	ck_assert_uint_eq(buf_len(&b), LIVE_STREAM_RECORD_LEN);
	ck_assert_uint_eq(buf_data(&b)[4114], 'p');
	ck_assert_uint_eq(buf_data(&b)[4115], 0);
	ck_assert_mem_eq(buf_data(&b) + 4116, "ch_0", 5);
	buf_free(&b);
}

/* The size of the reply B to CMD is known from some byte on, and right. */
static void
assert_reply_size(uint32_t cmd, unsigned minor, const struct buf *b)
{
	bool is_known = false;

	for (size_t n = 0; n <= buf_len(b); n++) {
		uint64_t size = live_reply_size(cmd, minor, buf_data(b), n);

		ck_assert(size == (is_known || size != 0 ? buf_len(b) : 0));
		is_known |= size != 0;
	}
	ck_assert(is_known);
}

static void
assert_span(struct span s, const char *text)
{
	ck_assert_uint_eq(s.n, strlen(text));
	ck_assert_mem_eq(s.p, text, s.n);
}

TEST_ROWS(a_viewer_reads_a_list_of_sessions, 2)
{
	const unsigned minor = _i == 0 ? 13 : 15;
	struct buf one = session_record(minor, "host", "session"), b = { 0 };
	struct live_listed s;
	struct reader r;

	buf_u32(&b, 2);
	buf_bytes(&b, buf_data(&one), buf_len(&one));
	buf_bytes(&b, buf_data(&one), buf_len(&one));
	assert_reply_size(LIVE_CMD_list_sessions, minor, &b);
	r = reader_over(buf_data(&b), buf_len(&b));
	ck_assert_uint_eq(reader_u32(&r), 2);
	for (int i = 0; i < 2; i++) {
		live_listed_decode(&r, minor, &s);
		ck_assert_uint_eq(s.id, ID);
		ck_assert_uint_eq(s.live_timer_us, 200000);
		ck_assert_uint_eq(s.clients, 3);
		ck_assert_uint_eq(s.streams, 0x11121314);
		ck_assert_uint_eq(s.trace_format, minor < 15 ? 0 : 1);
		assert_span(s.hostname, "host");
		assert_span(s.name, "session");
	}
	ck_assert(!r.bad);
	live_listed_decode(&r, minor, &s);
	ck_assert(r.bad);
	buf_free(&one);
	buf_free(&b);
}

TEST_ROWS(a_viewer_reads_streams, 2)
{
	const uint32_t cmd = _i == 0 ? LIVE_CMD_attach_session
				     : LIVE_CMD_get_new_streams;
	struct live_stream_record s = { .id = ID,
		.trace_id = 7,
		.is_metadata = true,
		.path = "kernel",
		.channel = "metadata" };
	struct live_announced got;
	struct buf b = { 0 };
	struct reader r;

	buf_u32(&b, LIVE_STREAMS_OK);
	buf_u32(&b, 1);
	live_reply_stream(&b, &s);
	assert_reply_size(cmd, LIVE_MINOR, &b);
	r = reader_over(buf_data(&b) + 8, buf_len(&b) - 8);
	live_announced_decode(&r, &got);
	ck_assert(!r.bad && got.is_metadata);
	ck_assert_uint_eq(got.id, ID);
	ck_assert_uint_eq(got.trace_id, 7);
	assert_span(got.path, "kernel");
	assert_span(got.channel, "metadata");
	buf_free(&b);
}

TEST(a_viewer_reads_an_index)
{
	const struct live_index i = { .offset = 1,
		.packet_size = 2,
		.content_size = 3,
		.timestamp_begin = 4,
		.timestamp_end = 5,
		.events_discarded = 6,
		.ctf_stream = 7,
		.status = LIVE_INDEX_OK,
		.flags = LIVE_FLAG_NEW_STREAM };
	struct live_index got;
	struct buf b = { 0 };
	struct reader r;

	live_reply_index(&b, &i);
	assert_reply_size(LIVE_CMD_get_next_index, LIVE_MINOR, &b);
	r = reader_over(buf_data(&b), buf_len(&b));
	live_index_decode(&r, &got);
	ck_assert(!r.bad);
	ck_assert_mem_eq(&got, &i, sizeof(i));
	buf_free(&b);
}

TEST_ROWS(a_reply_has_the_bytes_that_its_length_says, 4)
{
	struct buf b = { 0 };

	if (_i < 2)
		live_reply_packet(
		    &b, _i == 0 ? LIVE_PACKET_OK : LIVE_PACKET_ERR, 9, 0);
	else
		live_reply_metadata(&b, _i == 2 ? 9 : 0, LIVE_METADATA_OK);
	buf_zero(&b, _i % 2 == 0 ? 9 : 0);
	assert_reply_size(_i < 2 ? LIVE_CMD_get_packet : LIVE_CMD_get_metadata,
	    LIVE_MINOR, &b);
	buf_free(&b);
}
