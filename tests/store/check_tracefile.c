/* SPDX-License-Identifier: MIT */
#include "store/tracefile.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "ctf/index.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

#define DATA "h/s/ust/0/c"
#define INDEX "h/s/ust/0/index/c.idx"
#define RECORD 72

static struct tracefile *
begin(unsigned max_files, enum tracefile_index index)
{
	struct tracefile *tf;

	clock_freeze(NS_PER_S, 0);
	test_store_open_stream(max_files, "c", false);
	ck_assert_int_eq(
	    tracefile_create(&tf, test_store.store, test_store.chunk,
		test_store.family, 0, false, index),
	    OK);
	return tf;
}

static void
end(struct tracefile *tf)
{
	tracefile_close(tf);
	ck_assert_uint_eq(test_store.store->n_open, 0);
	test_store_close();
}

/* N packets from number SEQ on, of SIZE + PADDING bytes; each byte has the
 * value of its packet's number. */
static enum status
append(struct tracefile *tf, uint64_t seq, unsigned n, uint32_t size,
    uint32_t padding, unsigned *done)
{
	struct packet *first = NULL, **at = &first, *next;
	enum status st;

	for (unsigned i = 0; i < n; i++) {
		*at = test_store_packet(
		    seq + i, (uint8_t)(seq + i), size, padding, true);
		at = &(*at)->next;
	}
	st = tracefile_append(tf, first, done);
	for (; first != NULL; first = next) {
		next = first->next;
		packet_destroy(&test_store.store->packets, first);
	}
	return st;
}

/* Record I of the index file. */
static struct index_record
record(const char *name, unsigned i)
{
	struct bytes b = bytes_file(scratch_path(name));
	struct index_record rec;

	ck_assert_uint_ge(b.n, INDEX_HEADER_LEN + (i + 1) * RECORD);
	index_decode(b.p + INDEX_HEADER_LEN + i * RECORD, &rec, 1);
	free(b.p);
	return rec;
}

/* The data file is N packets of LENGTH bytes, number I of value V[I]. */
static void
check_data(unsigned n, uint32_t size, uint32_t length, const uint8_t *values)
{
	struct bytes b = bytes_file(scratch_path(DATA));

	ck_assert_uint_eq(b.n, n * (size_t)length);
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] != (i % length < size ? values[i / length] : 0))
			ck_abort_msg("byte %zu of %zu is wrong", i, b.n);
	free(b.p);
}

TEST(packets_lie_back_to_back_and_records_point_at_them)
{
	static const uint8_t values[] = { 0, 1, 2, 3, 4 };
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_1);
	unsigned done;

	ck_assert_int_eq(test_store_size(DATA), 0);
	ck_assert_int_eq(test_store_size("h/s/ust/0/index"), -1);
	ck_assert_int_eq(append(tf, 0, 3, 100, 28, &done), OK);
	ck_assert_uint_eq(done, 3);
	ck_assert_int_eq(append(tf, 3, 2, 100, 28, &done), OK);
	ck_assert_uint_gt(tracefile_n_waiting(tf), 0);
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
	ck_assert_uint_eq(tracefile_n_waiting(tf), 0);
	ck_assert_uint_eq(tf->data.length, 640);
	check_data(5, 100, 128, values);
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + 5 * RECORD);
	for (unsigned i = 0; i < 5; i++) {
		ck_assert_uint_eq(record(INDEX, i).offset, 128 * i);
		ck_assert_uint_eq(record(INDEX, i).packet_size, 1024);
		ck_assert_uint_eq(record(INDEX, i).packet_seq_num, i);
	}
	end(tf);
}

