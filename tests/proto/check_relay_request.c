/* SPDX-License-Identifier: MIT */
#include "proto/relay.h"

#include <stdlib.h>

#include "common/buf.h"
#include "proto/frame.h"
#include "tests/lib/bytes.h"
#include "tests/lib/relay_echo.h"
#include "tests/lib/unit.h"
#include "tests/proto/relay_examples.h"

/* What EXAMPLE decodes to, encoded. */
static struct buf
echo_of(const struct relay_example *example, struct bytes b)
{
	struct relay_header hdr;
	struct reader body;
	struct buf out = { 0 };

	ck_assert_msg(frame_relay(b.p, b.n, &hdr, &body) == OK, "%s: frame",
	    example->title);
	ck_assert_msg(
	    hdr.size == b.n - RELAY_HEADER_LEN, "%s: size", example->title);
	ck_assert_msg(relay_echo(hdr.cmd, body, example->minor, &out) == OK,
	    "%s: decode", example->title);
	return out;
}

TEST_ROWS(examples_come_back_byte_by_byte, relay_examples_n)
{
	const struct relay_example *example = &relay_examples[_i];
	struct bytes b = bytes_hex(example->hex);
	struct buf out = echo_of(example, b);
	const bool is_same = buf_len(&out) == b.n &&
			     memcmp(buf_data(&out), b.p, b.n) == 0;

	ck_assert_msg(is_same != example->is_not_encoded, "%s", example->title);
	buf_free(&out);
	free(b.p);
}

/* Two different bytes sequences may say the same; their echoes do. */
TEST(the_three_shapes_of_rotate_say_the_same)
{
	struct relay_position want[2];
	unsigned found = 0;

	for (size_t i = 0; i < relay_examples_n; i++) {
		struct bytes b = bytes_hex(relay_examples[i].hex);
		struct relay_rotate rot;
		struct relay_header hdr;
		struct reader body;

		ck_assert_int_eq(frame_relay(b.p, b.n, &hdr, &body), OK);
		if (hdr.cmd == RELAY_CMD_rotate_streams &&
		    relay_rotate_decode(&body, &rot) == OK && rot.count == 1) {
			want[found % 2] = relay_rotate_next(&rot);
			ck_assert(rot.chunk.is_set);
			ck_assert_uint_eq(rot.chunk.value, 1);
			ck_assert_uint_eq(want[found % 2].stream, 1);
			ck_assert_uint_eq(want[found % 2].rotate_at, 5);
			found++;
		}
		free(b.p);
	}
	ck_assert_uint_eq(found, 2);
}

TEST(a_failed_append_is_reported_once_at_the_end)
{
	struct buf b = { 0 };

	relay_request_metadata(&b, 1, "x", 1, 0);
	ck_assert(!b.bad);
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX));
	relay_request_version(&b, 2, 15);
	ck_assert(b.bad);
	ck_assert_uint_eq(buf_len(&b), 24 + 12 + 1);
	buf_free(&b);
}
