/* SPDX-License-Identifier: MIT */
#include "common/buf.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

TEST(integers_are_big_endian)
{
	static const uint8_t want[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
		0xcd, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0, 0 };
	struct buf b = { 0 };

	ck_assert_ptr_null(buf_data(&b));
	buf_u8(&b, 0x01);
	buf_u16(&b, 0x2345);
	buf_u32(&b, 0x6789abcd);
	buf_u64(&b, UINT64_C(0x0123456789abcdef));
	buf_zero(&b, 2);
	ck_assert(!b.bad);
	ck_assert_uint_eq(buf_len(&b), sizeof(want));
	ck_assert_mem_eq(buf_data(&b), want, sizeof(want));
	buf_free(&b);
	ck_assert_uint_eq(buf_len(&b), 0);
}

/* Appended and consumed in pieces of these sizes. */
static const struct {
	size_t append, consume;
} pieces[] = { { 1, 1 }, { 3, 2 }, { 7, 6 }, { 255, 254 }, { 256, 255 },
	{ 257, 256 }, { 1000, 997 }, { 65536, 65000 } };

TEST_ROWS(bytes_come_out_in_the_order_they_went_in, ARRAY_LEN(pieces))
{
	const size_t in = pieces[_i].append, out = pieces[_i].consume;
	struct buf b = { 0 };
	uint8_t next_in = 0, next_out = 0;

	for (int round = 0; round < 300; round++) {
		uint8_t *p = buf_reserve(&b, in);

		ck_assert_ptr_nonnull(p);
		for (size_t i = 0; i < in; i++)
			p[i] = next_in++;
		buf_added(&b, in);
		for (size_t i = 0; i < out; i++)
			if (buf_data(&b)[i] != next_out++)
				ck_abort_msg("round %d, byte %zu", round, i);
		buf_consume(&b, out);
	}
	ck_assert_uint_eq(buf_len(&b), 300 * (in - out));
	/* space is at most what doubling makes of the content and one piece */
	ck_assert_uint_le(b.cap, 4 * (buf_len(&b) + in) + 256);
	buf_free(&b);
}

TEST(a_long_rest_is_seldom_moved)
{
	struct buf b = { 0 };
	unsigned moves = 0;

	buf_zero(&b, 1000);
	for (int i = 0; i < 100000; i++) {
		const size_t start = b.start;

		buf_u8(&b, 0);
		moves += b.start < start;
		buf_consume(&b, 1);
	}
	ck_assert_uint_eq(buf_len(&b), 1000);
	ck_assert_uint_le(moves, 100000 / 1000);
	buf_free(&b);
}

TEST(no_memory_is_sticky_until_truncated)
{
	struct buf b = { 0 };

	buf_bytes(&b, "abc", 3);
	fault_arm(1);
	buf_zero(&b, 4096);
	buf_u8(&b, 'd');
	ck_assert(fault_disarm());
	ck_assert(b.bad);
	ck_assert_ptr_null(buf_reserve(&b, 1));
	ck_assert_uint_eq(buf_len(&b), 3);
	buf_truncate(&b, 2);
	buf_u8(&b, 'x');
	ck_assert(!b.bad);
	ck_assert_uint_eq(buf_len(&b), 3);
	ck_assert_mem_eq(buf_data(&b), "abx", 3);
	buf_free(&b);
}

TEST(sizes_no_memory_can_have_are_refused)
{
	struct buf b = { 0 };

	buf_bytes(&b, "abc", 3);
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX));
	ck_assert(b.bad);
	buf_truncate(&b, 3);
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX - 2));
	ck_assert(b.bad);
	ck_assert_mem_eq(buf_data(&b), "abc", 3);
	buf_free(&b);
}

TEST(trim_gives_memory_back_only_when_empty)
{
	struct buf b = { 0 };

	buf_bytes(&b, "abc", 3);
	buf_consume(&b, 1);
	buf_trim(&b);
	ck_assert_uint_eq(buf_len(&b), 2);
	ck_assert_mem_eq(buf_data(&b), "bc", 2);
	buf_consume(&b, 2);
	buf_trim(&b);
	ck_assert_ptr_null(b.mem);
	ck_assert_uint_eq(b.cap, 0);
	buf_u8(&b, 1);
	ck_assert(!b.bad);
	buf_free(&b);
}

TEST(steady_use_does_not_allocate)
{
	unsigned long before;
	struct buf b = { 0 };

	buf_zero(&b, 4000);
	before = fault_count();
	for (int i = 0; i < 10000; i++) {
		buf_consume(&b, buf_len(&b));
		buf_zero(&b, 4000);
	}
	before = fault_count() - before;
	ck_assert_uint_eq(before, 0);
	buf_free(&b);
}

TEST(spares_are_lent_from_one_to_the_next)
{
	struct buf a = { 0 }, b = { 0 }, c = { 0 };
	struct buf_spares spares;
	const uint8_t *mem;

	buf_spares_init(&spares, 1, 1024);
	buf_take_spare(&a, &spares); /* there is none yet */
	ck_assert_ptr_null(a.mem);
	buf_u8(&a, 1);
	buf_u8(&b, 1);
	mem = a.mem;
	buf_take_spare(&a, &spares); /* it has its own */
	ck_assert_ptr_eq(a.mem, mem);
	buf_consume(&a, 1);
	buf_give_spare(&a, &spares);
	ck_assert_ptr_null(a.mem);
	buf_consume(&b, 1);
	buf_give_spare(&b, &spares); /* one too many */
	ck_assert_ptr_null(b.mem);
	buf_take_spare(&c, &spares);
	ck_assert_ptr_eq(c.mem, mem);
	ck_assert_uint_eq(buf_len(&c), 0);
	buf_zero(&c, 1025);
	buf_consume(&c, 1025);
	buf_give_spare(&c, &spares); /* too large */
	buf_take_spare(&a, &spares);
	ck_assert_ptr_null(a.mem);
	buf_spares_free(&spares);
}

TEST(a_failure_is_lent_to_nobody)
{
	struct buf a = { 0 }, b = { 0 };
	struct buf_spares spares;

	buf_spares_init(&spares, 1, 1024);
	buf_u8(&a, 1);
	buf_consume(&a, 1);
	ck_assert_ptr_null(buf_reserve(&a, SIZE_MAX));
	buf_give_spare(&a, &spares);
	ck_assert(a.bad);
	ck_assert_ptr_null(a.mem);
	buf_take_spare(&b, &spares);
	ck_assert(!b.bad);
	ck_assert_ptr_null(b.mem);
	buf_spares_free(&spares);
}