TEST(odd_sizes_are_written_whole)
{
	static const uint32_t sizes[][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 },
		{ 0, 65536 }, { 0, 65537 }, { 1, 1000000 }, { 3000000, 0 },
		{ 5000000, 5000000 } };
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_1);
	uint64_t at = 0;
	unsigned done;

	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		ck_assert_int_eq(
		    append(tf, i + 1, 2, sizes[i][0], sizes[i][1], &done), OK);
		ck_assert_uint_eq(done, 2);
		ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
		for (unsigned k = 0; k < 2; k++) {
			ck_assert_uint_eq(record(INDEX, 2 * i + k).offset, at);
			if (sizes[i][0] > 0)
				ck_assert_int_eq(
				    test_store_byte(DATA, (long)at),
				    (int)(i + 1 + k));
			if (sizes[i][1] > 0)
				ck_assert_int_eq(test_store_byte(DATA,
						     (long)(at + sizes[i][0])),
				    0);
			at += (uint64_t)sizes[i][0] + sizes[i][1];
		}
	}
	ck_assert_int_eq(test_store_size(DATA), (long)at);
	end(tf);
}

/* Blocks of one byte, more than one system call takes. */
TEST_ROWS(a_packet_of_many_blocks_is_written_whole, 5)
{
	static const unsigned blocks[] = { 1023, 1024, 1025, 2048, 5000 };
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_1);
	struct packet *p = packet_create(&test_store.store->packets, 0);
	struct slab_block **at = &p->blocks;
	const unsigned n = blocks[_i];
	unsigned done;

	for (unsigned i = 0; i < n; i++) {
		*at = slab_get(&test_store.store->packets.slab, 1);
		(*at)->mem[0] = (uint8_t)(i % 251);
		(*at)->used = 1;
		at = &(*at)->next;
	}
	p->size = p->received = n;
	p->padding = 100;
	p->has_data = p->has_record = true;
	ck_assert_int_eq(tracefile_append(tf, p, &done), OK);
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(test_store_size(DATA), (long)n + 100);
	for (unsigned i = 0; i < n; i += 97)
		ck_assert_int_eq(test_store_byte(DATA, i), (int)(i % 251));
	ck_assert_int_eq(test_store_byte(DATA, n - 1), (int)((n - 1) % 251));
	ck_assert_int_eq(test_store_byte(DATA, n), 0);
	packet_destroy(&test_store.store->packets, p);
	end(tf);
}

TEST(what_exists_is_never_truncated)
{
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_1), *again;
	unsigned done;

	ck_assert_int_eq(append(tf, 7, 1, 10, 0, &done), OK);
	ck_assert_int_eq(
	    tracefile_create(&again, test_store.store, test_store.chunk,
		test_store.family, 0, false, TRACEFILE_INDEX_1_1),
	    E_EXISTS);
	ck_assert_int_eq(test_store_size(DATA), 10);
	/* the oldest of a ring: a new file, the old one stays for readers */
	{
		int reader = open(scratch_path(DATA), O_RDONLY | O_CLOEXEC);
		struct stat sb;

		ck_assert_int_eq(
		    tracefile_create(&again, test_store.store, test_store.chunk,
			test_store.family, 0, true, TRACEFILE_INDEX_1_1),
		    OK);
		ck_assert_int_eq(fstat(reader, &sb), 0);
		ck_assert_int_eq(sb.st_size, 10);
		ck_assert_int_eq(test_store_size(DATA), 0);
		ck_assert_int_eq(test_store_size(INDEX), -1);
		close(reader);
	}
	tracefile_close(again);
	end(tf);
}

