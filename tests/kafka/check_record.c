/* SPDX-License-Identifier: MIT */
#include "tools/kafka/record.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

#define SPAN(text)                     \
	(struct span)                  \
	{                              \
		text, sizeof(text) - 1 \
	}
#define STREAM SPAN("ust/uid/1000/64-bit/channel0_3")
#define METADATA SPAN("ust/uid/1000/64-bit/metadata")
#define INDEX(bytes, padded)                                               \
	{                                                                  \
		.packet_size = (padded)*8, .content_size = (bytes)*8,      \
		.timestamp_begin = 1000, .timestamp_end = 2000,            \
		.events_discarded = 3, .ctf_stream = 4, .ctf_instance = 5, \
		.packet_seq_num = 6                                        \
	}
#define DATA(text) .data = (const uint8_t *)(text), .size = sizeof(text) - 1

static const struct record_key key = { .hostname = { "host-a", 6 },
	.session_name = { "web-20261127-142414", 19 },
	.begin_s = 1795789454,
	.uuid = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } };
#define KEY                                      \
	"host-a/web-20261127-142414/1795789454/" \
	"000102030405060708090a0b0c0d0e0f"

/* In the order of tests/vectors/kafka/records.txt. */
static const struct {
	const char *name;
	struct record r;
} examples[] = {
	{ "session", { .kind = RECORD_SESSION,
			 .session = { .live_timer_us = 1000000,
			     .name_has_time = true } } },
	{ "stream", { .kind = RECORD_STREAM, .stream = STREAM } },
	{ "metadata", { .kind = RECORD_METADATA,
			  .stream = METADATA,
			  .metadata_offset = 4096,
			  DATA("/* CTF 1.8 */\n") } },
	{ "packet", { .kind = RECORD_PACKET,
			.stream = STREAM,
			.packet = { INDEX(12, 16), .size = 12, .padding = 4 },
			DATA("twelve bytes") } },
	{ "part", { .kind = RECORD_PACKET,
		      .stream = STREAM,
		      .packet = { INDEX(12, 16), .size = 12, .padding = 4,
			  .offset = 7 },
		      DATA("bytes") } },
	{ "empty-packet", { .kind = RECORD_PACKET,
			      .stream = STREAM,
			      .packet = { INDEX(0, 0), .size = 0 } } },
	{ "beacon", { .kind = RECORD_BEACON,
			.stream = STREAM,
			.beacon = { 123456789, 2 } } },
	{ "loss",
	    { .kind = RECORD_LOSS, .stream = STREAM, .loss = { 17, 3 } } },
	{ "stream-end",
	    { .kind = RECORD_STREAM_END, .stream = STREAM, .next_seq = 20 } },
	{ "session-end", { .kind = RECORD_SESSION_END } },
	{ "state", { .kind = RECORD_STATE,
		       .state = { .is_ended = true,
			   .time_ns = UINT64_C(1795789999000000000),
			   .packets = 20,
			   .bytes = 81920,
			   .lost = 3 } } },
};

/* A line of the vectors. */
struct vector {
	char *name, *key;
	struct bytes value;
};

static struct vector
vector(unsigned number)
{
	struct bytes file = bytes_source_file(
	    "tests/vectors/kafka/records.txt");
	char *text = malloc(file.n + 1), *line, *rest = text;
	struct vector v = { 0 };

	memcpy(text, file.p, file.n);
	text[file.n] = '\0';
	for (unsigned i = 0;
	     (line = strsep(&rest, "\n")) != NULL && i < number;)
		i++;
	ck_assert_ptr_nonnull(line);
	v.name = strdup(strsep(&line, " "));
	v.key = strdup(strsep(&line, " "));
	v.value = bytes_hex(line);
	free(text);
	free(file.p);
	return v;
}

static void
vector_free(struct vector *v)
{
	free(v->name);
	free(v->key);
	free(v->value.p);
}

static void
check_equal(const struct buf *b, const void *p, size_t n)
{
	ck_assert(!b->bad);
	ck_assert_uint_eq(buf_len(b), n);
	ck_assert_mem_eq(buf_data(b), p, n);
}

