/* SPDX-License-Identifier: MIT */
/* Stream files cut into packets, and put in order: files made here. */
#include "tools/send/packets.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "tests/lib/unit.h"
#include "tools/send/schedule.h"
#include "tools/send/trace.h"

static char folder[] = "check_packets.XXXXXX";

static void
make_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(mkdir("index", 0755), 0);
}

static void
remove_folder(void)
{
	static const char *const names[] = { "metadata", "a", "b", "c",
		"index/a.idx", "index" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)remove(names[i]);
	ck_assert_int_eq(chdir(".."), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

/* Each test has a folder of its own. */
EACH_TEST(make_folder, remove_folder)

static void
write_file(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(name, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(p, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

/* As barectf writes it: plain text, big-endian, clock of 32 bits. */
static const char barectf[] =
    "/* CTF 1.8 */\n"
    "trace { major = 1; minor = 8; byte_order = be;\n"
    " packet.header := struct {\n"
    "  integer { size = 32; align = 32; } magic;\n"
    "  integer { size = 8; align = 8; } stream_id; } align(8); };\n"
    "clock { name = c; freq = 1000; offset_s = 2; };\n"
    "stream { id = 1; packet.context := struct {\n"
    "  integer { size = 16; align = 16; } packet_size;\n"
    "  integer { size = 16; align = 16; } content_size;\n"
    "  integer { size = 32; align = 32; } timestamp_begin;\n"
    "  integer { size = 32; align = 32; } timestamp_end;\n"
    "  integer { size = 16; align = 16; } events_discarded;\n"
    " } align(32); };\n";
#define CONTEXT_AT 8
#define BARECTF_HEADS (CONTEXT_AT + 16) /* rounded up */

static void
put_packet(struct buf *b, unsigned size, unsigned content, uint32_t begin,
    uint32_t end, uint16_t discarded)
{
	const size_t at = buf_len(b);

	buf_u32(b, 0xc1fc1fc1);
	buf_u8(b, 1);
	buf_zero(b, 3);
	buf_u16(b, (uint16_t)(size * 8));
	buf_u16(b, (uint16_t)(content * 8));
	buf_u32(b, begin);
	buf_u32(b, end);
	buf_u16(b, discarded);
	buf_zero(b, size - (buf_len(b) - at));
}

static void
parse(struct tsdl *t)
{
	ck_assert_msg(
	    tsdl_parse(t, barectf, strlen(barectf)) == OK, "%s", t->error);
}

TEST(packets_are_found_by_their_headers)
{
	struct buf b = { 0 };
	struct packets p;
	struct client_packet k;
	struct tsdl t;

	parse(&t);
	put_packet(&b, 64, 40, 100, 200, 0);
	put_packet(&b, 32, 32, 0xfffffff0, 5, 7); /* the clock wraps */
	put_packet(&b, 100, 50, 9, 10, 9);
	write_file("a", buf_data(&b), buf_len(&b));
	ck_assert_int_eq(packets_open(&p, "a", "index/a.idx", &t, NULL), OK);
	ck_assert(!p.has_index);
	ck_assert_int_eq(packets_next(&p, &k), OK);
	ck_assert_uint_eq(k.size, 64);
	ck_assert_uint_eq(k.index.content_size, 320);
	ck_assert_uint_eq(k.index.timestamp_end, 200);
	ck_assert_uint_eq(k.index.ctf_stream, 1);
	ck_assert_int_eq(packets_next(&p, &k), OK);
	ck_assert_uint_eq(k.index.timestamp_begin, 0xfffffff0);
	ck_assert_uint_eq(k.index.timestamp_end, UINT64_C(0x100000005));
	ck_assert_uint_eq(k.index.events_discarded, 7);
	ck_assert_int_eq(packets_next(&p, &k), OK);
	ck_assert_uint_eq(k.index.timestamp_begin, UINT64_C(0x100000009));
	ck_assert_uint_eq(k.index.packet_seq_num, 2);
	ck_assert_ptr_eq(k.data, p.data.p + 96);
	ck_assert_int_eq(packets_next(&p, &k), E_NOENT);
	packets_rewind(&p);
	ck_assert_int_eq(packets_next(&p, &k), OK);
	ck_assert_uint_eq(k.index.timestamp_begin, 100);
	packets_close(&p);
	buf_free(&b);
	tsdl_free(&t);
}

/* One good packet, and what follows it. */
static const struct {
	const char *why;
	unsigned size, content, begin, end, cut;
} broken[] = {
	{ "cut short", 64, 64, 1, 2, 1 },
	{ "cut short", 64, 64, 1, 2, 60 },
	{ "in whole bytes", 0, 0, 1, 2, 0 },
	{ "larger than the packet", 32, 40, 1, 2, 0 },
	{ "shorter than its own header", 8, 8, 1, 2, 0 },
	{ "ends before it begins", 64, 64, 9, 3, 0 },
	{ "no packet header", 0, 0, 0, 0, 0 },
};

TEST_ROWS(broken_files_are_refused, ARRAY_LEN(broken))
{
	struct buf b = { 0 };
	struct packets p;
	struct tsdl t;

	parse(&t);
	/* So far ahead that 3 is no wrap of 9. */
	put_packet(&b, 64, 40, 0, 0, 0);
	if (strcmp(broken[_i].why, "no packet header") == 0) {
		buf_zero(&b, 64);
	} else {
		const size_t at = buf_len(&b);

		put_packet(&b, 64, broken[_i].content, broken[_i].begin,
		    broken[_i].end, 0);
		b.mem[at + CONTEXT_AT] = (uint8_t)(broken[_i].size >> 5);
		b.mem[at + CONTEXT_AT + 1] = (uint8_t)(broken[_i].size << 3);
	}
	buf_truncate(&b, buf_len(&b) - broken[_i].cut);
	write_file("a", buf_data(&b), buf_len(&b));
	if (broken[_i].begin > broken[_i].end) {
		/* A wrap, so it is none. */
		ck_assert_int_eq(
		    packets_open(&p, "a", "index/a.idx", &t, NULL), OK);
		packets_close(&p);
	} else {
		ck_assert_int_eq(packets_open(&p, "a", "index/a.idx", &t, NULL),
		    E_MALFORMED);
		ck_assert_msg(
		    strstr(p.error, broken[_i].why) != NULL, "%s", p.error);
	}
	buf_free(&b);
	tsdl_free(&t);
}

static void
put_record(
    struct buf *b, uint64_t offset, unsigned size, uint64_t begin, uint64_t seq)
{
	buf_u64(b, offset);
	buf_u64(b, size * UINT64_C(8));
	buf_u64(b, size * UINT64_C(8) - 8);
	buf_u64(b, begin);
	buf_u64(b, begin + 1);
	buf_u64(b, 3);
	buf_u64(b, 1);
	buf_u64(b, 77);
	buf_u64(b, seq);
}

static void
put_index_header(struct buf *b)
{
	buf_u32(b, 0xc1f1dcc1);
	buf_u32(b, 1);
	buf_u32(b, 1);
	buf_u32(b, 72);
}

/* What is wrong with the index; it is used only when nothing is. */
static const struct {
	const char *what;
	uint64_t second_at;
	unsigned second_size;
	unsigned records;
	unsigned cut;
} indexes[] = {
	{ "", 64, 32, 2, 0 },
	{ "a gap", 65, 31, 2, 0 },
	{ "too short", 64, 32, 1, 0 },
	{ "too long", 64, 32, 3, 0 },
	{ "torn", 64, 32, 2, 5 },
	{ "beyond the file", 64, 64, 2, 0 },
};

TEST_ROWS(an_index_that_says_all_is_used, ARRAY_LEN(indexes))
{
	struct buf b = { 0 }, index = { 0 };
	struct client_packet k;
	struct packets p;
	struct tsdl t;

	parse(&t);
	put_packet(&b, 64, 64, 100, 200, 0);
	put_packet(&b, 32, 32, 300, 400, 0);
	put_index_header(&index);
	put_record(&index, 0, 64, 1000, 40);
	if (indexes[_i].records > 1)
		put_record(&index, indexes[_i].second_at,
		    indexes[_i].second_size, 2000, 42);
	if (indexes[_i].records > 2)
		put_record(&index, 96, 32, 2000, 43);
	buf_truncate(&index, buf_len(&index) - indexes[_i].cut);
	write_file("a", buf_data(&b), buf_len(&b));
	write_file("index/a.idx", buf_data(&index), buf_len(&index));
	ck_assert_int_eq(packets_open(&p, "a", "index/a.idx", &t, NULL), OK);
	ck_assert_msg(p.has_index == (indexes[_i].what[0] == '\0'), "%s",
	    indexes[_i].what);
	ck_assert_int_eq(packets_next(&p, &k), OK);
	ck_assert_int_eq(packets_next(&p, &k), OK);
	ck_assert_uint_eq(k.index.timestamp_begin, p.has_index ? 2000 : 300);
	ck_assert_uint_eq(k.index.packet_seq_num, p.has_index ? 42 : 1);
	ck_assert_uint_eq(k.index.ctf_instance, p.has_index ? 77 : 0);
	ck_assert_int_eq(packets_next(&p, &k), E_NOENT);
	packets_close(&p);
	buf_free(&b);
	buf_free(&index);
	tsdl_free(&t);
}

/* a: 100-200, 300-900. b: 150-250, 260-1000. c: nothing. */
static void
make_trace(void)
{
	struct buf a = { 0 }, b = { 0 };

	put_packet(&a, 64, 64, 100, 200, 0);
	put_packet(&a, 64, 64, 300, 900, 0);
	put_packet(&b, 64, 64, 150, 250, 0);
	put_packet(&b, 64, 64, 260, 1000, 0);
	write_file("metadata", barectf, strlen(barectf));
	write_file("a", buf_data(&a), buf_len(&a));
	write_file("b", buf_data(&b), buf_len(&b));
	write_file("c", "", 0);
	buf_free(&a);
	buf_free(&b);
}

static void
expect_next(struct schedule *s, const char *stream, uint64_t end)
{
	const struct trace_stream *from;
	struct client_packet k;

	ck_assert_uint_eq(
	    schedule_due_ns(s), UINT64_C(2000000000) + end * 1000000);
	ck_assert_int_eq(schedule_take(s, &k, &from), OK);
	ck_assert_str_eq(from->name, stream);
	ck_assert_uint_eq(k.index.timestamp_end, end);
}

TEST(packets_come_in_the_order_of_their_ends)
{
	struct traces t = { 0 };
	struct schedule s;

	make_trace();
	ck_assert_msg(traces_add(&t, ".", false) == OK, "%s", t.error);
	ck_assert_uint_eq(t.n, 1);
	ck_assert_uint_eq(t.traces[0]->n_streams, 3);
	ck_assert_str_eq(t.traces[0]->path, t.name);
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(schedule_init(&s, &t), OK);
		ck_assert_uint_eq(s.first_ns, UINT64_C(2100000000));
		expect_next(&s, "a", 200);
		expect_next(&s, "b", 250);
		expect_next(&s, "a", 900);
		expect_next(&s, "b", 1000);
		ck_assert(schedule_is_empty(&s));
		schedule_free(&s);
	}
	traces_free(&t);
}

/* a: 0-1. b: from the year 2554 on, as far as 64 bits of ns go. */
TEST(times_may_be_0_or_beyond_all)
{
	static const char metadata[] =
	    "/* CTF 1.8 */ trace { byte_order = be; };"
	    "typealias integer { size = 64; align = 8; } := u64;"
	    "stream { packet.context := struct { u64 timestamp_begin,"
	    " timestamp_end; u64 packet_size; }; };";
	const struct trace_stream *from;
	struct traces t = { 0 };
	struct client_packet k;
	struct schedule s;
	struct buf a = { 0 };

	buf_u64(&a, 0);
	buf_u64(&a, 1);
	buf_u64(&a, 24 * 8);
	buf_u64(&a, UINT64_MAX);
	buf_u64(&a, UINT64_MAX);
	buf_u64(&a, 24 * 8);
	write_file("metadata", metadata, strlen(metadata));
	write_file("a", buf_data(&a), buf_len(&a));
	write_file("b", buf_data(&a) + 24, 24);
	ck_assert_msg(traces_add(&t, ".", false) == OK, "%s", t.error);
	ck_assert_int_eq(schedule_init(&s, &t), OK);
	ck_assert(s.has_first);
	ck_assert_uint_eq(s.first_ns, 0);
	ck_assert_uint_eq(schedule_due_ns(&s), 1);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(!schedule_is_empty(&s));
		ck_assert_int_eq(schedule_take(&s, &k, &from), OK);
		ck_assert_uint_eq(
		    k.index.timestamp_end, i == 0 ? 1 : UINT64_MAX);
	}
	ck_assert(schedule_is_empty(&s));
	schedule_free(&s);
	traces_free(&t);
	buf_free(&a);
}

#define AT(cycles) (UINT64_C(2000000000) + (cycles)*UINT64_C(1000000))

TEST(beacons_promise_what_is_true)
{
	uint64_t cycles, id;
	struct traces t = { 0 };
	struct schedule s;

	make_trace();
	ck_assert_msg(traces_add(&t, ".", false) == OK, "%s", t.error);
	ck_assert_int_eq(schedule_init(&s, &t), OK);
	ck_assert(schedule_beacon(&s, 2, AT(120), &cycles, &id));
	ck_assert_uint_eq(cycles, 120);
	/* The next packet of a begins at 100. */
	ck_assert(schedule_beacon(&s, 0, AT(120), &cycles, &id));
	ck_assert_uint_eq(cycles, 100);
	ck_assert_uint_eq(id, 1);
	ck_assert(!schedule_beacon(&s, 0, AT(130), &cycles, &id));
	expect_next(&s, "a", 200);
	/* It had a packet just now. */
	ck_assert(!schedule_beacon(&s, 0, AT(290), &cycles, &id));
	ck_assert(schedule_beacon(&s, 0, AT(290), &cycles, &id));
	ck_assert_uint_eq(cycles, 290);
	ck_assert(schedule_beacon(&s, 0, AT(310), &cycles, &id));
	ck_assert_uint_eq(cycles, 300);
	/* Time does not go back. */
	ck_assert(!schedule_beacon(&s, 2, AT(110), &cycles, &id));
	schedule_free(&s);
	traces_free(&t);
}

TEST(metadata_is_text_or_packets_of_text)
{
	struct buf packed = { 0 }, text = { 0 };
	const char *why;

	for (int i = 0; i < 2; i++) {
		buf_u32(&packed, 0x75d11d57);
		buf_zero(&packed, 16 + 4);
		buf_u32(&packed, (37 + 3) * 8);
		buf_u32(&packed, 64 * 8);
		buf_zero(&packed, 5);
		buf_bytes(&packed, i == 0 ? "abc" : "def", 3);
		buf_zero(&packed, 64 - 40);
	}
	ck_assert_int_eq(
	    tsdl_unpack(&text, buf_data(&packed), buf_len(&packed), &why), OK);
	ck_assert_uint_eq(buf_len(&text), 6);
	ck_assert_mem_eq(buf_data(&text), "abcdef", 6);
	for (size_t n = 1; n < buf_len(&packed); n++) {
		struct buf cut = { 0 };

		/* Three bytes of magic are no magic: text. */
		ck_assert_msg(tsdl_unpack(&cut, buf_data(&packed), n, &why) ==
				  (n < 4 || n == 64 ? OK : E_MALFORMED),
		    "%zu", n);
		buf_free(&cut);
	}
	packed.mem[32] = 1;
	ck_assert_int_eq(
	    tsdl_unpack(&text, buf_data(&packed), buf_len(&packed), &why),
	    E_REFUSED);
	buf_free(&packed);
	buf_free(&text);
}
