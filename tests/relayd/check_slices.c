/* SPDX-License-Identifier: MIT */
/*
 * A commit or a request whose time is over stops, and continues in a later
 * cycle: nothing is lost, nothing is done twice, and what waits is bounded.
 */
#include <stdio.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/reader.h"
#include "proto/frame.h"
#include "proto/relay.h"
#include "proto/udp.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/cycle.h"
#include "relayd/record/udp.h"
#include "store/tracefile.h"
#include "tests/lib/live_pair.h"
#include "tests/lib/unit.h"

#define BYTES 64
#define PACKETS 100
/* Steps between two looks at the clock are fewer. */
#define STEPS_MAX 8
/* Files that are made between two looks. */
#define FILES_MAX 2

static struct live_pair pair;
static struct session *session;
static struct stream *t;

static void
begin(void)
{
	live_pair_open(&pair, false, 1);
	session = live_pair_session(&pair, "one", 0, false);
	t = live_pair_stream(session, "ust/uid", "c", BYTES, 0);
	pair.shard->slice.is_limited = true;
}

static void
end(void)
{
	shard_end_slices(pair.shard);
	cycle_commit(pair.shard);
	live_pair_close(&pair);
}

/* From now on the time is always over. */
static void
no_time(void)
{
	shard_begin_slice_until(pair.shard, 0);
}

static struct live_pair_packet
packet(uint64_t seq)
{
	return (struct live_pair_packet){ .seq = seq, .bytes = BYTES };
}

/* All packets are here, and the first one's record comes last. */
static void
let_all_wait(void)
{
	struct live_pair_packet p;

	for (uint64_t i = 0; i < PACKETS; i++) {
		p = packet(i);
		live_pair_data(t, &p);
	}
	for (uint64_t i = 1; i < PACKETS; i++) {
		p = packet(i);
		live_pair_index(t, &p);
	}
	no_time();
	p = packet(0);
	live_pair_index(t, &p);
}

static unsigned
files(void)
{
	char pattern[64];
	unsigned n = 0;

	for (unsigned i = 0; i < PACKETS; i++) {
		snprintf(pattern, sizeof(pattern), "*/*/ust/uid/c_%u", i);
		n += live_pair_size(&pair, pattern) == BYTES;
	}
	return n;
}

EACH_TEST(begin, NULL)

TEST(a_commit_stops_and_goes_on)
{
	unsigned turns = 0, before = 0, now;

	let_all_wait();
	for (; (now = files()) < PACKETS; turns++) {
		ck_assert_uint_le(now, before + FILES_MAX);
		ck_assert_uint_eq(stream_pending(t, PACKETS - 1), 1);
		before = files();
		cycle_commit(pair.shard);
	}
	ck_assert_uint_ge(turns, PACKETS / FILES_MAX / 2 - 1);
	ck_assert_uint_eq(stream_pending(t, PACKETS - 1), 0);
	end();
}

TEST(what_waits_counts_as_its_files)
{
	const uint64_t memory = account_used(&pair.memory);
	uint64_t idle;

	idle = account_used(&pair.memory);
	let_all_wait();
	ck_assert_uint_ge(
	    session->waiting.bytes, (PACKETS - FILES_MAX) * FILE_WEIGHT);
	ck_assert_uint_ge(account_used(&pair.memory),
	    idle + (PACKETS - FILES_MAX) * FILE_WEIGHT);
	shard_end_slices(pair.shard);
	cycle_commit(pair.shard);
	ck_assert_uint_eq(session->waiting.bytes, 0);
	ck_assert_uint_eq(files(), PACKETS);
	end();
	ck_assert_uint_eq(account_used(&pair.memory), memory);
}

TEST(a_read_brings_few_files)
{
	ck_assert_uint_lt(session->waiting.read_max, FILES_READ * (BYTES + 64));
	ck_assert_ptr_nonnull(
	    live_pair_stream(session, "ust/uid", "large", 1 << 30, 0));
	ck_assert_uint_lt(session->waiting.read_max, FILES_READ * (BYTES + 64));
	session = live_pair_session(&pair, "two", 0, false);
	t = live_pair_stream(session, "ust/uid", "c", 0, 0);
	ck_assert_uint_eq(session->waiting.read_max, SESSION_READ_MAX);
	end();
}

TEST(a_session_that_ends_is_closed_in_parts)
{
	unsigned turns = 0;

	for (unsigned i = 0; i < PACKETS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "d%u", i);
		(void)live_pair_stream(session, "ust/uid", name, 0, 0);
	}
	let_all_wait();
	session_end(session, false);
	ck_assert(!list_empty(&pair.shard->sessions));
	for (; !list_empty(&pair.shard->sessions); turns++)
		cycle_commit(pair.shard);
	ck_assert_uint_ge(turns, PACKETS / STEPS_MAX);
	ck_assert_uint_eq(files(), PACKETS);
	end();
}

