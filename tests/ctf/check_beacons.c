/* SPDX-License-Identifier: MIT */
#include "ctf/beacons.h"

#include <string.h>

#include "common/buf.h"
#include "tests/lib/unit.h"

#define FIRST "tracepulse beacons 1\n"

static struct span
span_of(const char *s)
{
	return (struct span){ s, strlen(s) };
}

TEST(what_is_written_is_the_text_and_can_be_read)
{
	static const struct {
		uint64_t cycles, stream, instance;
		const char *path;
	} rows[] = {
		{ 0, 0, 0, "kernel" },
		{ UINT64_MAX, 4294967296, UINT64_MAX, "ust/uid/0/64-bit" },
		{ 7, 1, 3, "ust/pid/a name-12-20261127-100000" },
	};
	const char *want = FIRST
	    "0 0 0 kernel\n"
	    "18446744073709551615 4294967296 18446744073709551615 "
	    "ust/uid/0/64-bit\n"
	    "7 1 3 ust/pid/a name-12-20261127-100000\n";
	struct span text;
	struct beacon b;
	struct buf out = { 0 };

	beacons_begin(&out);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		beacons_add(
		    &out, &(struct beacon){ rows[i].cycles, rows[i].stream,
			      rows[i].instance, span_of(rows[i].path) });
	text = (struct span){ (const char *)buf_data(&out), buf_len(&out) };
	ck_assert_uint_eq(text.n, strlen(want));
	ck_assert_mem_eq(text.p, want, text.n);
	ck_assert_int_eq(beacons_read(&text), OK);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(beacons_next(&text, &b), OK);
		ck_assert_uint_eq(b.cycles, rows[i].cycles);
		ck_assert_uint_eq(b.ctf_stream, rows[i].stream);
		ck_assert_uint_eq(b.ctf_instance, rows[i].instance);
		ck_assert_uint_eq(b.path.n, strlen(rows[i].path));
		ck_assert_mem_eq(b.path.p, rows[i].path, b.path.n);
	}
	ck_assert_int_eq(beacons_next(&text, &b), E_NOENT);
	buf_free(&out);
}

static const char *const others[] = { "", "tracepulse beacons 1",
	"tracepulse beacons 2\n", ("\n" FIRST), "1 0 0 kernel\n" };

TEST_ROWS(another_file_is_malformed, ARRAY_LEN(others))
{
	struct span text = span_of(others[_i]);

	ck_assert_int_eq(beacons_read(&text), E_MALFORMED);
}

static const char *const lines[] = { "\n", "1 0 0 kernel", "1 0 0", "1 0 0\n",
	"1 0 kernel\n", "-1 0 0 kernel\n", " 1 0 0 kernel\n", "1  0 0 kernel\n",
	"0x1 0 0 kernel\n", "18446744073709551616 0 0 kernel\n",
	"99999999999999999999 0 0 k\n" };

TEST_ROWS(another_line_is_malformed, ARRAY_LEN(lines))
{
	struct span text = span_of(lines[_i]);
	struct beacon b;

	ck_assert_int_eq(beacons_next(&text, &b), E_MALFORMED);
}
