/* SPDX-License-Identifier: MIT */
#include "tools/capture/ctf.h"

#include <stdio.h>
#include <string.h>

#include "common/compiler.h"
#include "tests/capture/samples.h"
#include "tests/lib/unit.h"

#define TIME "00 1581e97df4102211"
/* Link type, direction, both lengths. */
#define LENGTHS "0100 01 40000000 3c000000"
#define ETHERNET "01 020000000002 020000000001"
#define IPV6_ENDS                          \
	"20010db8000000000000000000000001" \
	"20010db8000000000000000000000002"
#define TCP "01 3039 0050 01020304 05060708 5018 0100 abcd 0000"

/* What the first samples become, in all modes: before and after LENGTHS. */
static const struct {
	const char *id, *network, *link;
} encoded[] = {
	{ "01", "0a000001 c0a80002 06 45 10 002a 1c46 4000 40 b1e6" TCP,
	    ETHERNET "00 0008" },
	{ "01",
	    "0a000001 0a000002 11 4500001e 00000000 40 b1e6"
	    "02 0035 c350 000a 1234",
	    ETHERNET "02 64e0 0a00 0008" },
	{ "01",
	    "7f000001 7f000001 01 4500001c 00000000 40 0000"
	    "03 0800 f7ff 00000001",
	    "00" },
	{ "01", "0a000001 0a000002 11 4500001c 12342001 40 0000 00",
	    ETHERNET "00 0008" },
	{ "02", IPV6_ENDS "00 6ab12345 001c 40" TCP, ETHERNET "00 dd86" },
	{ "02", IPV6_ENDS "3a 60000000 0008 ff 04 8000 1234 00010002", "00" },
	{ "00", "", ETHERNET "00 0608" },
	{ "00", "", "00" },
	{ "00", "", "00" },
};

/* The same with PAYLOAD_SUMMARY; of 64 bytes on the wire. */
static const char *const summaries[] = {
	"10.0.0.1:12345 \u2192 192.168.0.2:80 TCP PSH,ACK 64",
	"10.0.0.1:53 \u2192 10.0.0.2:50000 UDP 64",
	"127.0.0.1 \u2192 127.0.0.1 ICMP type 8 code 0 64",
	"10.0.0.1 \u2192 10.0.0.2 protocol 17 fragment 64",
	"[2001:db8::1]:12345 \u2192 [2001:db8::2]:80 TCP PSH,ACK 64",
	"2001:db8::1 \u2192 2001:db8::2 ICMPv6 type 128 code 0 64",
	"ARP 64",
	"link type 1 64",
	"link type 1 64",
};

static struct bytes
encode(const struct record *r, const struct headers *h, enum payload payload)
{
	uint8_t *out = malloc(EVENT_SIZE_MAX(r->len));
	const size_t n = event_encode(out, r, h, payload);
	const struct bytes b = bytes_copy(out, n);

	ck_assert_uint_le(n, EVENT_SIZE_MAX(r->len));
	free(out);
	return b;
}

static void
expect(struct bytes b, const char *start, const char *rest, const uint8_t *tail,
    size_t tail_n)
{
	struct bytes s = bytes_hex(start), r = bytes_hex(rest);

	ck_assert_uint_eq(b.n, s.n + r.n + tail_n);
	ck_assert_mem_eq(b.p, s.p, s.n);
	ck_assert_mem_eq(b.p + s.n, r.p, r.n);
	if (tail_n > 0)
		ck_assert_mem_eq(b.p + s.n + r.n, tail, tail_n);
	free(s.p);
	free(r.p);
	free(b.p);
}

/* As PAYLOAD_FULL has it: their number, then the bytes. */
static struct bytes
sequence(const struct bytes *b)
{
	struct bytes s = { malloc(4 + b->n), 4 + b->n };

	memcpy(s.p, (uint8_t[4]){ (uint8_t)b->n }, 4);
	memcpy(s.p + 4, b->p, b->n);
	return s;
}

/* Decoded it is the same packet; cut anywhere it is refused. */
static void
expect_decoded(const struct record *r, struct bytes event)
{
	struct reader in = reader_over(event.p, event.n);
	struct record out;
	const uint8_t *bytes;

	ck_assert_int_eq(event_decode(&in, &out, &bytes), OK);
	ck_assert_ptr_eq(in.p, in.end);
	ck_assert_uint_eq(out.ns, r->ns);
	ck_assert_uint_eq(out.link_type, r->link_type);
	ck_assert_uint_eq(out.direction, r->direction);
	ck_assert_uint_eq(out.wire_len, r->wire_len);
	ck_assert_uint_eq(out.cap_len, r->cap_len);
	ck_assert_uint_eq(out.len, r->len);
	ck_assert_mem_eq(bytes, r + 1, r->len);
	for (size_t n = 0; n < event.n; n++) {
		uint8_t *cut = malloc(n + 1);

		memcpy(cut, event.p, n);
		in = reader_over(cut, n);
		ck_assert_int_eq(event_decode(&in, &out, &bytes), E_MALFORMED);
		free(cut);
	}
	free(event.p);
}

