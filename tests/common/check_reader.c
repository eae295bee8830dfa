/* SPDX-License-Identifier: MIT */
#include "common/reader.h"

#include <stdlib.h>

#include "common/compiler.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

TEST(integers_are_big_endian)
{
	struct bytes b = bytes_hex("01 0203 04050607 08090a0b0c0d0e0f 1011");
	struct reader r = reader_over(b.p, b.n);
	uint8_t raw[2];

	ck_assert_uint_eq(reader_u8(&r), 0x01);
	ck_assert_uint_eq(reader_u16(&r), 0x0203);
	ck_assert_uint_eq(reader_u32(&r), 0x04050607);
	ck_assert_uint_eq(reader_u64(&r), UINT64_C(0x08090a0b0c0d0e0f));
	reader_copy(&r, raw, sizeof(raw));
	ck_assert_mem_eq(raw, "\x10\x11", 2);
	ck_assert_uint_eq(reader_left(&r), 0);
	ck_assert_int_eq(reader_done(&r), OK);
	free(b.p);
}

TEST(failure_is_sticky_and_yields_zeros)
{
	struct bytes b = bytes_hex("ffffff");
	struct reader r = reader_over(b.p, b.n);
	uint8_t raw[2] = { 1, 1 };

	ck_assert_uint_eq(reader_u32(&r), 0);
	ck_assert_int_eq(reader_done(&r), E_MALFORMED);
	ck_assert_uint_eq(reader_left(&r), 0);
	ck_assert_uint_eq(reader_u8(&r), 0);
	reader_copy(&r, raw, sizeof(raw));
	ck_assert_mem_eq(raw, "\0\0", 2);
	ck_assert_int_eq(reader_done(&r), E_MALFORMED);
	free(b.p);
}

TEST(huge_lengths_do_not_wrap)
{
	struct bytes b = bytes_hex("00000000");
	struct reader r = reader_over(b.p, b.n);

	ck_assert_ptr_null(reader_take(&r, UINT64_MAX));
	r = reader_over(b.p, b.n);
	ck_assert_uint_eq(reader_cstr(&r, UINT64_MAX - 1).n, 0);
	ck_assert_int_eq(reader_done(&r), E_MALFORMED);
	free(b.p);
}

static const struct {
	const char *hex;
	size_t field;
	const char *cstr, *array; /* NULL: failure */
} strings[] = {
	{ "616200", 3, "ab", "ab" },
	{ "616263", 3, NULL, NULL },
	{ "610063", 3, NULL, "a" },
	{ "610000", 3, NULL, "a" },
	{ "61006200", 4, NULL, "a" },
	{ "0000", 2, NULL, "" },
	{ "00", 1, "", "" },
	{ "", 0, NULL, NULL },
	{ "6100", 3, NULL, NULL },
	{ "61620063", 3, "ab", "ab" },
};

TEST_ROWS(strings_end_within_their_field, ARRAY_LEN(strings))
{
	struct bytes b = bytes_hex(strings[_i].hex);
	struct reader r = reader_over(b.p, b.n);
	const char *want = strings[_i].cstr;
	struct span s = reader_cstr(&r, strings[_i].field);

	ck_assert_int_eq(reader_done(&r), want == NULL ? E_MALFORMED : OK);
	ck_assert_uint_eq(s.n, want == NULL ? 0 : strlen(want));
	if (want != NULL)
		ck_assert_mem_eq(s.p, want, s.n);

	r = reader_over(b.p, b.n);
	want = strings[_i].array;
	s = reader_cstr_array(&r, strings[_i].field);
	ck_assert_int_eq(reader_done(&r), want == NULL ? E_MALFORMED : OK);
	ck_assert_uint_eq(s.n, want == NULL ? 0 : strlen(want));
	if (want != NULL)
		ck_assert_mem_eq(s.p, want, s.n);
	free(b.p);
}
