/* SPDX-License-Identifier: MIT */
#include "tools/send/tsdl.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

/* As LTTng writes it, shortened. */
static const char lttng[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := unsigned "
    "long;\n"
    "typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
    "trace {\n"
    "	major = 1;\n	minor = 8;\n"
    "	uuid = \"d6e1-a \\\" ; }\";\n"
    "	byte_order = le;\n"
    "	packet.header := struct {\n"
    "		uint32_t magic;\n"
    "		uint8_t  uuid[16];\n"
    "		uint32_t stream_id;\n"
    "		uint64_t stream_instance_id;\n"
    "	};\n"
    "};\n"
    "env { hostname = \"vm\"; tracer_major = 2; };\n"
    "clock {\n	name = \"monotonic\";\n	freq = 500000000; // Hz\n"
    "	offset_s = 17;\n	offset = -5;\n};\n"
    "typealias integer { size = 27; align = 1; signed = false;\n"
    "	map = clock.monotonic.value; } := uint27_clock_monotonic_t;\n"
    "struct packet_context {\n"
    "	uint64_t timestamp_begin;\n	uint64_t timestamp_end;\n"
    "	unsigned long content_size;\n	uint64_t packet_size;\n"
    "	uint64_t packet_seq_num;\n	unsigned long events_discarded;\n"
    "	uint32_t cpu_id;\n};\n"
    "struct event_header_compact {\n"
    "	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"
    "	variant <id> {\n"
    "		struct { uint27_clock_monotonic_t timestamp; } compact;\n"
    "		struct { uint32_t id; uint64_t timestamp; } extended;\n"
    "	} v;\n} align(8);\n"
    "stream {\n	id = 0;\n"
    "	event.header := struct event_header_compact;\n"
    "	packet.context := struct packet_context;\n};\n"
    "stream {\n	id = 3;\n	packet.context := struct { uint32_t x; };\n};\n"
    "event { name = \"a:b\"; id = 0; stream_id = 0;\n"
    "	fields := struct { integer { size = 8; } _n; string _s; }; };\n";

static void
expect_field(const struct tsdl_layout *l, enum tsdl_name name, unsigned offset,
    unsigned size)
{
	ck_assert_uint_eq(l->fields[name].offset, offset);
	ck_assert_uint_eq(l->fields[name].size, size);
}

TEST(what_lttng_writes)
{
	const struct tsdl_stream *s;
	struct tsdl t;

	ck_assert_msg(
	    tsdl_parse(&t, lttng, strlen(lttng)) == OK, "%s", t.error);
	ck_assert_uint_eq(t.header.size, (4 + 16 + 4 + 8) * 8);
	expect_field(&t.header, TSDL_MAGIC, 0, 32);
	expect_field(&t.header, TSDL_STREAM_ID, 160, 32);
	expect_field(&t.header, TSDL_STREAM_INSTANCE_ID, 192, 64);
	expect_field(&t.header, TSDL_PACKET_SIZE, 0, 0);
	ck_assert_uint_eq(t.n_streams, 2);
	s = tsdl_stream_of(&t, 0);
	ck_assert_uint_eq(s->context.size, (6 * 8 + 4) * 8);
	expect_field(&s->context, TSDL_TIMESTAMP_END, 64, 64);
	expect_field(&s->context, TSDL_CONTENT_SIZE, 128, 64);
	expect_field(&s->context, TSDL_EVENTS_DISCARDED, 320, 64);
	ck_assert(s->context.fields[TSDL_PACKET_SIZE].is_little_endian);
	ck_assert_uint_eq(tsdl_stream_of(&t, 3)->context.size, 32);
	ck_assert_ptr_null(tsdl_stream_of(&t, 1));
	ck_assert_uint_eq(t.clock.freq, 500000000);
	ck_assert_int_eq(t.clock.offset_s, 17);
	ck_assert_int_eq(t.clock.offset, -5);
	tsdl_free(&t);
}

/* Cut anywhere it is refused or understood, and never read past its end. */
TEST(every_beginning_of_it)
{
	for (size_t n = 0; n < strlen(lttng); n++) {
		char *copy = malloc(n + 1);
		struct tsdl t;

		memcpy(copy, lttng, n);
		if (tsdl_parse(&t, copy, n) != OK)
			ck_assert_str_ne(t.error, "");
		tsdl_free(&t);
		free(copy);
	}
}

static uint32_t
draw(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

/* A few bytes changed, or a piece moved: refused or understood, in time. */
TEST_ROWS(every_change_of_it, 8)
{
	const size_t n = strlen(lttng);
	uint32_t x = (uint32_t)_i;

	for (int round = 0; round < 1000; round++) {
		char *copy = malloc(n);
		struct tsdl t;

		memcpy(copy, lttng, n);
		for (uint32_t k = draw(&x) % 4; k > 0; k--)
			copy[draw(&x) % n] =
			    "{}[]<>;:=\"/*.09 a-"[draw(&x) % 18];
		if (draw(&x) % 2 == 0) {
			const size_t len = draw(&x) % 40,
				     from = draw(&x) % (n - len),
				     to = draw(&x) % (n - len);

			memmove(copy + to, copy + from, len);
		}
		if (tsdl_parse(&t, copy, n) != OK)
			ck_assert_str_ne(t.error, "");
		tsdl_free(&t);
		free(copy);
	}
}

/* The context of stream 0 behind these types. */
static const struct {
	const char *context;
	unsigned size, align, offset; /* of packet_size */
} layouts[] = {
	{ "struct { integer { size = 32; } packet_size; }", 32, 8, 0 },
	{ "struct { integer { size = 3; } a; integer { size = 5; align = 1; } "
	  "packet_size; }",
	    8, 1, 3 },
	{ "struct { integer { size = 8; } a; integer { size = 32; align = 32; "
	  "} packet_size; }",
	    64, 32, 32 },
	{ "struct { struct { integer { size = 8; } x; } align(64) a[2]; "
	  "integer { size = 16; } packet_size; }",
	    88, 64, 72 },
	{ "struct { integer { size = 8; } a[3][2]; integer { size = 8; } "
	  "packet_size; }",
	    56, 8, 48 },
	{ "struct { floating_point { exp_dig = 11; mant_dig = 53; align = 8; } "
	  "f; enum e : integer { size = 8; } { A, B = 4 } x; "
	  "integer { size = 8; } packet_size; }",
	    80, 8, 72 },
	{ "struct { typealias integer { size = 16; } := short; short int_; "
	  "short packet_size; }",
	    32, 8, 16 },
	{ "struct { t twice; t packet_size; }", 48, 8, 24 },
	{ "struct { t a[2], packet_size, b; }", 96, 8, 48 },
	{ "struct { typealias t := other; other packet_size; }", 24, 8, 0 },
	{ "named", 48, 8, 24 },
};

static enum status
parse_context(struct tsdl *t, const char *context)
{
	char text[1024];

	snprintf(text, sizeof(text),
	    "typedef integer { size = 24; align = 8; byte_order = be; } t;"
	    "typealias struct { t a, packet_size; } := named;"
	    "clock { offset = -9223372036854775808; };"
	    "trace { byte_order = le; };"
	    "stream { packet.context := %s; };",
	    context);
	return tsdl_parse(t, text, strlen(text));
}

TEST_ROWS(layouts_follow_the_rules, ARRAY_LEN(layouts))
{
	const struct tsdl_layout *l;
	struct tsdl t;

	ck_assert_msg(
	    parse_context(&t, layouts[_i].context) == OK, "%s", t.error);
	l = &t.streams[0].context;
	ck_assert_uint_eq(l->size, layouts[_i].size);
	ck_assert_uint_eq(l->align, layouts[_i].align);
	ck_assert_uint_eq(
	    l->fields[TSDL_PACKET_SIZE].offset, layouts[_i].offset);
	tsdl_free(&t);
}

static const struct {
	const char *context;
	enum status st;
} refused[] = {
	{ "struct { string s; }", E_REFUSED },
	{ "struct { integer { size = 8; } n; integer { size = 8; } a[n]; }",
	    E_REFUSED },
	{ "struct { variant <x> { struct { } a; } v; }", E_REFUSED },
	{ "integer { size = 8; }", E_REFUSED },
	{ "struct { nothing x; }", E_MALFORMED },
	{ "struct { integer { } x; }", E_MALFORMED },
	{ "struct { integer { size = 8; align = 0x7fffffff; } x; }",
	    E_MALFORMED },
	{ "struct { integer { size = 8; } x", E_MALFORMED },
	{ "struct { integer { size = 64; } a[65535][65535][65535]; }",
	    E_REFUSED },
	{ "struct { typedef t a[500000]; typedef a b[500000];"
	  " typedef b c[500000]; typedef c d[500000]; d x; }",
	    E_REFUSED },
	{ "struct { integer { size = 8; } a[0xffffffffffffffff]; }",
	    E_REFUSED },
	{ "struct { integer { size = 8; } x; } align(0)", E_MALFORMED },
};

TEST_ROWS(what_cannot_be_laid_out_is_refused, ARRAY_LEN(refused))
{
	struct tsdl t;

	ck_assert_msg(parse_context(&t, refused[_i].context) == refused[_i].st,
	    "%s: %s", refused[_i].context, t.error);
	ck_assert_str_ne(t.error, "");
	tsdl_free(&t);
}

TEST(deep_nesting_is_refused)
{
	static char text[40000] = "trace { byte_order = le; }; typedef ";
	struct tsdl t;
	size_t n = strlen(text);

	while (n < sizeof(text) - 10) {
		memcpy(text + n, "struct { ", 9);
		n += 9;
	}
	ck_assert_int_eq(tsdl_parse(&t, text, n), E_LIMIT);
	tsdl_free(&t);
}

static const struct {
	unsigned offset, size;
	bool le;
	uint64_t value;
} reads[] = {
	{ 0, 8, true, 0x01 },
	{ 0, 16, true, 0x2301 },
	{ 0, 16, false, 0x0123 },
	{ 0, 64, true, 0xefcdab8967452301 },
	{ 0, 64, false, 0x0123456789abcdef },
	{ 8, 32, false, 0x23456789 },
	{ 8, 24, true, 0x674523 },
	{ 4, 8, true, 0x30 },
	{ 4, 8, false, 0x12 },
	{ 3, 1, false, 0 },
	{ 7, 1, false, 1 },
	{ 0, 1, true, 1 },
	{ 0, 0, true, 0 },
};

TEST_ROWS(numbers_of_any_size_and_place, ARRAY_LEN(reads))
{
	static const uint8_t bytes[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
		0xcd, 0xef };
	const struct tsdl_field f = { .offset = reads[_i].offset,
		.size = reads[_i].size,
		.is_little_endian = reads[_i].le };

	ck_assert_uint_eq(tsdl_read(bytes, &f, 0), reads[_i].value);
}