TEST(metadata_is_written_in_parts)
{
	static uint8_t bytes[3 << 20];
	struct relay_send_metadata q = {
		.data = bytes, .size = sizeof(bytes), .padding = 4096
	};
	unsigned parts = 0;
	uint32_t done = 0;
	struct stream *m;
	enum status st;

	m = live_pair_stream(session, "ust/uid", "metadata", 0, 0);
	q.stream = m->handle;
	no_time();
	while ((st = stream_metadata(m, &q, &done)) == E_LATER) {
		/* What is not whole is not in the file. */
		ck_assert_uint_eq(m->writer.tf->data.length, 0);
		parts++;
	}
	ck_assert_int_eq(st, OK);
	ck_assert_uint_eq(parts, 2);
	ck_assert_uint_eq(m->writer.tf->data.length, sizeof(bytes) + 4096);
	ck_assert_int_eq(live_pair_size(&pair, "*/*/ust/uid/metadata"),
	    sizeof(bytes) + 4096);
	end();
}

/* Files of others take the descriptors of the one that waits. */
static void
close_idle_files(void)
{
	char name[16];

	for (unsigned i = 0; i < LIVE_PAIR_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "other%u", i);
		(void)live_pair_stream(session, "ust/uid", name, 0, 0);
	}
}

TEST(metadata_goes_on_in_a_file_that_was_closed)
{
	static uint8_t bytes[3 << 20];
	struct relay_send_metadata q = { .data = bytes, .size = sizeof(bytes) };
	uint32_t done = 0;
	struct stream *m;

	m = live_pair_stream(session, "ust/uid", "metadata", 0, 0);
	no_time();
	ck_assert_int_eq(stream_metadata(m, &q, &done), E_LATER);
	close_idle_files();
	ck_assert_int_eq(stream_metadata(m, &q, &done), E_LATER);
	ck_assert_int_eq(stream_metadata(m, &q, &done), OK);
	ck_assert_int_eq(
	    live_pair_size(&pair, "*/*/ust/uid/metadata"), sizeof(bytes));
	end();
}

TEST(metadata_that_never_ends_leaves_nothing)
{
	static uint8_t bytes[3 << 20];
	struct relay_send_metadata q = { .data = bytes, .size = sizeof(bytes) };
	uint32_t done = 0;
	struct stream *m;

	m = live_pair_stream(session, "ust/uid", "metadata", 0, 0);
	no_time();
	ck_assert_int_eq(stream_metadata(m, &q, &done), E_LATER);
	close_idle_files();
	cycle_last(pair.shard);
	ck_assert_int_eq(live_pair_size(&pair, "*/*/ust/uid/metadata"), 0);
	end();
}

TEST(a_request_that_has_begun_ends_when_all_is_taken)
{
	static uint8_t bytes[3 << 20];
	struct relay_send_metadata q = { .data = bytes, .size = sizeof(bytes) };
	uint32_t done = 0;
	struct stream *m;

	m = live_pair_stream(session, "ust/uid", "metadata", 0, 0);
	no_time();
	ck_assert_int_eq(stream_metadata(m, &q, &done), E_LATER);
	pair.shard->slice.takes_all = true;
	ck_assert_int_eq(stream_metadata(m, &q, &done), OK);
	ck_assert_int_eq(
	    live_pair_size(&pair, "*/*/ust/uid/metadata"), sizeof(bytes));
	end();
}

/* How many of the streams "d0", ... have a file of SIZE bytes below IN. */
static unsigned
files_of_all(const char *in, const char *suffix, long size)
{
	char pattern[64];
	unsigned n = 0;

	for (unsigned i = 0; i < PACKETS; i++) {
		snprintf(pattern, sizeof(pattern), "%s/ust/uid/d%u%s", in, i,
		    suffix);
		n += live_pair_size(&pair, pattern) == size;
	}
	return n;
}

static void
add_streams(struct session *s, struct stream *all[PACKETS])
{
	char name[16];

	for (unsigned i = 0; i < PACKETS; i++) {
		snprintf(name, sizeof(name), "d%u", i);
		all[i] = live_pair_stream(s, "ust/uid", name, 0, 0);
	}
}

/* ROTATE_STREAMS to chunk 1; false: the time is over. */
static bool
rotate_all(const struct relay_position at[PACKETS], uint32_t *done)
{
	struct relay_rotate rot;
	struct buf b = { 0 };
	uint32_t code;
	struct reader r;
	bool is_done;

	relay_request_rotate(
	    &b, (struct relay_optional){ true, 1 }, at, PACKETS);
	r = reader_over(
	    buf_data(&b) + RELAY_HEADER_LEN, buf_len(&b) - RELAY_HEADER_LEN);
	ck_assert_int_eq(relay_rotate_decode(&r, &rot), OK);
	is_done = session_rotate(session, &rot, done, &code) == OK;
	if (is_done)
		ck_assert_uint_eq(code, RELAY_OK);
	buf_free(&b);
	return is_done;
}