TEST_ROWS(records_are_encoded_as_written_down, ARRAY_LEN(examples))
{
	struct vector v = vector((unsigned)_i);
	struct buf b = { 0 }, k = { 0 };

	ck_assert_str_eq(v.name, examples[_i].name);
	record_encode(&b, &examples[_i].r);
	check_equal(&b, v.value.p, v.value.n);
	record_table_key_encode(&k, &key, &examples[_i].r);
	check_equal(&k, v.key, strlen(v.key));
	ck_assert_uint_le(
	    buf_len(&b), RECORD_VALUE_HEAD_MAX + examples[_i].r.size);
	buf_free(&b);
	buf_free(&k);
	vector_free(&v);
}

TEST_ROWS(records_come_back, ARRAY_LEN(examples))
{
	struct vector v = vector((unsigned)_i);
	struct buf b = { 0 };
	struct record r;

	ck_assert_int_eq(record_decode(&r, v.value.p, v.value.n), OK);
	ck_assert_int_eq(r.kind, examples[_i].r.kind);
	ck_assert_uint_eq(r.size, examples[_i].r.size);
	record_encode(&b, &r);
	check_equal(&b, v.value.p, v.value.n);
	buf_free(&b);
	vector_free(&v);
}

/* What is cut from the data of a record is not missed: the topic keeps lengths
 * and checksums. */
TEST_ROWS(a_record_that_is_cut_is_malformed, ARRAY_LEN(examples))
{
	struct vector v = vector((unsigned)_i);
	const struct record *whole = &examples[_i].r;
	const size_t head = v.value.n - whole->size;

	for (size_t n = 0; n < v.value.n; n++) {
		struct bytes cut = bytes_copy(v.value.p, n);
		const bool may_be_cut =
		    n >= head && (whole->kind == RECORD_METADATA || n > head);
		struct record r;

		ck_assert_int_eq(record_decode(&r, cut.p, cut.n),
		    may_be_cut ? OK : E_MALFORMED);
		if (may_be_cut)
			ck_assert_uint_eq(r.size, n - head);
		free(cut.p);
	}
	vector_free(&v);
}

/* A newer sender may know more. */
TEST_ROWS(bytes_after_the_fields_are_ignored, ARRAY_LEN(examples))
{
	struct vector v = vector((unsigned)_i);
	struct buf b = { 0 };
	struct record r;

	buf_bytes(&b, v.value.p, v.value.n);
	buf_u8(&b, 1);
	ck_assert_int_eq(record_decode(&r, buf_data(&b), buf_len(&b)),
	    examples[_i].r.kind == RECORD_PACKET ? E_MALFORMED : OK);
	buf_free(&b);
	vector_free(&v);
}

static const struct {
	const char *hex;
	enum status st;
} refused[] = {
	{ "0008", E_PROTOCOL }, /* version */
	{ "0208", E_PROTOCOL },
	{ "0100", E_PROTOCOL }, /* kind */
	{ "010a", E_PROTOCOL },
	{ "01ff", E_PROTOCOL },
	{ "0101 000f4240 02", E_MALFORMED },	 /* a flag that is neither */
	{ "0102 0000", E_MALFORMED },		 /* stream "" */
	{ "0102 0001 61", E_MALFORMED },	 /* a */
	{ "0102 0002 2f61", E_MALFORMED },	 /* /a */
	{ "0102 0002 612f", E_MALFORMED },	 /* a/ */
	{ "0102 0004 612f2f62", E_MALFORMED },	 /* a//b */
	{ "0102 0005 612f2e2f62", E_MALFORMED }, /* a/./b */
	{ "0102 0004 2e2e2f62", E_MALFORMED },	 /* ../b */
	{ "0102 0004 2f612f62", E_MALFORMED },	 /* /a/b */
	{ "0102 0003 610a62", E_MALFORMED },	 /* a line break */
	{ "0102 0003 612f00", E_MALFORMED },
	{ "0102 0003 612f62", OK }, /* a/b */
	{ "0103 0003 612f62 ffffffffffffffff", OK },
	{ "0103 0003 612f62 ffffffffffffffff 00", E_MALFORMED },
};

TEST_ROWS(what_no_sender_writes_is_refused, ARRAY_LEN(refused))
{
	struct bytes b = bytes_hex(refused[_i].hex);
	struct record r;

	ck_assert_int_eq(record_decode(&r, b.p, b.n), refused[_i].st);
	free(b.p);
}

