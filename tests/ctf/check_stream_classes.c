/* SPDX-License-Identifier: MIT */
/* Stream classes found in metadata as it comes. */
#include <string.h>

#include "common/compiler.h"
#include "ctf/stream_classes.h"
#include "tests/lib/unit.h"

#define ALL STREAM_CLASSES_ALL
#define CTF "/* CTF 1.8 */"

static const struct {
	const char *text;
	uint64_t found; /* the set */
} rows[] = {
	{ "", 0 },
	{ CTF, 0 },
	{ "/", 0 },
	{ "/* CTF ", 0 },
	/* Another language. */
	{ "x", ALL },
	{ "metadata", ALL },
	{ "/* PDF 1.8 */", ALL },
	{ " " CTF, ALL },
	{ CTF "trace { id = 1; };\n", 0 },
	{ CTF "stream {\n\tid = 0;\n};", 1 },
	{ CTF "stream{id=5;};", 1 << 5 },
	{ CTF "stream { id = 0x3; };", 1 << 3 },
	{ CTF "stream { };", 1 }, /* of a trace with one class */
	{ CTF "stream { id = 62; };", UINT64_C(1) << 62 },
	{ CTF "stream { id = 63; };", UINT64_C(1) << 63 },
	{ CTF "stream { id = 4096; };", UINT64_C(1) << 63 },
	{ CTF "stream { id = 1;", 0 }, /* not whole */
	{ CTF "stream { id = 1; }; stream { id = 4; };", 1 << 1 | 1 << 4 },
	/* What stands in a class, and is not its id. */
	{ CTF "stream { packet.context := struct { int id; } align(8); id = 2; "
	      "};",
	    1 << 2 },
	{ CTF "stream { packet.context := struct { id = 7; }; id = 2; };",
	    1 << 2 },
	{ CTF "stream { event.id = 7; stream_id = 6; id = 2; };", 1 << 2 },
	{ CTF "stream { id := 7; };", 1 },
	/* What only looks like a class. */
	{ CTF "event { id = 1; stream_id = 2; };", 0 },
	{ CTF "struct stream { int id; };", 1 }, /* taken for one: no harm */
	{ CTF "trace { stream { id = 1; }; };", 0 },
	{ CTF "streams { id = 1; };", 0 },
	{ CTF "mystream { id = 1; };", 0 },
	{ CTF "stream.event { id = 1; };", 0 },
	{ CTF "/* stream { id = 1; }; */", 0 },
	{ CTF "/* *stream { id = 1; }; **/ stream { id = 2; };", 1 << 2 },
	{ CTF "// stream { id = 1; };\nstream { id = 2; };", 1 << 2 },
	{ CTF "env { a = \"stream { id = 1; };\"; };", 0 },
	{ CTF "env { a = \"\\\"}; stream { id = 1; };\"; };", 0 },
	{ CTF "} } stream { id = 1; };", 1 << 1 },
	/* CTF 2. */
	{ "\x1e{\"type\":\"preamble\",\"version\":2}", 0 },
	{ "\x1e{\"type\": \"data-stream-class\", \"id\": 3}", ALL },
	{ "\x1e{\"a\": \"\"data-stream-class\"}", ALL },
	{ "\x1e{\"a\": \"data-stream-classes\"}", 0 },
};

/* Whole, byte by byte, and with zeros after each byte of padding. */
TEST_ROWS(classes_of_plain_text, ARRAY_LEN(rows))
{
	const uint8_t *text = (const uint8_t *)rows[_i].text;
	const size_t n = strlen(rows[_i].text);
	struct stream_classes whole = { 0 }, bytes = { 0 };

	/* Padding would end what is only a beginning. */
	stream_classes_feed(&whole, text, n, n < 8 ? 0 : 100);
	ck_assert_msg(whole.found == rows[_i].found, "%s: %#llx", rows[_i].text,
	    (unsigned long long)whole.found);
	for (size_t i = 0; i < n; i++)
		stream_classes_feed(&bytes, text + i, 1, 0);
	ck_assert_msg(bytes.found == rows[_i].found, "%s: %#llx by bytes",
	    rows[_i].text, (unsigned long long)bytes.found);
}

static void
put32(uint8_t *p, uint32_t value, bool is_big)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> (is_big ? 24 - 8 * i : 8 * i));
}

/* A metadata packet of SIZE bytes (CTF 1.8, 7.1); what was used of it. */
static size_t
packet(uint8_t *p, const char *text, size_t n, uint32_t size, bool is_big)
{
	memset(p, 0xaa, size);
	put32(p, 0x75d11d57, is_big);
	put32(p + 24, (uint32_t)(37 + n) * 8, is_big);
	put32(p + 28, size * 8, is_big);
	memcpy(p + 37, text, n);
	return 37 + n;
}

