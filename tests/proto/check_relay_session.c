/* SPDX-License-Identifier: MIT */
#include "proto/relay.h"

#include <stdlib.h>

#include "common/buf.h"
#include "proto/frame.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

#define S50 "55555555555555555555555555555555555555555555555555"
#define S250 S50 S50 S50 S50 S50

/* A CREATE_SESSION that any version takes. */
static const struct relay_session_request plain = {
	.session_name = "s",
	.hostname = "h",
	.base_path = "",
	.uuid = { { 1 } },
	.trace_format = 1,
};

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

static enum status
decode_session(const struct relay_session_request *q, unsigned minor,
    struct relay_create_session *c)
{
	struct buf b = { 0 };
	struct bytes p;
	struct reader r;
	enum status st;

	relay_request_create_session(&b, minor, q);
	p = payload(&b);
	r = reader_over(p.p, p.n);
	st = relay_create_session_decode(&r, minor, c);
	free(p.p);
	return st;
}

TEST(session_of_2_4_has_fixed_fields)
{
	struct relay_create_session c;
	uint8_t raw[327] = "session";
	struct bytes b;
	struct reader r;

	memcpy(raw + 255, "host", 5);
	memcpy(raw + 319, "\x00\x0f\x42\x40\x00\x00\x00\x01", 8);
	for (unsigned minor = 4; minor <= 10; minor++) {
		b = bytes_copy(raw, sizeof(raw));
		r = reader_over(b.p, b.n);
		ck_assert_int_eq(
		    relay_create_session_decode(&r, minor, &c), OK);
		free(b.p);
		ck_assert_str_eq(c.session_name->s, "session");
		ck_assert_str_eq(c.hostname->s, "host");
		ck_assert_ptr_null(c.base_path);
		ck_assert_uint_eq(c.live_timer_us, 1000000);
		ck_assert(c.is_snapshot);
		ck_assert(!c.has_peer_id);
		ck_assert(!c.chunk.is_set);
		ck_assert_uint_eq(c.trace_format, 1);
		relay_create_session_clear(&c);
	}
	for (size_t n = 0; n < sizeof(raw); n++) {
		b = bytes_copy(raw, n);
		r = reader_over(b.p, b.n);
		ck_assert_int_eq(
		    relay_create_session_decode(&r, 4, &c), E_MALFORMED);
		free(b.p);
	}
	memset(raw, 'x', 255);
	r = reader_over(raw, sizeof(raw));
	ck_assert_int_eq(relay_create_session_decode(&r, 4, &c), E_MALFORMED);
	raw[10] = '\0';
	memset(raw + 255, 'x', 64);
	r = reader_over(raw, sizeof(raw));
	ck_assert_int_eq(relay_create_session_decode(&r, 4, &c), E_MALFORMED);
}

TEST(sessions_before_2_4_have_no_payload)
{
	struct relay_create_session c;
	struct reader r = reader_over("", 0);

	for (unsigned minor = 1; minor < 4; minor++) {
		ck_assert_int_eq(decode_session(&plain, minor, &c), OK);
		ck_assert_ptr_null(c.session_name);
		ck_assert_ptr_null(c.hostname);
		ck_assert_ptr_null(c.base_path);
		ck_assert_uint_eq(c.live_timer_us, 0);
		ck_assert(!c.is_snapshot && !c.has_peer_id && !c.chunk.is_set);
		ck_assert_uint_eq(c.trace_format, 1);
		relay_create_session_clear(&c);
	}
	/* There is no 2.0, and this is a peer that sent no version. */
	ck_assert_int_eq(relay_create_session_decode(&r, 0, &c), E_MALFORMED);
}

TEST(session_of_2_15_says_all)
{
	struct relay_session_request q = plain;
	struct relay_create_session c;

	q.base_path = "a/b";
	q.live_timer_us = 5;
	q.is_snapshot = q.name_has_time = true;
	q.peer_session = 6;
	q.creation_time = 7;
	q.chunk = (struct relay_optional){ true, 8 };
	q.trace_format = 2;
	ck_assert_int_eq(decode_session(&q, 15, &c), OK);
	ck_assert_str_eq(c.session_name->s, "s");
	ck_assert_str_eq(c.hostname->s, "h");
	ck_assert_str_eq(c.base_path->s, "a/b");
	ck_assert_uint_eq(c.live_timer_us, 5);
	ck_assert(c.is_snapshot && c.name_has_time && c.has_peer_id);
	ck_assert_mem_eq(c.uuid.b, plain.uuid.b, 16);
	ck_assert_uint_eq(c.peer_session, 6);
	ck_assert_uint_eq(c.creation_time, 7);
	ck_assert(c.chunk.is_set);
	ck_assert_uint_eq(c.chunk.value, 8);
	ck_assert_uint_eq(c.trace_format, 2);
	relay_create_session_clear(&c);
}

static const struct {
	const char *name;
	bool is_ok;
} session_names[] = {
	{ "a", true },
	{ "a.b", true },
	{ "a..", true },
	{ S250, true },
	{ S250 "1234", true },
	{ S250 "12345", false },
	{ S50 S250, false },
	{ "", false },
	{ ".", false },
	{ "..", false },
	{ ".hidden", false },
	{ "a/b", false },
	{ "/a", false },
	{ "a\nb", false },
};

