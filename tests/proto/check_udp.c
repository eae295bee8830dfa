/* SPDX-License-Identifier: MIT */
#include "proto/udp.h"

#include <stdlib.h>

#include "common/buf.h"
#include "common/checksum.h"
#include "proto/relay.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

/* Written down by hand; the checksum is that of another zlib's crc32. */
#define EXAMPLE                                                        \
	"54505544 01 01 0038 000102030405060708090a0b0c0d0e0f"         \
	"0123456789abcdef 0000000000000007 00000c03 000003fd 00000c00" \
	"a5080ada 616263"

TEST(fields_stand_where_the_protocol_says)
{
	struct bytes b = bytes_hex(EXAMPLE);
	struct udp_header h;
	uint8_t again[UDP_HEADER_LEN];

	ck_assert_int_eq(udp_header_decode(b.p, b.n, &h), OK);
	ck_assert(h.is_resend);
	ck_assert_uint_eq(h.token.b[0], 0);
	ck_assert_uint_eq(h.token.b[15], 15);
	ck_assert_uint_eq(h.stream, UINT64_C(0x0123456789abcdef));
	ck_assert_uint_eq(b.p[UDP_WORKER_AT], 0xef);
	ck_assert_uint_eq(h.net_seq, 7);
	ck_assert_uint_eq(h.size, 3075);
	ck_assert_uint_eq(h.padding, 1021);
	ck_assert_uint_eq(h.offset, 3072);
	ck_assert_uint_eq(h.payload_len, 3);
	ck_assert_mem_eq(h.payload, "abc", 3);
	ck_assert(udp_crc_matches(b.p, b.n));
	udp_header_encode(again, &h);
	ck_assert_mem_eq(again, b.p, UDP_HEADER_LEN);
	free(b.p);
}

