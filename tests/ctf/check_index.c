/* SPDX-License-Identifier: MIT */
#include "ctf/index.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

/* streaming 5.6 */
static const char *const headers[] = { "c1f1dcc1 00000001 00000000 00000038",
	"c1f1dcc1 00000001 00000001 00000048" };

TEST_ROWS(headers_are_those_of_the_format, ARRAY_LEN(headers))
{
	struct bytes want = bytes_hex(headers[_i]);
	uint8_t got[INDEX_HEADER_LEN];
	unsigned minor;

	index_header_encode(got, (unsigned)_i);
	ck_assert_mem_eq(got, want.p, sizeof(got));
	ck_assert_int_eq(index_header_decode(want.p, &minor), OK);
	ck_assert_uint_eq(minor, (unsigned)_i);
	free(want.p);
}

static const char *const wrong[] = {
	"c1f1dcc2 00000001 00000001 00000048", /* magic */
	"c1dcf1c1 01000000 01000000 48000000", /* byte order */
	"c1f1dcc1 00000002 00000001 00000048", /* major */
	"c1f1dcc1 00000001 00000002 00000048", /* minor */
	"c1f1dcc1 00000001 00000001 00000038", /* length of 1.0 */
	"c1f1dcc1 00000001 00000000 00000048", /* length of 1.1 */
	"00000000 00000000 00000000 00000000",
};

TEST_ROWS(other_headers_are_malformed, ARRAY_LEN(wrong))
{
	struct bytes b = bytes_hex(wrong[_i]);
	unsigned minor;

	ck_assert_int_eq(index_header_decode(b.p, &minor), E_MALFORMED);
	free(b.p);
}

TEST_ROWS(fields_stand_where_the_format_says, 2)
{
	struct bytes want = bytes_hex(
	    "0000000000001000 0000000000008000 0000000000007ef0"
	    "000001f81f383e46 000001f820fcc30b 0000000000000003"
	    "0000000000000004 0000000000000005 8000000000000006");
	const struct index_record rec = { .offset = 4096,
		.packet_size = 0x8000,
		.content_size = 0x7ef0,
		.timestamp_begin = UINT64_C(0x1f81f383e46),
		.timestamp_end = UINT64_C(0x1f820fcc30b),
		.events_discarded = 3,
		.ctf_stream = 4,
		.ctf_instance = 5,
		.packet_seq_num = UINT64_C(0x8000000000000006) };
	const uint32_t n = index_record_len((unsigned)_i);
	struct bytes cut = bytes_copy(want.p, n);
	struct bytes got = bytes_copy(want.p, n);
	struct index_record back;

	memset(got.p, 0xee, n);
	index_encode(got.p, &rec, (unsigned)_i);
	ck_assert_mem_eq(got.p, cut.p, n);
	index_decode(cut.p, &back, (unsigned)_i);
	ck_assert_uint_eq(back.offset, rec.offset);
	ck_assert_uint_eq(back.timestamp_end, rec.timestamp_end);
	ck_assert_uint_eq(back.ctf_stream, 4);
	ck_assert_uint_eq(back.ctf_instance, _i == 0 ? 0 : 5);
	ck_assert_uint_eq(
	    back.packet_seq_num, _i == 0 ? 0 : rec.packet_seq_num);
	free(got.p);
	free(cut.p);
	free(want.p);
}
