/* SPDX-License-Identifier: MIT */
/* Endpoints over the file system in memory: what a stream does when writes
 * fail, halves are late, numbers are missing. */
#include "relayd/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "proto/data.h"
#include "proto/frame.h"
#include "relayd/control.h"
#include "relayd/ingest.h"
#include "relayd/shard.h"
#include "store/store.h"
#include "tests/lib/fake_fs.h"
#include "tests/lib/unit.h"

#define SIZE 100
#define HANDLE UINT64_C(0x100)
#define INPUTS 2

static struct published memory, session_ids;
static const struct control_config control_config = { .allow_clear = true };
static struct shard *shard;
static struct control *control;
static struct ingest *inputs[INPUTS];
static uint64_t now;

/* What ASK is answered: its code, 0 when there is nothing. */
static uint32_t
serve(struct buf *ask)
{
	struct buf out = { 0 };
	struct reader r;
	size_t used;
	uint32_t code = 0;
	enum status st = control_input(
	    control, buf_data(ask), buf_len(ask), &used, &out);

	ck_assert(st == OK || st == E_REFUSED_CLOSE);
	if (buf_len(&out) >= 4) {
		r = reader_over(buf_data(&out), buf_len(&out));
		code = reader_u32(&r);
	}
	buf_free(&out);
	buf_free(ask);
	return code;
}

static void
begin(uint64_t size, uint64_t count)
{
	static char peer[] = "test";
	const struct shard_config config = { .allow_clear = true,
		.max_packet_size = 1 << 20,
		.max_memory = 1 << 24,
		.memory = &memory,
		.session_ids = &session_ids };
	const struct store_config store = { .base_fd = fake_fs_begin(),
		.max_files = 10,
		.index_lock_timeout_ns = NS_PER_S,
		.memory = &memory };
	struct relay_session_request q = { .session_name = "s",
		.hostname = "h",
		.base_path = "b",
		.uuid = { { 1 } },
		.trace_format = 1 };
	struct buf ask = { 0 };

	now = NS_PER_S;
	clock_freeze(now, 0);
	ck_assert_int_eq(shard_create(&shard, &config, &store), OK);
	shard->ids.is_sequence = true;
	ck_assert_int_eq(control_create(&control, &control_config, peer), OK);
	control->shard = shard;
	control->is_placed = true;
	for (unsigned i = 0; i < INPUTS; i++)
		ck_assert_int_eq(
		    ingest_create(&inputs[i], shard, peer, NULL), OK);
	relay_request_version(&ask, 2, 13);
	relay_request_create_session(&ask, 13, &q);
	relay_request_create_chunk(&ask, 0, 0, NULL);
	relay_request_add_stream(&ask, 13, "c", "ust", size, count, 0);
	(void)serve(&ask);
}

static void
turn_end(void)
{
	shard_commit(shard);
	(void)shard_tick(shard, now);
}

static void
end(void)
{
	control_destroy(control, false);
	for (unsigned i = 0; i < INPUTS; i++)
		ingest_destroy(inputs[i]);
	shard_destroy(shard);
	ck_assert_uint_eq(published(&memory), 0);
}

static enum status
data_on(unsigned input, uint64_t seq)
{
	const struct data_header h = {
		.stream = HANDLE, .net_seq = seq, .size = SIZE
	};
	uint8_t bytes[SIZE];
	struct buf b = { 0 };
	enum status st;
	size_t used;

	memset(bytes, (int)seq, sizeof(bytes));
	data_header_encode(&b, &h);
	buf_bytes(&b, bytes, sizeof(bytes));
	st = ingest_input(inputs[input], buf_data(&b), buf_len(&b), &used);
	buf_free(&b);
	turn_end();
	return st;
}

static void
data(uint64_t seq)
{
	ck_assert_int_eq(data_on(0, seq), OK);
}

static uint32_t
record(uint64_t seq)
{
	const struct relay_index i = { .stream = HANDLE,
		.net_seq = seq,
		.packet_size = 8 * SIZE,
		.content_size = 8 * SIZE,
		.packet_seq_num = seq };
	struct buf ask = { 0 };
	uint32_t code;

	relay_request_index(&ask, 13, &i);
	code = serve(&ask);
	turn_end();
	return code;
}

static uint32_t
pending(uint64_t seq)
{
	struct buf ask = { 0 };

	relay_request_stream_seq(&ask, RELAY_CMD_data_pending, HANDLE, seq);
	return serve(&ask);
}

struct wanted {
	const char *path;
	const uint8_t *p;
	size_t n;
};

static void
find(const char *path, const uint8_t *p, size_t n, void *arg)
{
	struct wanted *w = arg;

	if (strcmp(path, w->path) == 0) {
		w->p = p;
		w->n = n;
	}
}

/* The data file NAME holds these packets, its index file as many RECORDS. */
static void
check(const char *name, const char *packets, size_t records)
{
	struct wanted file = { 0 };
	char path[64];

	(void)snprintf(path, sizeof(path), "h/b/ust/%s", name);
	file.path = path;
	fake_fs_walk(find, &file);
	ck_assert_msg(file.p != NULL, "no %s", path);
	ck_assert_uint_eq(file.n, SIZE * strlen(packets));
	for (size_t i = 0; i < file.n; i++)
		ck_assert_int_eq(file.p[i], packets[i / SIZE] - '0');
	(void)snprintf(path, sizeof(path), "h/b/ust/index/%s.idx", name);
	file.p = NULL;
	fake_fs_walk(find, &file);
	ck_assert_msg(file.p != NULL, "no %s", path);
	ck_assert_uint_eq(file.n, 16 + 72 * records);
}

