/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "common/buf.h"
#include "proto/frame.h"
#include "proto/relay.h"
#include "tests/lib/bytes.h"
#include "tests/lib/relay_echo.h"
#include "tests/lib/unit.h"
#include "tests/proto/relay_examples.h"

#define ROTATE_HOLE (RELAY_HEADER_LEN + 5)
#define ROTATE_HOLE_LEN 7

static const char *const recorded[] = {
	"tests/vectors/clear-first/ctl.c2s.bin",
	"tests/vectors/live/ctl.c2s.bin",
	"tests/vectors/perpid/ctl.c2s.bin",
	"tests/vectors/rotate-clear/ctl.c2s.bin",
	"tests/vectors/simple/ctl.c2s.bin",
	"tests/vectors/snapshot/ctl.c2s.bin",
	"tests/vectors/snapshot/ctl2.c2s.bin",
	"tests/vectors/tracefile/ctl.c2s.bin",
};

/* One message: its header, its payload, and all its bytes. */
struct message {
	struct relay_header hdr;
	struct reader body;
	const uint8_t *p;
	size_t n;
};

static struct message
next_message(struct reader *r)
{
	struct message m = { .p = r->p };

	ck_assert_int_eq(
	    frame_relay(r->p, (size_t)reader_left(r), &m.hdr, &m.body), OK);
	m.n = (size_t)(m.body.end - m.p);
	(void)reader_take(r, m.n);
	return m;
}

TEST_ROWS(recorded_messages_come_back_byte_by_byte, ARRAY_LEN(recorded))
{
	struct bytes b = bytes_source_file(recorded[_i]);
	struct reader r = reader_over(b.p, b.n);
	unsigned messages = 0;

	for (; reader_left(&r) > 0; messages++) {
		struct message m = next_message(&r);
		struct bytes want = bytes_copy(m.p, m.n);
		struct buf out = { 0 };

		ck_assert_int_eq(relay_echo(m.hdr.cmd, m.body, 13, &out), OK);
		ck_assert_uint_eq(buf_len(&out), m.n);
		if (m.hdr.cmd == RELAY_CMD_rotate_streams)
			memset(want.p + ROTATE_HOLE, 0, ROTATE_HOLE_LEN);
		ck_assert_mem_eq(buf_data(&out), want.p, m.n);
		free(want.p);
		buf_free(&out);
	}
	ck_assert_uint_gt(messages, 10);
	free(b.p);
}

/* Payloads that are whole although cut to N of their bytes. */
static bool
is_whole(const struct message *m, uint64_t n)
{
	switch (m->hdr.cmd) {
	case RELAY_CMD_send_metadata: /* any number of bytes of it */
		return n >= 12;
	case RELAY_CMD_rotate_streams: /* shapes with a shorter hole */
		return n == m->hdr.size - 4 || n == m->hdr.size - 7;
	}
	return false;
}

/* M cut at every length, each in memory of exactly that length. */
static void
cut(const struct message *m, unsigned minor)
{
	for (uint64_t n = 0; n < m->hdr.size; n++) {
		struct bytes b = bytes_copy(m->p + RELAY_HEADER_LEN, (size_t)n);
		struct buf out = { 0 };
		enum status st = relay_echo(
		    m->hdr.cmd, reader_over(b.p, b.n), minor, &out);

		ck_assert_msg(st == (is_whole(m, n) ? OK : E_MALFORMED),
		    "%s cut to %zu: %s", relay_row(m->hdr.cmd)->name, (size_t)n,
		    status_text(st));
		buf_free(&out);
		free(b.p);
	}
}

TEST_ROWS(recorded_messages_cut_short_are_malformed, ARRAY_LEN(recorded))
{
	struct bytes b = bytes_source_file(recorded[_i]);
	struct reader r = reader_over(b.p, b.n);

	while (reader_left(&r) > 0) {
		struct message m = next_message(&r);

		cut(&m, 13);
	}
	free(b.p);
}

/* The examples' rotations of the packed and 4-byte shapes are no subject here:
 * is_whole() is about the 20-byte shape. */
TEST_ROWS(examples_cut_short_are_malformed, relay_examples_n)
{
	struct bytes b = bytes_hex(relay_examples[_i].hex);
	struct reader r = reader_over(b.p, b.n);
	struct message m = next_message(&r);

	if (m.hdr.cmd != RELAY_CMD_rotate_streams || m.hdr.size % 16 == 4)
		cut(&m, relay_examples[_i].minor);
	free(b.p);
}

TEST_ROWS(
    bytes_beyond_a_payload_are_ignored_but_for_rotations, relay_examples_n)
{
	struct bytes b = bytes_hex(relay_examples[_i].hex);
	const size_t n = b.n - RELAY_HEADER_LEN;
	struct relay_header hdr;
	struct reader body;
	struct buf once = { 0 }, twice = { 0 }, more = { 0 };
	enum status st;

	ck_assert_int_eq(frame_relay(b.p, b.n, &hdr, &body), OK);
	ck_assert_int_eq(
	    relay_echo(hdr.cmd, body, relay_examples[_i].minor, &once), OK);
	buf_bytes(&more, b.p + RELAY_HEADER_LEN, n);
	buf_u8(&more, 0xff);
	st = relay_echo(hdr.cmd, reader_over(buf_data(&more), n + 1),
	    relay_examples[_i].minor, &twice);
	if (hdr.cmd == RELAY_CMD_rotate_streams) {
		ck_assert_int_eq(st, E_MALFORMED);
	} else if (hdr.cmd != RELAY_CMD_send_metadata) {
		ck_assert_int_eq(st, OK);
		ck_assert_uint_eq(buf_len(&once), buf_len(&twice));
		ck_assert_mem_eq(
		    buf_data(&once), buf_data(&twice), buf_len(&once));
	}
	buf_free(&once);
	buf_free(&twice);
	buf_free(&more);
	free(b.p);
}

static bool seen[10100];

static void
see(struct bytes b)
{
	struct reader r = reader_over(b.p, b.n);

	while (reader_left(&r) > 0) {
		struct message m = next_message(&r);

		ck_assert_uint_lt(m.hdr.cmd, ARRAY_LEN(seen));
		seen[m.hdr.cmd] = true;
	}
	free(b.p);
}

TEST(every_row_of_the_table_has_a_message)
{
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++)
		see(bytes_source_file(recorded[i]));
	for (size_t i = 0; i < relay_examples_n; i++)
		see(bytes_hex(relay_examples[i].hex));
#define RELAY(wire, name, since, allowed, max) \
	ck_assert_msg(seen[wire],              \
	    "no example of " #name " in tests/proto/relay_examples.c");
#include "proto/relay.tbl.h"
#undef RELAY
}