static const struct {
	uint32_t size, padding, offset, data;
	enum status st;
} parts[] = {
	{ 10, 0, 0, 10, OK },
	{ 10, 6, 4, 6, OK },
	{ 10, 0, 9, 1, OK },
	{ 10, 0, 10, 0, E_MALFORMED }, /* a part without bytes */
	{ 10, 0, 9, 2, E_MALFORMED },  /* beyond the packet */
	{ 10, 0, 11, 0, E_MALFORMED },
	{ 10, 0, UINT32_MAX, 12, E_MALFORMED },
	{ RECORD_PACKET_MAX, 0, 0, 1, OK },
	{ RECORD_PACKET_MAX + 1, 0, 0, 1, E_MALFORMED },
	{ 1, RECORD_PACKET_MAX, 0, 1, OK },
	{ 1, RECORD_PACKET_MAX + 1, 0, 1, E_MALFORMED },
};

TEST_ROWS(a_part_lies_within_its_packet, ARRAY_LEN(parts))
{
	static const uint8_t data[16];
	const struct record r = { .kind = RECORD_PACKET,
		.stream = STREAM,
		.packet = { .size = parts[_i].size,
		    .padding = parts[_i].padding,
		    .offset = parts[_i].offset },
		.data = data,
		.size = parts[_i].data };
	struct record again;
	struct buf b = { 0 };

	record_encode(&b, &r);
	ck_assert_int_eq(
	    record_decode(&again, buf_data(&b), buf_len(&b)), parts[_i].st);
	buf_free(&b);
}

TEST(keys_come_back)
{
	const struct record metadata = { .kind = RECORD_METADATA,
		.stream = METADATA };
	struct record_key k;
	struct span text, session;
	struct buf b = { 0 };

	record_key_encode(&b, &key);
	check_equal(&b, KEY, sizeof(KEY) - 1);
	buf_truncate(&b, 0);
	record_table_key_encode(&b, &key, &metadata);
	text = (struct span){ (const char *)buf_data(&b), buf_len(&b) };
	session = record_key_session(text);
	ck_assert_uint_eq(session.n, sizeof(KEY) - 1);
	for (unsigned i = 0; i < 2; i++, text = session) {
		ck_assert_int_eq(record_key_decode(&k, text), OK);
		ck_assert_uint_eq(k.hostname.n, key.hostname.n);
		ck_assert_mem_eq(k.hostname.p, key.hostname.p, k.hostname.n);
		ck_assert_uint_eq(k.session_name.n, key.session_name.n);
		ck_assert_uint_eq(k.begin_s, key.begin_s);
		ck_assert_mem_eq(k.uuid, key.uuid, sizeof(k.uuid));
	}
	buf_free(&b);
}

TEST(a_key_that_is_cut_is_malformed)
{
	for (size_t n = 0; n < sizeof(KEY) - 1; n++) {
		struct bytes cut = bytes_copy(KEY, n);
		struct span s = { (const char *)cut.p, n };
		struct record_key k;

		ck_assert_int_eq(record_key_decode(&k, s), E_MALFORMED);
		ck_assert_uint_eq(record_key_session(s).n, n);
		free(cut.p);
	}
}

static const char *const bad_keys[] = {
	"",
	"/s/1/000102030405060708090a0b0c0d0e0f",
	"../s/1/000102030405060708090a0b0c0d0e0f",
	"h//1/000102030405060708090a0b0c0d0e0f",
	"h/s\n/1/000102030405060708090a0b0c0d0e0f",
	"h/s//000102030405060708090a0b0c0d0e0f",
	"h/s/-1/000102030405060708090a0b0c0d0e0f",
	"h/s/18446744073709551616/000102030405060708090a0b0c0d0e0f",
	"h/s/1/000102030405060708090a0b0c0d0e0",
	"h/s/1/000102030405060708090a0b0c0d0e0f0",
	"h/s/1/000102030405060708090A0b0c0d0e0f",
	"h/s/1/000102030405060708090a0b0c0d0e0g",
};

TEST_ROWS(a_bad_key_is_malformed, ARRAY_LEN(bad_keys))
{
	const char *text = bad_keys[_i];
	struct record_key k;

	ck_assert_int_eq(
	    record_key_decode(&k, (struct span){ text, strlen(text) }),
	    E_MALFORMED);
}

TEST(a_stream_has_a_path_and_a_channel)
{
	const struct span path = record_stream_path(STREAM);
	const struct span channel = record_stream_channel(STREAM);

	ck_assert_uint_eq(path.n, strlen("ust/uid/1000/64-bit"));
	ck_assert_uint_eq(channel.n, strlen("channel0_3"));
	ck_assert_mem_eq(channel.p, "channel0_3", channel.n);
}
