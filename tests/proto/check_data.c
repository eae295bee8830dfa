/* SPDX-License-Identifier: MIT */
#include "proto/data.h"

#include <stdlib.h>

#include "common/buf.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

TEST(header_fields_stand_where_the_protocol_says)
{
	struct bytes b = bytes_hex("1111111111111111 0123456789abcdef"
				   "8000000000000007 00000c50 000003b0");
	struct reader r = reader_over(b.p, b.n);
	struct data_header h;

	ck_assert_uint_eq(b.n, DATA_HEADER_LEN);
	ck_assert_int_eq(data_header_decode(&r, &h), OK);
	ck_assert_uint_eq(h.stream, UINT64_C(0x0123456789abcdef));
	ck_assert_uint_eq(h.net_seq, UINT64_C(0x8000000000000007));
	ck_assert_uint_eq(h.size, 3152);
	ck_assert_uint_eq(h.padding, 944);
	free(b.p);
}

TEST(a_short_header_is_malformed)
{
	static const uint8_t bytes[DATA_HEADER_LEN];

	for (size_t n = 0; n < DATA_HEADER_LEN; n++) {
		struct bytes b = bytes_copy(bytes, n);
		struct reader r = reader_over(b.p, b.n);
		struct data_header h;

		ck_assert_int_eq(data_header_decode(&r, &h), E_MALFORMED);
		free(b.p);
	}
}

static const char *const recorded[] = {
	"tests/vectors/clear-first/data.c2s.bin",
	"tests/vectors/live/data.c2s.bin",
	"tests/vectors/perpid/data.c2s.bin",
	"tests/vectors/rotate-clear/data.c2s.bin",
	"tests/vectors/simple/data.c2s.bin",
	"tests/vectors/snapshot/data.c2s.bin",
	"tests/vectors/snapshot/data2.c2s.bin",
	"tests/vectors/tracefile/data.c2s.bin",
};

TEST_ROWS(recorded_headers_come_back_the_same, ARRAY_LEN(recorded))
{
	struct bytes b = bytes_source_file(recorded[_i]);
	struct reader r = reader_over(b.p, b.n);
	unsigned packets = 0;

	while (reader_left(&r) > 0) {
		struct reader head;
		struct data_header h;
		struct buf again = { 0 };
		const uint8_t *p = reader_take(&r, DATA_HEADER_LEN);

		ck_assert_ptr_nonnull(p);
		head = reader_over(p, DATA_HEADER_LEN);
		ck_assert_int_eq(data_header_decode(&head, &h), OK);
		data_header_encode(&again, &h);
		ck_assert_uint_eq(buf_len(&again), DATA_HEADER_LEN);
		ck_assert_mem_eq(buf_data(&again), p, DATA_HEADER_LEN);
		buf_free(&again);
		/* these sessions had sub-buffers of 4 KiB */
		ck_assert_uint_eq((h.size + h.padding) % 4096, 0);
		(void)reader_take(&r, h.size);
		packets++;
	}
	ck_assert_int_eq(reader_done(&r), OK);
	ck_assert_uint_gt(packets, 1);
	free(b.p);
}
