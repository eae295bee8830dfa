/* SPDX-License-Identifier: MIT */
/* A recorder's control connection, replayed in any pieces. */
#include <stdlib.h>
#include <string.h>

#include "tests/ftrace/vector.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/recorder_dialog.h"

/* What came out of it. */
struct outcome {
	struct recorder_dialog d;
	struct buf metadata;
	struct recorder_dialog_begin begin;
	unsigned begun, ended;
	uint16_t first_port;
	enum status refuse;
};

static enum status
on_begin(void *arg, const struct recorder_dialog_begin *begin)
{
	struct outcome *o = arg;

	o->begin = *begin;
	o->begun++;
	return o->refuse;
}

static enum status
on_metadata(void *arg, const uint8_t *p, size_t n)
{
	struct outcome *o = arg;

	buf_bytes(&o->metadata, p, n);
	return OK;
}

static enum status
on_end(void *arg)
{
	struct outcome *o = arg;

	o->ended++;
	return OK;
}

static const struct recorder_dialog_ops ops = { on_begin, on_metadata, on_end };

static void
start(struct outcome *o)
{
	*o = (struct outcome){ .first_port = 1500 };
	recorder_dialog_init(&o->d, &ops, o);
}

static void
end(struct outcome *o)
{
	recorder_dialog_free(&o->d);
	buf_free(&o->metadata);
}

/* The ports come when the bytes were handled. */
static enum status
input(struct outcome *o, const uint8_t *p, size_t n)
{
	enum status st = recorder_dialog_input(&o->d, p, n);
	uint16_t ports[MESSAGE_CPUS_MAX];

	if (st != OK || o->d.state != DIALOG_PORTS)
		return st;
	for (uint32_t i = 0; i < o->begin.cpus; i++)
		ports[i] = (uint16_t)(o->first_port + i);
	return recorder_dialog_ports(&o->d, ports);
}

/* ALL in pieces of N bytes, each in memory of its own. */
static enum status
play(struct outcome *o, const struct bytes *all, size_t n)
{
	enum status st = OK;

	for (size_t at = 0; at < all->n && st == OK; at += n) {
		const size_t len = all->n - at < n ? all->n - at : n;
		struct bytes piece = bytes_copy(all->p + at, len);

		st = input(o, piece.p, piece.n);
		free(piece.p);
	}
	return st;
}

static void
expect_replies(const struct outcome *o, const struct bytes *s2c)
{
	ck_assert_uint_eq(buf_len(&o->d.out), s2c->n);
	ck_assert_mem_eq(buf_data(&o->d.out), s2c->p, s2c->n);
}

static const char *const names[] = { "v6-tcp", "v6-udp", "v7-tcp",
	"v7-tcp-none", "v6-tcp-flush", "v6-tcp-missed" };

static void
expect_session(const char *name, const struct bytes *c2s, size_t piece)
{
	struct bytes s2c = vector_part(name, "s2c"),
		     metadata = vector_metadata(name);
	struct outcome o;

	start(&o);
	ck_assert_int_eq(play(&o, c2s, piece), OK);
	expect_replies(&o, &s2c);
	ck_assert_uint_eq(o.begun, 1);
	ck_assert_uint_eq(o.ended, 1);
	ck_assert_int_eq(o.begin.is_tcp, strcmp(name, "v6-udp") != 0);
	ck_assert_uint_eq(o.begin.cpus, 2);
	ck_assert_uint_eq(buf_len(&o.metadata), metadata.n);
	ck_assert_mem_eq(buf_data(&o.metadata), metadata.p, metadata.n);
	ck_assert_int_eq(o.d.state, DIALOG_CLOSED);
	end(&o);
	free(metadata.p);
	free(s2c.p);
}

TEST_ROWS(a_session_in_pieces_of_any_size, ARRAY_LEN(names))
{
	static const size_t pieces[] = { 1, 2, 3, 11, 12, 13, 4096,
		SIZE_MAX / 2 };
	struct bytes c2s = vector_part(names[_i], "c2s");

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		expect_session(names[_i], &c2s, pieces[i]);
	free(c2s.p);
}

/* Two pieces, whose boundary is anywhere. */
TEST(a_session_cut_anywhere)
{
	struct bytes c2s = vector_part("v7-tcp", "c2s");

	for (size_t at = 1; at < c2s.n; at++) {
		struct bytes rest = { c2s.p + at, c2s.n - at };
		struct bytes first = { c2s.p, at };
		struct outcome o;

		start(&o);
		ck_assert_int_eq(play(&o, &first, at), OK);
		ck_assert_int_ne(o.d.state, DIALOG_CLOSED);
		ck_assert_int_eq(play(&o, &rest, rest.n), OK);
		ck_assert_int_eq(o.d.state, DIALOG_CLOSED);
		ck_assert_uint_eq(o.ended, 1);
		end(&o);
	}
	free(c2s.p);
}