TEST_ROWS(a_readers_lock_delays_records_only, 3)
{
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_1);
	unsigned done;
	int reader;

	ck_assert_int_eq(append(tf, 0, 1, 10, 0, &done), OK);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
	reader = open(scratch_path(INDEX), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(reader, LOCK_SH), 0);
	ck_assert_int_eq(append(tf, 1, 2, 10, 0, &done), OK);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), E_BUSY);
	ck_assert_int_eq(test_store_size(DATA), 30);
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + RECORD);
	clock_freeze(NS_PER_S + NS_PER_S - 1, 0);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), E_BUSY);
	ck_assert_uint_eq(test_store.store->locks_forced, 0);
	if (_i == 0) { /* it unlocks in time */
		ck_assert_int_eq(flock(reader, LOCK_UN), 0);
		ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
		ck_assert_uint_eq(test_store.store->locks_forced, 0);
	} else if (_i == 1) { /* it does not */
		clock_freeze(NS_PER_S + NS_PER_S, 0);
		ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
		ck_assert_uint_eq(test_store.store->locks_forced, 1);
	} else { /* the file is closed meanwhile */
		ck_assert_int_eq(tracefile_write_records(tf, true, NULL), OK);
		ck_assert_uint_eq(test_store.store->locks_forced, 1);
	}
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + 3 * RECORD);
	ck_assert_uint_eq(record(INDEX, 2).offset, 20);
	/* The clock starts anew with the next wait. */
	ck_assert_int_eq(flock(reader, LOCK_SH | LOCK_NB), 0);
	ck_assert_int_eq(append(tf, 3, 1, 10, 0, &done), OK);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), E_BUSY);
	close(reader);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
	/* and we do not keep the lock */
	reader = open(scratch_path(INDEX), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(reader, LOCK_SH | LOCK_NB), 0);
	close(reader);
	end(tf);
}

TEST(records_that_wait_too_many_are_written_anyway)
{
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_1);
	unsigned done, n = 0;
	enum status st = E_BUSY;
	int reader;

	ck_assert_int_eq(append(tf, n++, 1, 1, 0, &done), OK);
	reader = open(scratch_path(INDEX), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(reader, LOCK_SH), 0);
	for (; st == E_BUSY; n += 100) {
		ck_assert_int_eq(append(tf, n, 100, 1, 0, &done), OK);
		st = tracefile_write_records(tf, false, NULL);
	}
	ck_assert_int_eq(st, OK);
	ck_assert_uint_ge(n * RECORD, TRACEFILE_WAITING_MAX);
	ck_assert_uint_lt((n - 101) * RECORD, TRACEFILE_WAITING_MAX);
	ck_assert_int_eq(
	    test_store_size(INDEX), (long)(INDEX_HEADER_LEN + n * RECORD));
	close(reader);
	end(tf);
}

/* It is for Check's file of messages, too: until the limit is gone again,
 * MUST() checks. */
static void
limit_files(rlim_t bytes)
{
	const struct rlimit limit = { bytes, RLIM_INFINITY };

	(void)signal(SIGXFSZ, SIG_IGN);
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

TEST(a_failed_write_is_cut_back_to_whole_packets)
{
	static const uint8_t values[] = { 0, 1, 4 };
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_1);
	unsigned done;

	limit_files(250);
	MUST(append(tf, 0, 4, 70, 30, &done) == E_IO);
	MUST(done == 2);
	MUST(tf->data.length == 200);
	MUST(test_store_size(DATA) == 200);
	MUST(test_store.store->write_errors == 1);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(append(tf, 4, 1, 70, 30, &done), OK);
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
	check_data(3, 70, 100, values);
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + 3 * RECORD);
	ck_assert_uint_eq(record(INDEX, 2).offset, 200);
	ck_assert_uint_eq(record(INDEX, 2).packet_seq_num, 4);
	end(tf);
}

TEST(padding_that_does_not_fit_is_cut_back_too)
{
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_1);
	unsigned done;

	ck_assert_int_eq(append(tf, 0, 1, 50, 50, &done), OK);
	limit_files(200000);
	MUST(append(tf, 1, 1, 50, 1000000, &done) == E_IO);
	MUST(done == 0);
	MUST(test_store_size(DATA) == 100);
	limit_files(RLIM_INFINITY);
	end(tf);
}