TEST(every_flipped_bit_breaks_the_checksum)
{
	struct bytes b = bytes_hex(EXAMPLE);

	for (size_t i = 0; i < 8 * b.n; i++) {
		b.p[i / 8] ^= (uint8_t)(1 << i % 8);
		ck_assert(!udp_crc_matches(b.p, b.n));
		b.p[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	free(b.p);
}

TEST(a_short_datagram_is_malformed)
{
	struct bytes b = bytes_hex(EXAMPLE);

	for (size_t n = 0; n < UDP_HEADER_LEN; n++) {
		struct bytes cut = bytes_copy(b.p, n);
		struct udp_header h;

		ck_assert_int_eq(
		    udp_header_decode(cut.p, cut.n, &h), E_MALFORMED);
		free(cut.p);
	}
	free(b.p);
}

static const struct {
	size_t at;
	uint8_t value;
	enum status st;
	uint32_t payload_len;
} changed[] = {
	{ 0, 0x55, E_MALFORMED, 0 }, /* magic */
	{ 4, 0, E_MALFORMED, 0 },    /* version */
	{ 4, 2, E_MALFORMED, 0 },
	{ 7, 55, E_MALFORMED, 0 }, /* a shorter header */
	{ 7, 58, OK, 1 },	   /* two bytes of fields to skip */
	{ 7, 59, OK, 0 },
	{ 7, 60, E_MALFORMED, 0 }, /* beyond the datagram */
	{ 6, 1, E_MALFORMED, 0 },
};

TEST_ROWS(magic_version_and_header_size_are_checked, ARRAY_LEN(changed))
{
	struct bytes b = bytes_hex(EXAMPLE);
	struct udp_header h;

	b.p[changed[_i].at] = changed[_i].value;
	ck_assert_int_eq(udp_header_decode(b.p, b.n, &h), changed[_i].st);
	if (changed[_i].st == OK)
		ck_assert_uint_eq(h.payload_len, changed[_i].payload_len);
	free(b.p);
}

static const struct {
	uint32_t size, offset, len;
	bool fits;
} fragments[] = {
	{ 0, 0, 0, true },
	{ 0, 0, 1, false },
	{ 1, 0, 1, true },
	{ 1, 0, 0, false },
	{ 1024, 0, 512, true },
	{ 1024, 512, 512, true },
	{ 1024, 1024, 0, false }, /* the second was the last */
	{ 1024, 0, 1024, false },
	{ 1024, 0, 511, false },
	{ 1025, 1024, 1, true },
	{ 1025, 1024, 2, false },
	{ 1025, 512, 511, false },
	{ 1025, 511, 512, false },
	{ UINT32_MAX, 0xfffffe00, 511, true },
	{ 100, 0xfffffe00, 512, false },
};

TEST_ROWS(fragments_fit_exactly, ARRAY_LEN(fragments))
{
	const struct udp_header h = {
		.size = fragments[_i].size,
		.offset = fragments[_i].offset,
		.payload_len = fragments[_i].len,
	};

	ck_assert(udp_fragment_fits(&h, 512) == fragments[_i].fits);
}

TEST(tokens_differ_in_any_bit)
{
	struct secret a = { { 1, 2, 3 } }, b = a;

	ck_assert(secret_equal(&a, &b));
	for (size_t i = 0; i < 8 * sizeof(b.b); i++) {
		b = a;
		b.b[i / 8] ^= (uint8_t)(1 << i % 8);
		ck_assert(!secret_equal(&a, &b));
	}
}

TEST(an_open_reply_has_44_bytes)
{
	struct bytes want = bytes_hex(
	    "0000000a 14df 0000 00000570 00000040 0000000004000000"
	    "00000001 000102030405060708090a0b0c0d0e0f");
	struct reader r = reader_over(want.p, want.n);
	struct udp_open_reply a;
	struct buf b = { 0 };

	ck_assert_uint_eq(want.n, UDP_OPEN_REPLY_LEN);
	ck_assert_int_eq(udp_open_reply_decode(&r, &a), OK);
	ck_assert_uint_eq(a.code, RELAY_OK);
	ck_assert_uint_eq(a.port, 5343);
	ck_assert_uint_eq(a.fragment_size, 1392);
	ck_assert_uint_eq(a.window, 64);
	ck_assert_uint_eq(a.window_bytes, UINT64_C(64) << 20);
	ck_assert_uint_eq(a.flags, UDP_OPEN_RESENDS);
	udp_open_reply(&b, &a);
	ck_assert_uint_eq(buf_len(&b), want.n);
	ck_assert_mem_eq(buf_data(&b), want.p, want.n);
	r = reader_over(want.p, want.n - 1);
	ck_assert_int_eq(udp_open_reply_decode(&r, &a), E_MALFORMED);
	buf_free(&b);
	free(want.p);
}

TEST(a_status_reply_comes_back)
{
	const struct udp_status s = { 5, 6, 9, 2, 1 };
	const struct udp_range g = { 7, 3, UDP_RANGE_ALL };
	struct udp_status s2;
	struct udp_range g2;
	struct buf b = { 0 };
	struct reader r;
	uint32_t code, streams;

	udp_status_head(&b, RELAY_OK, 1);
	ck_assert_uint_eq(buf_len(&b), UDP_STATUS_HEAD_LEN);
	udp_status_put(&b, &s);
	ck_assert_uint_eq(buf_len(&b), UDP_STATUS_HEAD_LEN + UDP_STATUS_LEN);
	udp_range_put(&b, &g);
	r = reader_over(buf_data(&b), buf_len(&b));
	ck_assert_int_eq(udp_status_head_decode(&r, &code, &streams), OK);
	ck_assert_uint_eq(code, RELAY_OK);
	ck_assert_uint_eq(streams, 1);
	ck_assert_int_eq(udp_status_decode(&r, &s2), OK);
	ck_assert_uint_eq(s2.stream, s.stream);
	ck_assert_uint_eq(s2.next, s.next);
	ck_assert_uint_eq(s2.end, s.end);
	ck_assert_uint_eq(s2.lost, s.lost);
	ck_assert_uint_eq(s2.ranges, s.ranges);
	ck_assert_int_eq(udp_range_decode(&r, &g2), OK);
	ck_assert_uint_eq(g2.net_seq, g.net_seq);
	ck_assert_uint_eq(g2.first_fragment, g.first_fragment);
	ck_assert_uint_eq(g2.fragment_count, g.fragment_count);
	ck_assert_uint_eq(reader_left(&r), 0);
	ck_assert_int_eq(udp_range_decode(&r, &g2), E_MALFORMED);
	buf_free(&b);
}