TEST_ROWS(session_and_host_are_one_visible_component, ARRAY_LEN(session_names))
{
	struct relay_session_request q = plain;
	const bool ok = session_names[_i].is_ok;
	struct relay_create_session c;

	q.session_name = session_names[_i].name;
	ck_assert_int_eq(decode_session(&q, 13, &c), ok ? OK : E_MALFORMED);
	relay_create_session_clear(&c);
	q.session_name = "s";
	q.hostname = session_names[_i].name;
	if (strlen(q.hostname) == 255) /* a host name may be longer by one */
		return;
	ck_assert_int_eq(decode_session(&q, 13, &c), ok ? OK : E_MALFORMED);
	relay_create_session_clear(&c);
}

TEST(a_host_name_may_have_255_bytes)
{
	struct relay_session_request q = plain;
	struct relay_create_session c;

	q.hostname = S250 "12345";
	ck_assert_int_eq(decode_session(&q, 13, &c), OK);
	ck_assert_str_eq(c.hostname->s, q.hostname);
	relay_create_session_clear(&c);
	q.hostname = S250 "123456";
	ck_assert_int_eq(decode_session(&q, 13, &c), E_MALFORMED);
}

/* One folder less than RELAY_BASE_DEPTH_MAX. */
#define DEEP10 "a/b/c/d/e/f/g/h/i/j/"
#define DEEP DEEP10 DEEP10 DEEP10 "x/"

static const struct {
	const char *sent, *path; /* "": none; NULL: refused */
} base_paths[] = {
	{ "", "" },
	{ "a", "a" },
	{ "a/b//c/", "a/b/c" },
	{ "..a", "..a" },
	{ "/a", NULL },
	{ "/", NULL },
	{ "..", NULL },
	{ "../a", NULL },
	{ "a/..", NULL },
	{ "a/../b", NULL },
	{ DEEP "z", DEEP "z" },
	{ DEEP "/z//", DEEP "z" },
	{ DEEP "y/z", NULL },
};

TEST_ROWS(base_path_stays_below, ARRAY_LEN(base_paths))
{
	struct relay_session_request q = plain;
	const char *want = base_paths[_i].path;
	struct relay_create_session c;

	q.base_path = base_paths[_i].sent;
	ck_assert_int_eq(
	    decode_session(&q, 13, &c), want == NULL ? E_MALFORMED : OK);
	if (want == NULL || want[0] == '\0')
		ck_assert_ptr_null(c.base_path);
	else
		ck_assert_str_eq(c.base_path->s, want);
	relay_create_session_clear(&c);
}

TEST(nil_uuid_and_unknown_formats_are_refused)
{
	struct relay_session_request q = plain;
	struct relay_create_session c;

	for (uint32_t format = 0; format < 5; format++) {
		const bool ok = format == 1 || format == 2;

		q.trace_format = format;
		ck_assert_int_eq(
		    decode_session(&q, 15, &c), ok ? OK : E_MALFORMED);
		relay_create_session_clear(&c);
		ck_assert_int_eq(decode_session(&q, 14, &c), OK);
		ck_assert_uint_eq(c.trace_format, 1);
		relay_create_session_clear(&c);
	}
	q = plain;
	q.uuid = (struct relay_uuid){ { 0 } };
	ck_assert_int_eq(decode_session(&q, 11, &c), E_MALFORMED);
}

/* Lengths as they stand in the payload of 59 bytes and 9 bytes of names. */
static const struct {
	uint32_t session, host, base;
	enum status st;
} lengths[] = {
	{ 2, 2, 5, OK },
	{ 2, 2, 0, OK },
	{ 2, 2, 6, E_MALFORMED },
	{ 0, 2, 5, E_MALFORMED },
	{ 2, 0, 5, E_MALFORMED },
	{ 1, 2, 5, E_MALFORMED },
	{ 2, 3, 4, E_MALFORMED },
	{ UINT32_MAX, 2, 5, E_MALFORMED },
	{ 2, UINT32_MAX, 5, E_MALFORMED },
	{ 2, 2, UINT32_MAX, E_MALFORMED },
	{ UINT32_MAX, 3, 1, E_MALFORMED },
};

TEST_ROWS(hostile_lengths_are_malformed, ARRAY_LEN(lengths))
{
	struct relay_create_session c;
	struct buf b = { 0 };
	struct bytes p;
	struct reader r;

	buf_zero(&b, RELAY_HEADER_LEN);
	buf_u32(&b, lengths[_i].session);
	buf_u32(&b, lengths[_i].host);
	buf_u32(&b, lengths[_i].base);
	buf_zero(&b, 6);
	buf_bytes(&b, plain.uuid.b, 16);
	buf_zero(&b, 25);
	buf_bytes(&b, "s\0h\0b/cd", 9);
	p = payload(&b);
	ck_assert_uint_eq(p.n, 59 + 9);
	r = reader_over(p.p, p.n);
	ck_assert_int_eq(
	    relay_create_session_decode(&r, 13, &c), lengths[_i].st);
	relay_create_session_clear(&c);
	free(p.p);
}