/* The text cut at any place between two packets, in both byte orders; behind
 * the first its padding as bytes (0), or said by the peer (1). */
TEST_ROWS(classes_of_packets, 4)
{
	static const char text[] = CTF "a { }; stream { id = 3; }; b { };";
	const size_t n = sizeof(text) - 1;
	uint8_t bytes[256];

	for (size_t cut = 0; cut <= n; cut++) {
		struct stream_classes s = { 0 };
		const bool is_big = _i % 2 == 1;
		size_t used = packet(bytes, text, cut, 128, is_big);

		if (_i < 2)
			stream_classes_feed(&s, bytes, 128, 0);
		else
			stream_classes_feed(
			    &s, bytes, used, (uint32_t)(128 - used));
		ck_assert_uint_eq(s.found, cut >= 38 ? 1 << 3 : 0);
		(void)packet(bytes, text + cut, n - cut, 128, is_big);
		for (size_t i = 0; i < 128; i++)
			stream_classes_feed(&s, bytes + i, 1, 0);
		ck_assert_uint_eq(s.found, 1 << 3);
	}
}

/* Metadata that is not understood delays nothing. */
TEST_ROWS(bytes_that_are_not_a_packet_declare_all, 4)
{
	struct stream_classes s = { 0 };
	uint8_t bytes[256];

	(void)packet(bytes, CTF, 13, 64, false);
	(void)packet(bytes + 64, "b", 1, 64, false);
	switch (_i) {
	case 0: /* content below the header */
		put32(bytes + 24, 36 * 8, false);
		break;
	case 1: /* a packet below its content */
		put32(bytes + 28, 37 * 8, false);
		break;
	case 2: /* another magic after it */
		put32(bytes + 64, 0x75d11d58, false);
		break;
	default: /* another byte order after it */
		put32(bytes + 64, 0x75d11d57, true);
		break;
	}
	stream_classes_feed(&s, bytes, 128, 0);
	ck_assert_uint_eq(s.found, ALL);
	stream_classes_feed(&s, bytes, 128, 0);
	ck_assert_uint_eq(s.found, ALL);
}

/* Without end: it is looked at up to a limit. */
TEST_ROWS(a_flood_is_not_looked_at, 2)
{
	static uint8_t zeros[1 << 20];
	struct stream_classes s = { 0 };

	memcpy(zeros, CTF, 13);
	for (int i = 0; i < 3; i++)
		stream_classes_feed(&s, zeros, sizeof(zeros), 0);
	stream_classes_feed(&s, zeros, sizeof(zeros) - 1, 1);
	ck_assert_uint_eq(s.found, 0);
	stream_classes_feed(&s, zeros, _i == 0, _i == 1);
	ck_assert_uint_eq(s.found, ALL);
	stream_classes_feed(&s, NULL, 0, UINT32_MAX);
	ck_assert_uint_eq(s.found, ALL);
}

/* It is worth waiting for a class when a trace is described. */
static const struct {
	const char *text;
	uint64_t set;
} sets[] = {
	{ "", ALL },
	{ "what", ALL },
	{ CTF, ALL },
	{ CTF "/* trace { */", ALL },
	{ CTF "trace = 1; a { trace { }; };", ALL },
	{ CTF "trace {", 0 },
	{ CTF "trace { }; stream { id = 2; };", 1 << 2 },
	{ CTF "stream { id = 2; };", 1 << 2 },
	{ "\x1e{\"type\": 1}", 0 },
};

TEST_ROWS(what_is_worth_waiting_for, ARRAY_LEN(sets))
{
	const uint8_t *text = (const uint8_t *)sets[_i].text;
	struct stream_classes s = { 0 };

	stream_classes_feed(&s, text, strlen(sets[_i].text), 0);
	ck_assert_msg(stream_classes_set(&s) == sets[_i].set, "%s: %#llx",
	    sets[_i].text, (unsigned long long)stream_classes_set(&s));
}

TEST(ids_beyond_the_set)
{
	ck_assert(stream_classes_have(1, 0));
	ck_assert(!stream_classes_have(1, 1));
	ck_assert(!stream_classes_have(1, 63));
	ck_assert(stream_classes_have(UINT64_C(1) << 63, 63));
	ck_assert(stream_classes_have(UINT64_C(1) << 63, UINT64_MAX));
	ck_assert(!stream_classes_have(UINT64_C(1) << 63, 62));
	ck_assert(stream_classes_have(ALL, 17));
}
