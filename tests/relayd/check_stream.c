/* SPDX-License-Identifier: MIT */
/* Endpoints over the file system in memory: what a stream does when writes
 * fail, halves are late, numbers are missing. */
#include "relayd/record/stream.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fds.h"
#include "common/log.h"
#include "proto/frame.h"
#include "relayd/record/control.h"
#include "relayd/record/ingest.h"
#include "relayd/record/shard.h"
#include "relayd/record/session.h"
#include "relayd/record/cycle.h"
#include "store/chunk.h"
#include "ctf/index.h"
#include "store/store.h"
#include "tests/lib/fake_fs.h"
#include "tests/lib/unit.h"
#include "tests/relayd/endpoints.h"

#define SIZE ENDPOINTS_PACKET
#define HANDLE ENDPOINTS_HANDLE(1)
#define LARGE 350 /* files of a chunk that takes some turns to delete */

static uint32_t
serve(struct buf *ask)
{
	return endpoints_serve(ask, 0);
}

static void
begin(uint64_t size, uint64_t count)
{
	endpoints_begin(0, false);
	ck_assert_uint_eq(endpoints_add_stream("c", size, count), RELAY_OK);
}

static enum status
data_of(unsigned input, uint64_t seq, uint32_t size)
{
	const enum status st = endpoints_data(
	    input, HANDLE, seq, (uint8_t)seq, size);

	endpoints_cycle();
	return st;
}

static void
data(uint64_t seq)
{
	ck_assert_int_eq(data_of(0, seq, SIZE), OK);
}

/* Sizes in bits. */
static uint32_t
record_of(uint64_t seq, uint64_t packet_size, uint64_t content_size)
{
	const uint32_t code = endpoints_record(
	    HANDLE, seq, packet_size, content_size);

	endpoints_cycle();
	return code;
}

static uint32_t
record(uint64_t seq)
{
	return record_of(seq, 8 * SIZE, 8 * SIZE);
}

/* Packet SEQ, and its record. */
static void
packet(uint64_t seq)
{
	data(seq);
	ck_assert_uint_eq(record(seq), RELAY_OK);
}

static uint32_t
pending(uint64_t seq)
{
	return endpoints_ask(RELAY_CMD_data_pending, HANDLE, seq);
}