TEST_ROWS(events_of_samples, ARRAY_LEN(encoded))
{
	struct bytes b = sample_bytes(&samples[_i]), payload = sequence(&b);
	struct record *r = sample_record(&b, LINKTYPE_ETHERNET);
	const char *link = encoded[_i].link;
	struct bytes summary;
	struct headers h;
	char start[256];

	r->ns = 0x112210f47de98115;
	r->direction = DIRECTION_INCOMING;
	r->wire_len = 64;
	r->cap_len = 60;
	headers_find(&h, samples[_i].link_type, b.p, (uint32_t)b.n);
	expect(encode(r, NULL, PAYLOAD_NONE), "00" TIME, LENGTHS, NULL, 0);
	(void)snprintf(start, sizeof(start), "%s" TIME "%s" LENGTHS,
	    encoded[_i].id, encoded[_i].network);
	expect(encode(r, &h, PAYLOAD_HEADERS), start, link, NULL, 0);
	expect(encode(r, &h, PAYLOAD_FULL), start, link, payload.p, payload.n);
	expect_decoded(r, encode(r, &h, PAYLOAD_FULL));
	summary = encode(r, &h, PAYLOAD_SUMMARY);
	ck_assert_str_eq((const char *)summary.p + 10, summaries[_i]);
	free(summary.p);
	free(payload.p);
	free(r);
	free(b.p);
}

TEST(the_largest_headers)
{
	const struct sample large = { "", LINKTYPE_ETHERNET,
		"020000000001 020000000002 8100 0001 8100 0002 8100 0003 8100 "
		"0004 86dd 60000000 0014 06 40 20010db8000000000000000000000001"
		"20010db8000000000000000000000002"
		"3039 0050 01020304 05060708 5018 0100 abcd 0000" };
	struct bytes b = sample_bytes(&large), none;
	struct record *r = sample_record(&b, LINKTYPE_ETHERNET);
	struct headers h;

	ck_assert_uint_le(b.n, EVENT_HEADERS_LEN);
	headers_find(&h, r->link_type, b.p, (uint32_t)b.n);
	ck_assert_int_eq(h.transport_type, TRANSPORT_TCP);
	r->len = 0;
	none = encode(r, &h, PAYLOAD_FULL);
	ck_assert_uint_le(none.n, EVENT_SIZE_MAX(0));
	free(none.p);
	free(r);
	free(b.p);
}

TEST(statistics)
{
	const struct record_stats stats = { 1, 2, UINT64_MAX };
	struct bytes b = bytes_copy(&stats, sizeof(stats));
	struct record *r = sample_record(&b, 0);
	uint8_t out[EVENT_SIZE_MAX(sizeof(stats))];
	size_t n;

	r->ns = 5;
	r->kind = RECORD_STATS;
	n = event_encode_stats(out, r);
	expect(bytes_copy(out, n), "0300 0500000000000000",
	    "0100000000000000 0200000000000000 ffffffffffffffff", NULL, 0);
	free(r);
	free(b.p);
}

TEST(a_packet_header)
{
	struct ctf_trace trace = { .n_uris = 0 };
	const struct ctf_packet packet = { .instance = 0x0102030405060708,
		.timestamp_begin = 1,
		.timestamp_end = 2,
		.content_size = 88,
		.packet_size = 4096,
		.packet_seq_num = 3,
		.events_discarded = 4,
		.cpu_id = 5,
		.input = 6 };
	uint8_t out[CTF_HEADER_LEN];

	memset(trace.uuid, 0xab, sizeof(trace.uuid));
	ctf_header_encode(out, &trace, &packet);
	expect(bytes_copy(out, sizeof(out)),
	    "c11ffcc1 abababababababababababababababab 00000000"
	    "0807060504030201",
	    "0100000000000000 0200000000000000 c002000000000000"
	    "0080000000000000 0300000000000000 0400000000000000"
	    "05000000 06000000",
	    NULL, 0);
}

/* Only what event_decode() knows is read back. */
TEST(metadata_of_another_version)
{
	struct ctf_trace trace = { .hostname = "box", .payload = PAYLOAD_FULL };
	struct buf b = { 0 };
	const char *why;
	char *text;
	size_t n;

	ck_assert_int_eq(ctf_metadata(&b, &trace), OK);
	n = buf_len(&b);
	buf_u8(&b, 0);
	text = (char *)(uintptr_t)buf_data(&b);
	ck_assert_int_eq(ctf_metadata_check(text, n, &why), OK);
	for (unsigned i = 0; i < 2; i++) { /* without and with a tunnel */
		text = strstr(text, "{\n\t\tstruct ipv4_header _network");
		ck_assert_ptr_nonnull(text);
		*text = ' ';
	}
	ck_assert_int_eq(
	    ctf_metadata_check((const char *)buf_data(&b), n, &why), E_REFUSED);
	ck_assert_ptr_nonnull(strstr(why, "older version"));
	buf_free(&b);
}

/* A string of the metadata is on one line and ends where it should, whatever is
 * in it. */
TEST(strings_are_escaped)
{
	char name[256];
	struct ctf_trace trace = { .hostname = name, .n_uris = 0 };
	struct buf b = { 0 };
	const char *line, *end;

	for (unsigned i = 0; i < 255; i++)
		name[i] = (char)(i + 1);
	name[255] = '\0';
	ck_assert_int_eq(ctf_metadata(&b, &trace), OK);
	buf_u8(&b, 0);
	line = strstr((const char *)buf_data(&b), "hostname = \"");
	ck_assert_ptr_nonnull(line);
	end = strchr(line, '\n');
	ck_assert_int_eq(strncmp(end - 2, "\";", 2), 0);
	for (const char *s = line + strlen("hostname = \""); s < end - 2; s++)
		ck_assert(*s >= ' ' && *s <= '~' && *s != '"');
	ck_assert_ptr_nonnull(strstr(line, "\\001\\002"));
	ck_assert_ptr_nonnull(strstr(line, "[\\134]"));
	ck_assert_ptr_nonnull(strstr(line, "\\376\\377\";\n"));
	buf_free(&b);
}
