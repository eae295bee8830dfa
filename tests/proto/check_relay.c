/* SPDX-License-Identifier: MIT */
#include "proto/relay.h"

#include <stdlib.h>

#include "common/buf.h"
#include "proto/frame.h"
#include "tests/lib/bytes.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

#define S50 "55555555555555555555555555555555555555555555555555"
#define S250 S50 S50 S50 S50 S50

/* The payload of what was appended to B, in memory of its exact size; B is
 * emptied. */
static struct bytes
payload(struct buf *b)
{
	struct bytes p;

	ck_assert(!b->bad);
	p = bytes_copy(
	    buf_data(b) + RELAY_HEADER_LEN, buf_len(b) - RELAY_HEADER_LEN);
	buf_free(b);
	return p;
}

TEST(rows_are_found_by_wire_number)
{
	unsigned rows = 0;

#define RELAY(wire, name_, since, allowed_, max)                 \
	ck_assert_str_eq(relay_row(wire)->name, #name_);         \
	ck_assert_uint_eq(relay_row(wire)->since_minor, since);  \
	ck_assert_uint_eq(relay_row(wire)->allowed, (allowed_)); \
	ck_assert_uint_eq(relay_row(wire)->max_payload, (max));  \
	rows++;
#include "proto/relay.tbl.h"
#undef RELAY
	for (uint32_t cmd = 0; cmd < 70000; cmd++)
		rows -= relay_row(cmd)->name != NULL;
	ck_assert_uint_eq(rows, 0);
	ck_assert_ptr_null(relay_row(UINT32_MAX)->name);
	ck_assert_uint_eq(relay_row(UINT32_MAX)->allowed, 0);
}

static const struct {
	const char *channel, *path;
	enum status st;
	const char *want;
} streams[] = {
	{ "ch0_0", "ust/uid/1002/64-bit", OK, "ust/uid/1002/64-bit" },
	{ "c", "/host/session-date/kernel/", OK, "host/session-date/kernel" },
	{ "c", "host//session//ust", OK, "host/session/ust" },
	{ ".c", ".p", OK, ".p" },
	{ "c", S250 "1234", OK, S250 "1234" },
	{ "c", S250 "12345", E_MALFORMED, NULL },
	{ S250 "12345", "p", OK, "p" },
	{ S250 "123456", "p", E_MALFORMED, NULL },
	{ "", "p", E_MALFORMED, NULL },
	{ ".", "p", E_MALFORMED, NULL },
	{ "..", "p", E_MALFORMED, NULL },
	{ "../c", "p", E_MALFORMED, NULL },
	{ "a/b", "p", E_MALFORMED, NULL },
	{ "c\n", "p", E_MALFORMED, NULL },
	{ "c", "", E_REFUSED, NULL },
	{ "c", ".", E_REFUSED, NULL },
	{ "c", "/", E_REFUSED, NULL },
	{ "c", "//p", E_REFUSED, NULL },
	{ "c", "..", E_REFUSED, NULL },
	{ "c", "../p", E_REFUSED, NULL },
	{ "c", "p/..", E_REFUSED, NULL },
	{ "c", "p/../q", E_REFUSED, NULL },
	{ "c", "/../p", E_REFUSED, NULL },
};

TEST_ROWS(stream_names_are_safe_in_every_version, ARRAY_LEN(streams))
{
	static const struct {
		unsigned minor;
		size_t size; /* of the payload, before 2.11 */
	} shapes[] = { { 1, 4360 }, { 2, 4376 }, { 10, 4376 }, { 11, 0 },
		{ 15, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		const unsigned minor = shapes[i].minor;
		struct relay_add_stream a;
		struct buf b = { 0 };
		struct bytes p;
		struct reader r;

		relay_request_add_stream(&b, minor, streams[_i].channel,
		    streams[_i].path, 8192, 3, 5);
		p = payload(&b);
		if (shapes[i].size > 0)
			ck_assert_uint_eq(p.n, shapes[i].size);
		r = reader_over(p.p, p.n);
		ck_assert_int_eq(
		    relay_add_stream_decode(&r, minor, &a), streams[_i].st);
		free(p.p);
		if (streams[_i].st == OK) {
			ck_assert_str_eq(a.channel->s, streams[_i].channel);
			ck_assert_str_eq(a.path->s, streams[_i].want);
			ck_assert_uint_eq(
			    a.tracefile_size, minor >= 2 ? 8192 : 0);
			ck_assert_uint_eq(
			    a.tracefile_count, minor >= 2 ? 3 : 0);
		} else {
			ck_assert_ptr_null(a.channel);
			ck_assert_ptr_null(a.path);
		}
		relay_add_stream_clear(&a);
	}
}

TEST(stream_of_2_2_cut_short_is_malformed)
{
	struct relay_add_stream a;
	struct buf b = { 0 };
	struct bytes p;

	relay_request_add_stream(&b, 2, "c", "p", 1, 1, 0);
	p = payload(&b);
	for (size_t n = 0; n < p.n; n += n < 4300 ? 37 : 1) {
		struct bytes cut = bytes_copy(p.p, n);
		struct reader r = reader_over(cut.p, n);

		ck_assert_int_eq(
		    relay_add_stream_decode(&r, 2, &a), E_MALFORMED);
		free(cut.p);
	}
	memset(p.p + 264, 'x', 4096);
	struct reader r = reader_over(p.p, p.n);
	ck_assert_int_eq(relay_add_stream_decode(&r, 2, &a), E_MALFORMED);
	free(p.p);
}

TEST(index_grows_in_2_8)
{
	static const struct relay_index all = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	struct relay_index i;
	struct buf b = { 0 };
	struct bytes p;
	struct reader r;

	relay_request_index(&b, 8, &all);
	p = payload(&b);
	ck_assert_uint_eq(p.n, 80);
	r = reader_over(p.p, 80);
	ck_assert_int_eq(relay_index_decode(&r, 8, &i), OK);
	ck_assert_mem_eq(&i, &all, sizeof(all));
	r = reader_over(p.p, 64);
	ck_assert_int_eq(relay_index_decode(&r, 8, &i), E_MALFORMED);
	r = reader_over(p.p, 64);
	ck_assert_int_eq(relay_index_decode(&r, 7, &i), OK);
	ck_assert_uint_eq(i.ctf_stream, 8);
	ck_assert_uint_eq(i.ctf_instance, 0);
	ck_assert_uint_eq(i.packet_seq_num, 0);
	free(p.p);
}

/* COUNT as it is claimed, over SIZE bytes of payload. */
static const struct {
	uint32_t count;
	size_t size;
	enum status st;
} rotations[] = {
	{ 0, 13, OK },
	{ 0, 16, OK },
	{ 0, 20, OK },
	{ 1, 29, OK },
	{ 1, 32, OK },
	{ 1, 36, OK },
	{ 3, 68, OK },
	{ 0, 0, E_MALFORMED },
	{ 0, 12, E_MALFORMED },
	{ 0, 14, E_MALFORMED },
	{ 0, 29, E_MALFORMED },
	{ 0, 21, E_MALFORMED },
	{ 1, 20, E_MALFORMED },
	{ 1, 37, E_MALFORMED },
	{ 2, 36, E_MALFORMED },
	/* 16 times these are 0 and 16 in 32 bits */
	{ UINT32_C(0x10000000), 20, E_MALFORMED },
	{ UINT32_C(0xf0000001), 36, E_MALFORMED },
	{ UINT32_MAX, 20, E_MALFORMED },
	{ UINT32_MAX, 4, E_MALFORMED },
};

TEST_ROWS(rotation_takes_exactly_one_of_three_sizes, ARRAY_LEN(rotations))
{
	struct relay_rotate rot;
	struct buf b = { 0 };
	struct bytes p;
	struct reader r;

	buf_zero(&b, RELAY_HEADER_LEN);
	buf_u32(&b, rotations[_i].count);
	buf_zero(&b, 128);
	buf_truncate(&b, RELAY_HEADER_LEN + rotations[_i].size);
	p = payload(&b);
	r = reader_over(p.p, p.n);
	ck_assert_int_eq(relay_rotate_decode(&r, &rot), rotations[_i].st);
	if (rotations[_i].st == OK) {
		ck_assert_uint_eq(rot.count, rotations[_i].count);
		ck_assert_uint_eq(
		    reader_left(&rot.positions), 16 * (size_t)rot.count);
		ck_assert_uint_eq(reader_left(&r), 0);
	}
	free(p.p);
}

static const struct {
	uint32_t len; /* claimed */
	const char *bytes;
	size_t n; /* there */
	enum status st;
	const char *name;
} overrides[] = {
	{ 0, "", 0, OK, NULL },
	{ 0, "x", 1, OK, NULL },
	{ 2, "a", 2, OK, "a" },
	{ 2, "a\0more", 7, OK, "a" },
	{ 4, "a\0b", 4, E_REFUSED, NULL },
	{ 3, "a\0", 3, E_REFUSED, NULL },
	{ 251, S250, 251, OK, S250 },
	{ 255, S250 "1234", 255, OK, S250 "1234" },
	{ 256, S250 "12345", 256, E_REFUSED, NULL },
	{ 1, "", 1, E_REFUSED, NULL },
	{ 2, "\0", 2, E_REFUSED, NULL },
	{ 2, "ab", 2, E_REFUSED, NULL },
	{ 4, "a/b", 4, E_REFUSED, NULL },
	{ 4, "a.b", 4, E_REFUSED, NULL },
	{ 3, "..", 3, E_REFUSED, NULL },
	{ 3, "a\n", 3, E_REFUSED, NULL },
	{ UINT32_MAX, "a", 2, E_REFUSED, NULL },
	{ 3, "a", 2, E_MALFORMED, NULL },
	{ 255, "", 0, E_MALFORMED, NULL },
};

TEST_ROWS(override_name_is_one_plain_component, ARRAY_LEN(overrides))
{
	struct relay_create_chunk c;
	struct buf b = { 0 };
	struct bytes p;
	struct reader r;

	buf_zero(&b, RELAY_HEADER_LEN);
	buf_u64(&b, 1);
	buf_u64(&b, 2);
	buf_u32(&b, overrides[_i].len);
	buf_bytes(&b, overrides[_i].bytes, overrides[_i].n);
	p = payload(&b);
	r = reader_over(p.p, p.n);
	ck_assert_int_eq(relay_create_chunk_decode(&r, &c), overrides[_i].st);
	ck_assert_uint_eq(c.id, 1);
	ck_assert_uint_eq(c.creation_time, 2);
	if (overrides[_i].name == NULL)
		ck_assert_ptr_null(c.override_name);
	else
		ck_assert_str_eq(c.override_name->s, overrides[_i].name);
	relay_create_chunk_clear(&c);
	free(p.p);
}

/* One decoder that owns names; false when it owns some after a failure. */
static bool
decode_owning(int which, struct bytes p, enum status *st)
{
	struct reader r = reader_over(p.p, p.n);
	struct relay_create_session c = { 0 };
	struct relay_create_chunk k = { 0 };
	struct relay_add_stream a = { 0 };
	bool owns;

	if (which == 0)
		*st = relay_create_session_decode(&r, 15, &c);
	else if (which == 1)
		*st = relay_add_stream_decode(&r, 15, &a);
	else
		*st = relay_create_chunk_decode(&r, &k);
	owns = c.session_name || c.hostname || c.base_path || a.channel ||
	       a.path || k.override_name;
	relay_create_session_clear(&c);
	relay_add_stream_clear(&a);
	relay_create_chunk_clear(&k);
	return owns == (*st == OK);
}

TEST_ROWS(without_memory_nothing_is_owned, 3)
{
	static const unsigned names[] = { 3, 2, 1 };
	static const struct relay_session_request q = {
		.session_name = "s",
		.hostname = "h",
		.base_path = "b",
		.uuid = { { 1 } },
		.trace_format = 1,
	};
	struct buf b = { 0 };
	struct bytes p;
	enum status st;

	if (_i == 0)
		relay_request_create_session(&b, 15, &q);
	else if (_i == 1)
		relay_request_add_stream(&b, 15, "c", "p", 0, 0, 0);
	else
		relay_request_create_chunk(&b, 0, 0, "name");
	p = payload(&b);
	for (unsigned n = 1; n <= names[_i] + 1; n++) {
		bool clean, failed;

		fault_arm(n);
		clean = decode_owning(_i, p, &st);
		failed = fault_disarm();
		ck_assert(clean);
		ck_assert_int_eq(failed, n <= names[_i]);
		ck_assert_int_eq(st, failed ? E_NOMEM : OK);
	}
	free(p.p);
}
