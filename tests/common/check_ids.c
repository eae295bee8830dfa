/* SPDX-License-Identifier: MIT */
#include "common/ids.h"

#include "common/compiler.h"
#include "tests/lib/unit.h"

static const unsigned workers[] = { 0, 1, 7, 254, 255 };

TEST_ROWS(handles_carry_their_worker, ARRAY_LEN(workers))
{
	struct id_source src = { 0 };

	for (int i = 0; i < 1000; i++) {
		const uint64_t h = ids_handle(&src, workers[_i]);

		ck_assert_uint_eq(ids_worker(h), workers[_i]);
		ck_assert_uint_ne(h, 0);
		ck_assert_uint_ne(h, UINT64_MAX);
	}
}

TEST_ROWS(sequence_counts_from_one, ARRAY_LEN(workers))
{
	struct id_source src = { .is_sequence = true };

	for (uint64_t i = 1; i < 5; i++)
		ck_assert_uint_eq(
		    ids_handle(&src, workers[_i]), i << 8 | workers[_i]);
}

TEST(forbidden_handles_are_skipped)
{
	struct id_source src = { .is_sequence = true };

	src.next = UINT64_MAX; /* 0 would follow, then 1 */
	ck_assert_uint_eq(ids_handle(&src, 0), 1 << 8);
	src.next = (UINT64_C(1) << 56) - 2; /* 56 ones would follow */
	ck_assert_uint_eq(ids_handle(&src, 255), 255);
}

TEST(random_bits_all_take_both_values)
{
	uint64_t ones = 0, zeros = 0;

	for (int i = 0; i < 200; i++) {
		const uint64_t v = ids_random();

		ones |= v;
		zeros |= ~v;
	}
	ck_assert_uint_eq(ones, UINT64_MAX);
	ck_assert_uint_eq(zeros, UINT64_MAX);
}