TEST_ROWS(version_1, 4)
{
	static const size_t pieces[] = { 1, 7, 4096, SIZE_MAX / 2 };
	struct bytes c2s = vector_part("v1-tcp", "conn2-c2s"),
		     s2c = vector_part("v1-tcp", "conn2-s2c");
	const size_t greeting = 2 + 5 + 2 + 2 + 4;
	struct outcome o;

	start(&o);
	o.first_port = 45380;
	ck_assert_int_eq(play(&o, &c2s, pieces[_i]), OK);
	expect_replies(&o, &s2c);
	ck_assert(o.begin.is_v1 && o.begin.is_tcp);
	ck_assert_uint_eq(o.begin.page_size, 4096);
	ck_assert_uint_eq(buf_len(&o.metadata), c2s.n - greeting);
	ck_assert_mem_eq(
	    buf_data(&o.metadata), c2s.p + greeting, c2s.n - greeting);
	ck_assert_int_eq(o.d.state, DIALOG_METADATA);
	end(&o);
	free(s2c.p);
	free(c2s.p);
}

struct row {
	const char *hex; /* after the greeting of V3 if it begins with '+' */
	enum status st;
	const char *reply; /* hex, after the former replies */
};

static const struct row rows[] = {
	/* greetings */
	{ "2d3156340000", E_PROTOCOL, "" }, /* "-1V4", then "" */
	{ "2d31563400 2d31563400", E_PROTOCOL, "563300" },
	{ "2d31563400 2d31563300", OK, "563300 563300" },
	{ "47455420 2f00", E_PROTOCOL, "" }, /* "GET /" */
	{ "00", E_PROTOCOL, "" },
	{ "3131313131313131313131313131313131313131313131313131313131313131",
	    E_PROTOCOL, "" },
	{ "2d31563300 37363636373800", E_PROTOCOL, "563300" },
	{ "2d31563300 37363636373900 3100", E_PROTOCOL, "563300" },
	/* V1: CPUs, page size, options */
	{ "3000 3430393600 3000", E_PROTOCOL, "" },
	{ "39393900 3430393600 78", OK, "" },
	{ "3136303100 3430393600 3000", E_LIMIT, "" },
	{ "3200 3000 3000", E_PROTOCOL, "" },
	{ "3200 3430393600 313700", E_LIMIT, "" },
	{ "3200 3430393600 3100 3000", E_LIMIT, "" },
	{ "3200 3430393600 3100 3430393700", E_LIMIT, "" },
	{ "3200 3430393600 3100 3400 58585800", E_PROTOCOL, "" },
	{ "3200 3430393600 3000", OK, "313530302c3135303100" },
	/* lengths of messages */
	{ "+0000000b 00000000 00000000", E_MALFORMED, "" },
	{ "+00002001 00000003 00000000", E_MALFORMED, "" },
	{ "+0000000c 00000001 00000001", E_MALFORMED, "" },
	{ "+0000000c 0000000c 00000000", E_PROTOCOL, "" },
	/* TINIT: missing fields are zero, more of them are ignored */
	{ "+0000000c 00000001 00000000", E_MALFORMED, "" },
	{ "+00000014 00000001 00000008 00000001 00001000", OK,
	    "00000015 00000002 00000004 00000001 3135303000" },
	{ "+0000001c 00000001 00000010 00000001 00001000 00000000 ffffffff", OK,
	    "00000015 00000002 00000004 00000001 3135303000" },
	{ "+00000018 00000001 0000000c 00000641 00001000 00000000", E_LIMIT,
	    "" },
	{ "+00000018 00000001 0000000c 00000001 00000000 00000000", E_MALFORMED,
	    "" },
	{ "+00000018 00000001 0000000c 00000001 00001000 ffffffff", E_MALFORMED,
	    "" },
	{ "+0000001b 00000001 0000000c 00000001 00001000 00000001 746370",
	    E_MALFORMED, "" },
	{ "+0000001c 00000001 0000000c 00000001 00001000 00000001 78797a00", OK,
	    "00000015 00000002 00000004 00000001 3135303000" },
	{ "+0000001e 00000001 0000000c 00000001 00001000 00000001 "
	  "76736f636b00",
	    OK, "00000015 00000002 00000004 00000001 3135303000" },
	/* what is not supported is told so, but not "not supported" */
	{ "+0000000c 00000003 00000000", OK, "0000000c 00000005 00000000" },
	{ "+0000000c 0000000b 00000000", OK, "0000000c 00000005 00000000" },
	{ "+0000000c 00000005 00000000", OK, "" },
	{ "+0000000c 00000000 00000000 ffffffff", OK, "" }, /* CLOSE */
};