static uint32_t
close_stream(uint64_t last)
{
	return endpoints_ask(RELAY_CMD_close_stream, HANDLE, last);
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

/* The data file NAME in CHUNK ("", or with a slash at its end) holds these
 * packets, its index file as many RECORDS. */
static void
check_in(
    const char *chunk, const char *name, const char *packets, size_t records)
{
	struct wanted file = { 0 };
	char path[64];

	(void)snprintf(path, sizeof(path), "h/b/%sust/%s", chunk, name);
	file.path = path;
	fake_fs_walk(find, &file);
	ck_assert_msg(file.p != NULL, "no %s", path);
	ck_assert_uint_eq(file.n, SIZE * strlen(packets));
	for (size_t i = 0; i < file.n; i++)
		ck_assert_int_eq(file.p[i], packets[i / SIZE] - '0');
	(void)snprintf(
	    path, sizeof(path), "h/b/%sust/index/%s.idx", chunk, name);
	file.p = NULL;
	fake_fs_walk(find, &file);
	ck_assert_msg(file.p != NULL, "no %s", path);
	ck_assert_uint_eq(file.n, 16 + 72 * records);
}

static void
check(const char *name, const char *packets, size_t records)
{
	check_in("", name, packets, records);
}

EACH_TEST(NULL, endpoints_end)

TEST(a_failed_write_is_reported_once_and_the_stream_continues)
{
	begin(0, 0);
	packet(0);
	fake_fs_fail_write(1);
	data(1);
	ck_assert_uint_eq(record(1), RELAY_OK); /* accepted, then it fails */
	fake_fs_fail_write(0);
	data(2);
	ck_assert_uint_eq(record(2), RELAY_UNKNOWN_ERROR);
	packet(3);
	ck_assert_uint_eq(pending(3), 0);
	check("c", "023", 3);
}

TEST_ROWS(packets_without_records_are_kept_at_the_end, 2)
{
	begin(0, 0);
	data(0);
	data(1);
	data(2);
	ck_assert_uint_eq(record(0), RELAY_OK);
	ck_assert_uint_eq(pending(2), 1);
	check("c", "0", 1);
	if (_i == 0) {
		ck_assert_uint_eq(close_stream(2), RELAY_OK);
		check("c", "012", 1);
		endpoints_end();
	} else {
		endpoints_end();
		check("c", "012", 1);
	}
}

TEST(bytes_after_close_stream_still_come)
{
	begin(0, 0);
	packet(0);
	ck_assert_uint_eq(record(1), RELAY_OK);
	ck_assert_uint_eq(close_stream(2), RELAY_OK);
	data(1);
	data(2);
	check("c", "012", 2);
	/* then it is closed */
	ck_assert_int_eq(data_of(0, 3, SIZE), E_PROTOCOL);
}

/* Every packet, and every part of one, begins the wait anew. */
TEST(a_slow_link_is_waited_for_after_the_end_of_control)
{
	const struct data_header h = {
		.stream = HANDLE, .net_seq = 1, .size = SIZE
	};
	struct buf b = { 0 };
	uint8_t bytes[SIZE];
	size_t used;

	begin(0, 0);
	data(0);
	for (uint64_t seq = 0; seq < 3; seq++)
		ck_assert_uint_eq(record(seq), RELAY_OK);
	control_destroy(endpoints.control, false);
	endpoints.control = NULL;
	memset(bytes, 1, sizeof(bytes));
	data_header_encode(&b, &h);
	buf_bytes(&b, bytes, sizeof(bytes));
	for (size_t part = 0; part < 4; part++) {
		ck_assert_int_eq(ingest_input(endpoints.inputs[0],
				     buf_data(&b) + part * buf_len(&b) / 4,
				     buf_len(&b) / 4, &used),
		    OK);
		endpoints_wait(LINGER_NS * 9 / 10);
		endpoints_cycle();
	}
	buf_free(&b);
	check("c", "01", 2);
	data(2);
	check("c", "012", 3);
}

TEST(a_session_does_not_wait_forever_after_the_end_of_control)
{
	begin(0, 0);
	data(0);
	ck_assert_uint_eq(record(1), RELAY_OK);
	control_destroy(endpoints.control, false);
	endpoints.control = NULL;
	endpoints_wait(LINGER_NS);
	endpoints_cycle();
	ck_assert(list_empty(&endpoints.shard->sessions));
}

TEST(a_gap_on_the_only_connection_is_passed)
{
	begin(0, 0);
	packet(0);
	packet(3);
	check("c", "03", 2);
	ck_assert_uint_eq(endpoints.shard->figures.gaps, 1);
	ck_assert_uint_eq(endpoints.shard->figures.packets_lost, 2);
	ck_assert_int_eq(data_of(0, 2, SIZE), E_PROTOCOL);
}

TEST_ROWS(a_gap_that_another_may_fill_waits_a_second, 2)
{
	begin(0, 0);
	packet(0);
	ck_assert_int_eq(data_of(1, 2, SIZE), OK);
	ck_assert_uint_eq(record(2), RELAY_OK);
	ck_assert_uint_eq(record(1), RELAY_OK);
	check("c", "0", 1);
	if (_i == 0) {
		data(1);
		check("c", "012", 3);
		ck_assert_uint_eq(endpoints.shard->figures.gaps, 0);
	} else {
		endpoints_wait(GAP_NS - 1);
		endpoints_cycle();
		check("c", "0", 1);
		endpoints_wait(1);
		endpoints_cycle();
		check("c", "02", 2);
		ck_assert_uint_eq(endpoints.shard->figures.gaps, 1);
	}
}

TEST_ROWS(rings_roll_over_and_endless_rows_do_not, 2)
{
	begin(2 * SIZE, (uint64_t)_i * 2);
	for (uint64_t seq = 0; seq < 9; seq++) {
		packet(seq);
	}
	if (_i == 0) { /* no count: no end */
		check("c_0", "01", 2);
		check("c_4", "8", 1);
	} else {
		check("c_0", "8", 1);
		check("c_1", "67", 2);
	}
}

static void
check_record(size_t n, uint64_t packet_size, uint64_t content_size)
{
	struct wanted file = { .path = "h/b/ust/index/c.idx" };
	struct index_record rec;

	fake_fs_walk(find, &file);
	ck_assert_uint_ge(file.n, 16 + 72 * (n + 1));
	index_decode(file.p + 16 + 72 * n, &rec, 1);
	ck_assert_uint_eq(rec.offset, SIZE * n);
	ck_assert_uint_eq(rec.packet_size, packet_size);
	ck_assert_uint_eq(rec.content_size, content_size);
}

/* An index file never says that its data file has more, or less, than it
 * has. */
TEST(a_record_of_another_size_is_corrected)
{
	const uint64_t bits = 8 * SIZE;
	const struct {
		uint64_t said, content, kept;
		bool is_right;
	} rows[] = {
		{ bits, bits, bits, true },
		{ bits, 0, 0, true },
		{ bits, bits + 1, bits, false },
		{ bits + 8, bits, bits, false },
		{ 8, 8, 8, false },
		{ UINT64_MAX, UINT64_MAX, bits, false },
	};
	unsigned wrong = 0;

	begin(0, 0);
	for (uint64_t i = 0; i < ARRAY_LEN(rows); i++) {
		data(i);
		ck_assert_uint_eq(
		    record_of(i, rows[i].said, rows[i].content), RELAY_OK);
		check_record(i, bits, rows[i].kept);
		wrong += !rows[i].is_right;
		ck_assert_uint_eq(
		    endpoints.shard->figures.records_corrected, wrong);
	}
	ck_assert_uint_eq(pending(ARRAY_LEN(rows) - 1), 0);
}

/* What has no bytes has no place in an index file. */
TEST(an_empty_packet_has_no_record)
{
	begin(0, 0);
	packet(0);
	ck_assert_int_eq(data_of(0, 1, 0), OK);
	ck_assert_uint_eq(record(1), RELAY_OK);
	packet(2);
	ck_assert_uint_eq(pending(2), 0);
	check("c", "02", 2);
}

static const unsigned wrap_faults[] = { FAKE_FS_FULL, FAKE_FS_KEEPS,
	FAKE_FS_NO_STAT, FAKE_FS_KEEPS_INDEX };

/* The file to replace, or the new one, is refused when the ring wraps, at its
 * first lap or later. */
TEST_ROWS(a_ring_that_could_not_wrap_goes_on, 8)
{
	const unsigned fault = wrap_faults[_i % 4];
	const uint64_t wrap = _i < 4 ? 4 : 8;
	uint64_t seq;

	begin(2 * SIZE, 2);
	for (seq = 0; seq < wrap; seq++) {
		packet(seq);
	}
	fake_fs_fail(fault);
	data(seq);
	ck_assert_uint_eq(record(seq++), RELAY_OK); /* then it is lost */
	fake_fs_fail(0);
	data(seq);
	ck_assert_uint_eq(record(seq++), RELAY_UNKNOWN_ERROR);
	packet(seq);
	ck_assert_uint_eq(pending(seq), 0);
	check("c_0", _i < 4 ? "56" : "9:", 2);
	check("c_1", _i < 4 ? "23" : "67", 2);
}

static void
rotate_to_chunk_1(uint64_t at)
{
	const struct relay_optional chunk = { true, 1 };
	const struct relay_position position = { HANDLE, at };
	struct buf ask = { 0 };

	relay_request_create_chunk(&ask, 1, 0, NULL);
	ck_assert_uint_eq(serve(&ask), RELAY_OK);
	relay_request_rotate(&ask, chunk, &position, 1);
	ck_assert_uint_eq(serve(&ask), RELAY_OK);
}

/* The disk is full when the roll point comes. */
TEST(a_rotation_without_space_continues_when_there_is_some)
{
	const struct relay_optional keep = { true, RELAY_CLOSE_NOTHING };
	struct buf ask = { 0 };

	begin(0, 0);
	packet(0);
	rotate_to_chunk_1(2);
	fake_fs_fail(FAKE_FS_FULL);
	data(1);
	ck_assert_uint_eq(record(1), RELAY_OK); /* then it should roll */
	data(2);
	ck_assert_uint_eq(record(2), RELAY_OK); /* accepted, and lost */
	fake_fs_fail(0);
	data(3);
	ck_assert_uint_eq(record(3), RELAY_UNKNOWN_ERROR);
	ck_assert_uint_eq(pending(3), 0);
	relay_request_close_chunk(&ask, 0, 1, keep);
	ck_assert_uint_eq(serve(&ask), RELAY_OK);
	check("c", "01", 2);
	check_in("19700101T000000+0000-1/", "c", "3", 1);
}

static void
count_file(const char *path, const uint8_t *p, size_t n, void *arg)
{
	if (p != NULL)
		++*(unsigned *)arg;
}

static void
create_chunk(uint64_t id)
{
	struct buf ask = { 0 };

	relay_request_create_chunk(&ask, id, 0, NULL);
	ck_assert_uint_eq(serve(&ask), RELAY_OK);
}

/* 300 files are deleted, a hundred in a cycle; those in a directory of their
 * own while the session goes on, those in its way before it does. */
TEST_ROWS(a_clear_deletes_in_slices_what_is_in_nobodys_way, 2)
{
	const struct relay_optional delete = { true, RELAY_CLOSE_DELETE };
	const struct relay_optional none = { false, 0 };
	const struct relay_position position = { HANDLE, 150 };
	struct buf ask = { 0 };
	unsigned turns = 0, files = 0;

	begin(1, 0); /* each packet in a file of its own */
	for (uint64_t seq = 0; seq < 150; seq++) {
		packet(seq);
	}
	if (_i == 0) {
		rotate_to_chunk_1(150);
	} else {
		relay_request_rotate(&ask, none, &position, 1);
		ck_assert_uint_eq(serve(&ask), RELAY_OK);
	}
	relay_request_close_chunk(&ask, 0, 1, delete);
	ck_assert_uint_eq(serve(&ask), RELAY_OK);
	ck_assert(!list_empty(&endpoints.shard->work.doomed));
	create_chunk(2);
	ck_assert(list_empty(&endpoints.shard->work.doomed) == (_i == 1));
	while (cycle_delete_some(endpoints.shard))
		turns++;
	ck_assert_uint_eq(turns, _i == 0 ? 1 : 0);
	fake_fs_walk(count_file, &files);
	ck_assert_uint_eq(files, _i == 0 ? 1 : 0); /* chunk 1's, empty yet */
}

static void
delete_chunk(uint64_t id)
{
	struct buf ask = { 0 };

	relay_request_close_chunk(
	    &ask, id, 1, (struct relay_optional){ true, RELAY_CLOSE_DELETE });
	ck_assert_uint_eq(serve(&ask), RELAY_OK);
}

/* A session of which chunk 0, with LARGE files, is being deleted, and chunk 1,
 * with one. */
static void
delete_two(void)
{
	const struct relay_position position = { HANDLE, LARGE };
	struct buf ask = { 0 };

	begin(1, 0);
	for (uint64_t seq = 0; seq < LARGE; seq++) {
		packet(seq);
	}
	rotate_to_chunk_1(LARGE);
	delete_chunk(0);
	create_chunk(2);
	relay_request_rotate(
	    &ask, (struct relay_optional){ true, 2 }, &position, 1);
	ck_assert_uint_eq(serve(&ask), RELAY_OK);
	delete_chunk(1);
}

TEST(a_small_chunk_does_not_wait_for_the_deletion_of_a_large_one)
{
	delete_two();
	ck_assert(cycle_delete_some(endpoints.shard));
	ck_assert(endpoints.shard->work.doomed.next->next !=
		  &endpoints.shard->work.doomed);
	ck_assert(cycle_delete_some(endpoints.shard));
	ck_assert_uint_eq(
	    list_first(&endpoints.shard->work.doomed, struct chunk, doomed_node)
		->id,
	    0);
	ck_assert(endpoints.shard->work.doomed.next->next ==
		  &endpoints.shard->work.doomed);
}

/* A peer that clears faster than files are deleted waits for them, as each
 * chunk that is being deleted has a descriptor. 1: there are none beyond the
 * session's own. */
TEST_ROWS(clears_take_no_more_descriptors_than_their_session_has, 2)
{
	uint64_t before;

	delete_two();
	before = account_used(&fds[FDS_SESSIONS]);
	ck_assert_uint_eq(close_stream(LARGE - 1), RELAY_OK);
	(void)fds_take(FDS_EXTRA);
	if (_i == 1)
		fds[FDS_EXTRA].hard = 1;
	for (uint64_t id = 3; id < 30; id++) {
		create_chunk(id);
		delete_chunk(id - 1);
		ck_assert_uint_le(account_used(&fds[FDS_SESSIONS]), before);
	}
}

/* Whatever could not be opened, nothing of a refused stream is left over: the
 * peer may send it again. */
TEST_ROWS(a_refused_stream_leaves_nothing, 2)
{
	const char *const names[] = { "c", "metadata" };
	unsigned n = 0;
	uint32_t code;

	endpoints_begin(1000, false);
	do {
		fake_fs_fail_open(++n);
		code = endpoints_add_stream(names[_i], 0, 0);
	} while (code != RELAY_OK && n < 20);
	fake_fs_fail_open(0);
	ck_assert_uint_gt(n, 2);
	ck_assert_uint_lt(n, 20);
	ck_assert_uint_eq(endpoints.shard->store->n_open, 1);
}

TEST(what_is_held_is_limited)
{
	uint64_t seq = 0;

	begin(0, 0);
	endpoints_memory.soft = 4 * 64 * 1024;
	while (!ingest_is_held(endpoints.inputs[0]) && seq < 1000)
		data(seq++);
	ck_assert_uint_lt(seq, 100);
	for (uint64_t i = 0; i < seq; i++)
		ck_assert_uint_eq(record(i), RELAY_OK);
	ck_assert(!ingest_is_held(endpoints.inputs[0]));
	data(seq);
}

TEST(a_session_that_holds_little_is_read_while_memory_is_short)
{
	uint64_t seq = 0;

	begin(0, 0);
	data(seq++);
	account_add(
	    &endpoints_memory, endpoints_memory.soft); /* another session's */
	ck_assert(!ingest_is_held(endpoints.inputs[0]));
	while (!ingest_is_held(endpoints.inputs[0]))
		data(seq++);
	ck_assert_uint_ge(
	    endpoints.control->session->waiting.bytes, endpoints_memory.fair);
	/* What came a short time ago stays. */
	endpoints_cycle();
	ck_assert_uint_eq(endpoints.shard->figures.packets_dropped, 0);
	endpoints_wait(2 * NS_PER_S);
	endpoints_cycle();
	ck_assert_uint_gt(endpoints.shard->figures.packets_dropped, 0);
	ck_assert(!ingest_is_held(endpoints.inputs[0]));
	/* The peer gets one error, at its next record. */
	ck_assert_uint_eq(record(0), RELAY_OK); /* it is too late: ignored */
	ck_assert_uint_eq(record(seq - 1), RELAY_UNKNOWN_ERROR);
	account_sub(&endpoints_memory, endpoints_memory.soft);
}

TEST(records_without_packets_are_memory)
{
	const uint64_t before = account_used(&endpoints_memory);
	uint64_t seq = 1;

	begin(0, 0);
	data(0); /* else its connection is not there */
	ck_assert_uint_eq(record(seq++), RELAY_OK);
	ck_assert_uint_ge(
	    account_used(&endpoints_memory), before + RECORD_MEMORY);
	account_add(&endpoints_memory, endpoints_memory.soft);
	while (record(seq++) == RELAY_OK)
		ck_assert_uint_lt(seq, 1 << 16);
	ck_assert_uint_ge(
	    endpoints.control->session->waiting.n_records * RECORD_MEMORY,
	    endpoints_memory.fair);
	account_sub(&endpoints_memory, endpoints_memory.soft);
}

TEST(packets_beyond_twice_the_memory_are_dropped_at_once)
{
	uint64_t seq = 0;

	begin(0, 0);
	while (endpoints.control->session == NULL ||
	       endpoints.control->session->waiting.bytes <
		   2 * endpoints_memory.fair)
		data(seq++);
	account_add(&endpoints_memory, 2 * endpoints_memory.soft);
	ck_assert(ingest_is_held(endpoints.inputs[0]));
	endpoints_cycle();
	ck_assert_uint_gt(endpoints.shard->figures.packets_dropped, 0);
	ck_assert_uint_lt(
	    endpoints.control->session->waiting.bytes, endpoints_memory.fair);
	account_sub(&endpoints_memory, 2 * endpoints_memory.soft);
}

static void *
commit_elsewhere(void *takes_over)
{
	if (takes_over != NULL)
		shard_take_over(endpoints.shard);
	cycle_commit(endpoints.shard);
	return NULL;
}

/* How a process ends in which another thread commits. */
static int
end_of_another_thread(void *takes_over)
{
	pthread_t thread;
	int how = 0;
	pid_t pid = fork();

	if (pid == 0) {
		close(STDERR_FILENO); /* the assertion's line */
		if (pthread_create(
			&thread, NULL, commit_elsewhere, takes_over) == 0)
			pthread_join(thread, NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &how, 0), pid);
	return how;
}

TEST(another_thread_must_take_the_shard_over)
{
	begin(0, 0);
	data(0);
	ck_assert_int_eq(end_of_another_thread(endpoints.shard), 0);
#ifndef NDEBUG
	const int how = end_of_another_thread(NULL);

	ck_assert(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
#endif
}

int
main(void)
{
	(void)setenv("TZ", "UTC", 1);
	tzset();
	log_set_level(LOG_ERROR);
	return unit_run();
}