/* Peers decide how many streams one request rotates. */
TEST(a_rotation_at_the_end_makes_no_files_but_for_bytes)
{
	const char *new_chunk = "*/*/.tmp_new_chunk";
	struct stream *all[PACKETS];
	struct relay_position at[PACKETS];
	const struct live_pair_packet p = { .bytes = BYTES };
	uint32_t done = 0;

	add_streams(session, all);
	for (unsigned i = 0; i < PACKETS; i++)
		at[i] = (struct relay_position){ all[i]->handle, 0 };
	live_pair_create_chunk(session, 1);
	no_time();
	ck_assert(!rotate_all(at, &done));
	ck_assert_uint_le(files_of_all(new_chunk, "", 0), STEPS_MAX);
	pair.shard->slice.takes_all = true;
	ck_assert(rotate_all(at, &done));
	ck_assert_uint_le(files_of_all(new_chunk, "", 0), STEPS_MAX);
	/* What was read is written. */
	live_pair_data(all[PACKETS - 1], &p);
	live_pair_index(all[PACKETS - 1], &p);
	cycle_commit(pair.shard);
	ck_assert_uint_eq(files_of_all(new_chunk, "", BYTES), 1);
	end();
}

/* After a pause, say, all files are too old at the same time. */
TEST(a_window_expires_in_parts)
{
	const struct live_pair_packet p = { .bytes = BYTES };
	struct stream *all[PACKETS];
	unsigned before = PACKETS, now, turns = 0;
	struct session *live;

	stream_window_limit(0, 1000);
	live = live_pair_session(&pair, "live", 1000000, false);
	add_streams(live, all);
	for (unsigned i = 0; i < PACKETS; i++) {
		live_pair_data(all[i], &p);
		live_pair_index(all[i], &p);
	}
	cycle_commit(pair.shard);
	ck_assert_uint_eq(files_of_all("*/live-*", "_0", BYTES), PACKETS);
	no_time();
	for (; before > 0 && turns < 4 * PACKETS; turns++) {
		(void)stream_window_tick(pair.shard, clock_now_ns());
		now = files_of_all("*/live-*", "_0", BYTES);
		ck_assert_uint_le(before - now, STEPS_MAX);
		before = now;
	}
	ck_assert_uint_eq(before, 0);
	ck_assert_uint_ge(turns, PACKETS / STEPS_MAX);
	stream_window_limit(0, 0);
	end();
}

static void
throw_packet(struct stream *to, uint64_t seq)
{
	static uint8_t bytes[UDP_HEADER_LEN + 20000];
	const struct udp_header h = { .token = session->udp->token,
		.stream = to->handle,
		.net_seq = seq,
		.size = sizeof(bytes) - UDP_HEADER_LEN,
		.payload = bytes + UDP_HEADER_LEN,
		.payload_len = sizeof(bytes) - UDP_HEADER_LEN };

	udp_header_encode(bytes, &h);
	ck_assert(udp_input(pair.shard, bytes, sizeof(bytes)));
}

/* Packets wait for their records, after one that is missing: that is given up,
 * and no memory is free afterwards. */
TEST(memory_is_freed_in_parts)
{
	const struct udp_open q = { .version = UDP_VERSION,
		.fragment_size = 20000,
		.flags = UDP_OPEN_RESENDS };
	struct stream *all[PACKETS];
	struct udp_open_reply a;

	pair.shard->config.udp_port = 1;
	udp_open(session, &q, &a);
	ck_assert_uint_eq(a.code, RELAY_OK);
	add_streams(session, all);
	for (unsigned i = 0; i < PACKETS; i++)
		throw_packet(all[i], 1);
	cycle_commit(pair.shard);
	ck_assert_uint_eq(pair.shard->figures.gaps, 0);
	session->udp->window_bytes = UDP_WINDOW_BYTES_MIN;
	no_time();
	for (unsigned i = 1; i <= PACKETS; i++) {
		throw_packet(all[0], 2);
		ck_assert_uint_eq(pair.shard->udp.n[UDP_memory], i);
		ck_assert_uint_eq(pair.shard->figures.gaps, i);
	}
	throw_packet(all[0], 2);
	ck_assert_uint_eq(pair.shard->figures.gaps, PACKETS);
	end();
}

TEST(the_last_cycle_writes_everything)
{
	let_all_wait();
	ck_assert_uint_lt(files(), PACKETS);
	cycle_last(pair.shard);
	ck_assert_uint_eq(files(), PACKETS);
	ck_assert_uint_eq(pair.shard->figures.packets_dropped, 0);
	end();
}

int
main(void)
{
	log_set_level(LOG_ERROR);
	return unit_run();
}