TEST_ROWS(every_mistake_has_its_answer, ARRAY_LEN(rows))
{
	static const char greeting[] = "-1V3\0"
				       "766679\0";
	const struct row *row = &rows[_i];
	const bool is_behind = *row->hex == '+';
	struct bytes in = bytes_hex(row->hex), out = bytes_hex(row->reply);

	for (size_t piece = 1; piece <= in.n; piece += in.n - 1) {
		size_t before = 8;
		struct outcome o;

		start(&o);
		if (is_behind) {
			ck_assert_int_eq(
			    recorder_dialog_input(&o.d,
				(const uint8_t *)greeting, sizeof(greeting)),
			    OK);
			before = buf_len(&o.d.out);
		}
		ck_assert_int_eq(play(&o, &in, piece), row->st);
		if (row->st != OK)
			ck_assert_ptr_nonnull(o.d.why);
		if (row->st == OK || out.n > 0) {
			ck_assert_uint_eq(buf_len(&o.d.out) - before, out.n);
			ck_assert_mem_eq(
			    buf_data(&o.d.out) + before, out.p, out.n);
		}
		end(&o);
		if (in.n == 1)
			break;
	}
	free(out.p);
	free(in.p);
}

/* A recorder that asks what is not supported, and never reads the answers. */
TEST(answers_that_nobody_reads_are_bounded)
{
	static const uint8_t cont[] = { 0, 0, 0, 12, 0, 0, 0, 11, 0, 0, 0, 0 };
	static const char greeting[] = "-1V3\0"
				       "766679\0";
	struct outcome o;
	enum status st;
	unsigned n = 0;

	start(&o);
	st = recorder_dialog_input(
	    &o.d, (const uint8_t *)greeting, sizeof(greeting));
	while (st == OK && n++ < 1000000)
		st = recorder_dialog_input(&o.d, cont, sizeof(cont));
	ck_assert_int_eq(st, E_LIMIT);
	ck_assert_uint_le(
	    buf_len(&o.d.out), DIALOG_REPLY_BYTES_MAX + MESSAGE_BYTES_MAX);
	end(&o);
}

/* As many CPUs as may be, but ports of five digits: the answer would be larger
 * than a message may be. */
TEST_ROWS(ports_that_do_not_fit_in_a_message, 4)
{
	static const char greeting[] = "-1V3\0"
				       "766679\0";
	static const struct {
		uint32_t cpus;
		uint16_t first_port;
		enum status st;
	} cases[] = { { 1362, 20000, OK }, { 1363, 20000, E_LIMIT },
		{ 1600, 1500, OK }, { 1600, 20000, E_LIMIT } };
	struct buf in = { 0 };
	struct outcome o;

	start(&o);
	o.first_port = cases[_i].first_port;
	buf_bytes(&in, greeting, sizeof(greeting));
	buf_u32(&in, MESSAGE_HEADER + 12);
	buf_u32(&in, MESSAGE_TINIT);
	buf_u32(&in, 12);
	buf_u32(&in, cases[_i].cpus);
	buf_u32(&in, 4096);
	buf_u32(&in, 0);
	ck_assert_int_eq(input(&o, buf_data(&in), buf_len(&in)), cases[_i].st);
	ck_assert_int_eq(o.d.why != NULL, cases[_i].st != OK);
	end(&o);
	buf_free(&in);
}

/* The same for an agent's answer whose ports are replaced. */
TEST(an_answer_that_does_not_fit_in_a_message)
{
	struct message_resp resp = { .cpus = MESSAGE_CPUS_MAX };
	struct buf out = { 0 };

	ck_assert_int_eq(message_put_resp(&out, &resp), OK);
	ck_assert_uint_le(buf_len(&out), MESSAGE_BYTES_MAX);
	for (uint32_t i = 0; i < resp.cpus; i++)
		resp.ports[i] = 32768;
	ck_assert_int_eq(message_put_resp(&out, &resp), E_LIMIT);
	buf_free(&out);
}

/* Ports outside of what is a port. */
TEST_ROWS(ports_of_an_agent, 4)
{
	static const struct {
		uint16_t port;
		uint32_t sync_port;
		enum status st;
	} cases[] = { { 65535, 65535, OK }, { 1, 0, OK }, { 0, 0, E_MALFORMED },
		{ 1500, 65536, E_MALFORMED } };
	struct message_resp resp = { .cpus = 1,
		.sync_port = cases[_i].sync_port,
		.ports = { cases[_i].port } };
	struct tracecmd_message m;
	struct buf out = { 0 };
	size_t used;

	ck_assert_int_eq(message_put_resp(&out, &resp), OK);
	ck_assert_int_eq(
	    message_parse(&m, buf_data(&out), buf_len(&out), &used), OK);
	ck_assert_int_eq(message_resp_decode(&resp, &m), cases[_i].st);
	buf_free(&out);
}

TEST(a_refusal_is_handed_on)
{
	struct bytes c2s = vector_part("v6-tcp", "c2s");
	struct outcome o;

	start(&o);
	o.refuse = E_LIMIT;
	ck_assert_int_eq(play(&o, &c2s, c2s.n), E_LIMIT);
	ck_assert_uint_eq(buf_len(&o.metadata), 0);
	end(&o);
	free(c2s.p);
}