START_TEST(a_failed_write_is_told_once_and_the_stream_goes_on)
{
	begin(0, 0);
	data(0);
	ck_assert_uint_eq(record(0), RELAY_OK);
	fake_fs_fail_write(1);
	data(1);
	ck_assert_uint_eq(record(1), RELAY_OK); /* accepted, then it fails */
	fake_fs_fail_write(0);
	data(2);
	ck_assert_uint_eq(record(2), RELAY_UNKNOWN_ERROR);
	data(3);
	ck_assert_uint_eq(record(3), RELAY_OK);
	ck_assert_uint_eq(pending(3), 0);
	check("c", "023", 3);
	end();
}
END_TEST

START_TEST(packets_without_records_are_kept_at_the_end)
{
	struct buf ask = { 0 };

	begin(0, 0);
	data(0);
	data(1);
	data(2);
	ck_assert_uint_eq(record(0), RELAY_OK);
	ck_assert_uint_eq(pending(2), 1);
	check("c", "0", 1);
	if (_i == 0) {
		relay_request_stream_seq(
		    &ask, RELAY_CMD_close_stream, HANDLE, 2);
		ck_assert_uint_eq(serve(&ask), RELAY_OK);
		check("c", "012", 1);
		end();
	} else {
		end();
		check("c", "012", 1);
	}
}
END_TEST

START_TEST(bytes_after_close_stream_still_come)
{
	struct buf ask = { 0 };

	begin(0, 0);
	data(0);
	ck_assert_uint_eq(record(0), RELAY_OK);
	ck_assert_uint_eq(record(1), RELAY_OK);
	relay_request_stream_seq(&ask, RELAY_CMD_close_stream, HANDLE, 2);
	ck_assert_uint_eq(serve(&ask), RELAY_OK);
	data(1);
	data(2);
	check("c", "012", 2);
	/* then it is closed */
	ck_assert_int_eq(data_on(0, 3), E_PROTOCOL);
	end();
}
END_TEST

START_TEST(a_gap_on_the_only_connection_is_passed)
{
	begin(0, 0);
	data(0);
	ck_assert_uint_eq(record(0), RELAY_OK);
	data(3);
	ck_assert_uint_eq(record(3), RELAY_OK);
	check("c", "03", 2);
	ck_assert_uint_eq(shard->gaps, 1);
	ck_assert_uint_eq(shard->packets_lost, 2);
	ck_assert_int_eq(data_on(0, 2), E_PROTOCOL);
	end();
}
END_TEST

START_TEST(a_gap_that_another_may_fill_waits_a_second)
{
	begin(0, 0);
	data(0);
	ck_assert_uint_eq(record(0), RELAY_OK);
	ck_assert_int_eq(data_on(1, 2), OK);
	ck_assert_uint_eq(record(2), RELAY_OK);
	ck_assert_uint_eq(record(1), RELAY_OK);
	check("c", "0", 1);
	if (_i == 0) {
		data(1);
		check("c", "012", 3);
		ck_assert_uint_eq(shard->gaps, 0);
	} else {
		now += GAP_NS - 1;
		clock_freeze(now, 0);
		turn_end();
		check("c", "0", 1);
		clock_freeze(++now, 0);
		turn_end();
		check("c", "02", 2);
		ck_assert_uint_eq(shard->gaps, 1);
	}
	end();
}
END_TEST

START_TEST(rings_roll_over_and_endless_rows_do_not)
{
	begin(2 * SIZE, (uint64_t)_i * 2);
	for (uint64_t seq = 0; seq < 9; seq++) {
		data(seq);
		ck_assert_uint_eq(record(seq), RELAY_OK);
	}
	if (_i == 0) { /* no count: no end */
		check("c_0", "01", 2);
		check("c_4", "8", 1);
	} else {
		check("c_0", "8", 1);
		check("c_1", "67", 2);
	}
	end();
}
END_TEST

START_TEST(what_is_held_is_limited)
{
	uint64_t seq = 0;

	begin(0, 0);
	shard->config.max_memory = 4 * 64 * 1024;
	while (!ingest_is_held(inputs[0]) && seq < 1000)
		data(seq++);
	ck_assert_uint_lt(seq, 100);
	for (uint64_t i = 0; i < seq; i++)
		ck_assert_uint_eq(record(i), RELAY_OK);
	ck_assert(!ingest_is_held(inputs[0]));
	data(seq);
	end();
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ a_failed_write_is_told_once_and_the_stream_goes_on, 0, 0 },
		{ packets_without_records_are_kept_at_the_end, 2, 0 },
		{ bytes_after_close_stream_still_come, 0, 0 },
		{ a_gap_on_the_only_connection_is_passed, 0, 0 },
		{ a_gap_that_another_may_fill_waits_a_second, 2, 0 },
		{ rings_roll_over_and_endless_rows_do_not, 2, 0 },
		{ what_is_held_is_limited, 0, 0 },
	};

	(void)setenv("TZ", "UTC", 1);
	tzset();
	log_set_level(LOG_ERROR);
	return unit_run("stream", units, ARRAY_LEN(units));
}