TEST(records_that_cannot_be_written_leave_whole_ones)
{
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_1);
	unsigned done;

	ck_assert_int_eq(append(tf, 0, 1, 1, 0, &done), OK);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
	ck_assert_int_eq(append(tf, 1, 3, 1, 0, &done), OK);
	limit_files(INDEX_HEADER_LEN + 2 * RECORD + 5);
	MUST(tracefile_write_records(tf, false, NULL) == E_IO);
	MUST((test_store_size(INDEX) - INDEX_HEADER_LEN) % RECORD == 0);
	MUST(tracefile_n_waiting(tf) == 0);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(append(tf, 4, 1, 1, 0, &done), OK);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
	ck_assert_int_eq(
	    (test_store_size(INDEX) - INDEX_HEADER_LEN) % RECORD, 0);
	end(tf);
}

TEST(an_index_file_without_header_gets_it_later)
{
	struct tracefile *tf = begin(10, TRACEFILE_INDEX_1_0);
	unsigned done;

	limit_files(0);
	MUST(append(tf, 0, 1, 1, 0, &done) == E_IO);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(append(tf, 1, 1, 1, 0, &done), OK);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + 56);
	ck_assert_int_eq(test_store_byte(INDEX, 0), 0xc1);
	end(tf);
}

TEST(metadata_is_all_or_nothing)
{
	static const char text[300] = "metadata";
	struct tracefile *tf = begin(10, TRACEFILE_NO_INDEX);

	ck_assert_int_eq(tracefile_append_bytes(tf, text, 100, 28), OK);
	limit_files(200);
	MUST(tracefile_append_bytes(tf, text, 300, 0) == E_IO);
	MUST(test_store_size(DATA) == 128);
	MUST(tracefile_append_bytes(tf, text, 10, 100) == E_IO);
	MUST(test_store_size(DATA) == 128);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(tracefile_append_bytes(tf, text, 0, 28), OK);
	ck_assert_int_eq(tracefile_append_bytes(tf, text, 8, 0), OK);
	ck_assert_int_eq(test_store_size(DATA), 164);
	ck_assert_int_eq(test_store_byte(DATA, 156), 'm');
	tracefile_discard(tf);
	ck_assert_int_eq(test_store_size(DATA), -1);
	test_store_close();
}

#define MANY 12

TEST_ROWS(few_descriptors_serve_many_files, 4)
{
	struct tracefile *tf[MANY];
	unsigned done;
	char name[64];

	test_store_open_stream((unsigned)_i + 2, "c", true);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(
		    tracefile_create(&tf[i], test_store.store, test_store.chunk,
			test_store.family, i, false, TRACEFILE_INDEX_1_1),
		    OK);
	for (unsigned round = 0; round < 5; round++) {
		if (round == 3) /* what moves is found again */
			ck_assert_int_eq(
			    chunk_move(test_store.chunk, CHUNK_AT_OLD), OK);
		for (unsigned i = 0; i < MANY; i++) {
			ck_assert_int_eq(
			    append(tf[i], round, 1, 10 + i, 0, &done), OK);
			ck_assert_int_eq(
			    tracefile_write_records(tf[i], false, NULL), OK);
			ck_assert_uint_le(
			    test_store.store->n_open, (unsigned)_i + 2);
		}
	}
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(
		    name, sizeof(name), "h/s/.tmp_old_chunk/ust/0/c_%u", i);
		ck_assert_int_eq(test_store_size(name), 5 * (10 + (long)i));
		ck_assert_int_eq(test_store_byte(name, 4 * (10 + (long)i)), 4);
		(void)snprintf(name, sizeof(name),
		    "h/s/.tmp_old_chunk/ust/0/index/c_%u.idx", i);
		ck_assert_int_eq(test_store_size(name), 16 + 5 * RECORD);
		tracefile_close(tf[i]);
	}
	ck_assert_uint_eq(test_store.store->n_open, 0);
	test_store_close();
}

/* Of two descriptors: that of the first one is closed. */
static void
open_three(struct tracefile *tf[3])
{
	test_store_open_stream(2, "c", true);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(
		    tracefile_create(&tf[i], test_store.store, test_store.chunk,
			test_store.family, i, false, TRACEFILE_NO_INDEX),
		    OK);
}

TEST(a_file_that_was_replaced_is_left_alone)
{
	struct tracefile *tf[3];
	unsigned done;

	open_three(tf);
	ck_assert_int_eq(
	    rename(scratch_path("h/s/ust/0/c_0"), scratch_path("moved")), 0);
	scratch_write("h/s/ust/0/c_0", "precious");
	ck_assert_int_eq(append(tf[0], 0, 1, 10, 0, &done), E_IO);
	ck_assert_str_eq(scratch_read("h/s/ust/0/c_0"), "precious");
	ck_assert_int_eq(append(tf[1], 0, 1, 10, 0, &done), OK);
	for (unsigned i = 0; i < 3; i++)
		tracefile_close(tf[i]);
	tracefile_close(NULL);
	test_store_close();
}

TEST(a_replaced_file_is_not_logged_for_each_packet)
{
	struct tracefile *tf[3];
	unsigned done;

	clock_freeze(NS_PER_S, 0);
	open_three(tf);
	scratch_write("h/s/ust/0/c_0", "precious");
	unit_capture_stderr();
	for (unsigned i = 0; i < 200; i++)
		ck_assert_int_eq(append(tf[0], i, 1, 10, 0, &done), E_IO);
	/* One says that packets are lost. */
	ck_assert_uint_le(unit_stderr_lines(), LOG_PEER_LINES + 1);
	for (unsigned i = 0; i < 3; i++)
		tracefile_close(tf[i]);
	test_store_close();
}

/* Files stay open with descriptors that sessions do not need, and give them
 * back when these come, some at a time. */
TEST(files_use_descriptors_that_are_lent)
{
	enum { FILES = 60, OWN = 8 };
	struct tracefile *tf[FILES];
	struct store *s;
	unsigned done, turns = 0;

	fds[FDS_SESSIONS].hard = 200;
	test_store_open_stream(OWN, "c", true);
	s = test_store.store;
	ck_assert_uint_eq(tracefile_pool_tick(s), UINT64_MAX);
	for (unsigned i = 0; i < FILES; i++) {
		ck_assert_int_eq(
		    tracefile_create(&tf[i], s, test_store.chunk,
			test_store.family, i, false, TRACEFILE_INDEX_1_1),
		    OK);
		ck_assert_int_eq(append(tf[i], 0, 1, 10, 0, &done), OK);
		ck_assert_int_eq(
		    tracefile_write_records(tf[i], false, NULL), OK);
	}
	ck_assert_uint_eq(s->n_open, 2 * FILES);
	ck_assert_uint_gt(tracefile_pool_tick(s), 0);
	ck_assert_uint_eq(s->n_open, 2 * FILES);

	ck_assert(fds_promise(60));
	while (fds_are_wanted()) {
		const unsigned before = s->n_open;

		(void)tracefile_pool_tick(s);
		ck_assert_uint_ge(s->n_open + 32, before);
		ck_assert_uint_lt(turns++, FILES);
	}
	ck_assert_uint_lt(s->n_open, 2 * FILES);
	ck_assert_uint_le(s->n_open, OWN + s->n_lent);

	ck_assert(fds_promise(200 - s->n_lent));
	while (tracefile_pool_tick(s) == 0)
		ck_assert_uint_lt(turns++, FILES);
	ck_assert_uint_eq(s->n_lent, 0);
	ck_assert_uint_le(s->n_open, OWN);
	/* All can be written still. */
	for (unsigned i = 0; i < FILES; i++) {
		ck_assert_int_eq(append(tf[i], 1, 1, 10, 0, &done), OK);
		ck_assert_int_eq(
		    tracefile_write_records(tf[i], false, NULL), OK);
		tracefile_close(tf[i]);
	}
	ck_assert(fds_promise(0));
	test_store_close();
	ck_assert(fds_lend(150));
}
