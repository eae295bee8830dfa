/* SPDX-License-Identifier: MIT */
/* Files that an earlier session has left, in any state, are continued. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/index.h"
#include "store/packet_log.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

#define DATA "h/s/ust/0/c_0"
#define INDEX "h/s/ust/0/index/c_0.idx"
#define LENGTH 112 /* of a packet, with padding */
#define RECORD 72
#define PACKETS 3

static void
append(struct tracefile *tf, uint64_t seq)
{
	struct packet *p = test_store_packet(
	    seq, (uint8_t)(seq + 1), 100, 12, true);
	unsigned done;

	ck_assert_int_eq(tracefile_append(tf, p, &done), OK);
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(tracefile_write_records(tf, true, NULL), OK);
	packet_destroy(&test_store.store->packets, p);
}

static void
begin(void)
{
	struct tracefile *tf;

	test_store_open_stream(100, "c_0", false);
	ck_assert_int_eq(
	    tracefile_create(&tf, test_store.store, test_store.chunk,
		test_store.family, 0, false, TRACEFILE_INDEX_1_1),
	    OK);
	for (uint64_t seq = 0; seq < PACKETS; seq++)
		append(tf, seq);
	tracefile_close(tf);
}

static enum status
go_on(struct tracefile **out, enum tracefile_index format)
{
	return tracefile_continue(out, test_store.store, test_store.chunk,
	    test_store_family(test_store.chunk, "ust/0", "c_0", false), format);
}

static void
grow(const char *name, long by)
{
	const long size = test_store_size(name);
	int fd;

	if (size + by <= 0 && by < 0 && size >= 0 && by != -size) {
		scratch_remove(name);
		return;
	}
	fd = open(scratch_path(name), O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, size + by), 0);
	close(fd);
}

/* By how much the files were changed: a number beyond their size removes
 * them. */
static const struct {
	const char *what;
	long data, index;
	unsigned whole;
} rows[] = {
	{ "as it was", 0, 0, 3 },
	{ "a packet without its record", LENGTH, 0, 3 },
	{ "a part of one", 7, 0, 3 },
	{ "a torn record", 0, 40, 3 },
	{ "a record without all of its packet", -1, 0, 2 },
	{ "records without packets", -3 * LENGTH, 0, 0 },
	{ "a packet whose record was cut", 0, -1, 2 },
	{ "records of zeros, after a power cut", 0, 2 * RECORD, 3 },
	{ "no records", 0, -3 * RECORD, 0 },
	{ "a torn header", 0, -3 * RECORD - 4, 0 },
	{ "an empty index file", 0, -3 * RECORD - INDEX_HEADER_LEN, 0 },
	{ "no index file", 0, -9999, 0 },
};

TEST_ROWS(whole_packets_stay, ARRAY_LEN(rows))
{
	const unsigned n = rows[_i].whole;
	struct index_record last;
	struct packet_log *log;
	struct tracefile *tf;

	begin();
	grow(DATA, rows[_i].data);
	grow(INDEX, rows[_i].index);
	ck_assert_int_eq(go_on(&tf, TRACEFILE_INDEX_1_1), OK);
	ck_assert_msg(
	    test_store_size(DATA) == (long)n * LENGTH, "%s", rows[_i].what);
	ck_assert_uint_eq(tracefile_records(tf, &last), n);
	if (n > 0)
		ck_assert_uint_eq(last.packet_seq_num, n - 1);
	ck_assert_int_eq(packet_log_create(&log, "c_0", false, 1), OK);
	ck_assert_int_eq(tracefile_set_log(tf, log), OK);
	ck_assert_uint_eq(published(&log->count), n);
	append(tf, n);
	append(tf, n + 1);
	ck_assert_uint_eq(published(&log->count), n + 2);
	tracefile_close(tf);
	packet_log_put(log);
	ck_assert_int_eq(test_store_size(DATA), (long)(n + 2) * LENGTH);
	ck_assert_int_eq(test_store_size(INDEX),
	    (long)(INDEX_HEADER_LEN + (n + 2) * RECORD));
	for (unsigned i = 0; i < n + 2; i++)
		ck_assert_int_eq(
		    test_store_byte(DATA, (long)i * LENGTH), (int)i + 1);
	test_store_close();
}

TEST(what_is_no_such_file_is_left_alone)
{
	struct tracefile *tf;

	begin();
	scratch_write(INDEX, "something else, of another program");
	ck_assert_int_eq(go_on(&tf, TRACEFILE_INDEX_1_1), E_EXISTS);
	ck_assert_ptr_null(tf);
	ck_assert_str_eq(
	    scratch_read(INDEX), "something else, of another program");
	ck_assert_int_eq(test_store_size(DATA), PACKETS * LENGTH);
	scratch_remove(DATA);
	ck_assert_int_eq(mkfifo(scratch_path(DATA), 0600), 0);
	ck_assert_int_eq(go_on(&tf, TRACEFILE_NO_INDEX), E_EXISTS);
	scratch_remove(DATA);
	ck_assert_int_eq(go_on(&tf, TRACEFILE_INDEX_1_1), E_NOENT);
	ck_assert_int_eq(
	    tracefile_create(&tf, test_store.store, test_store.chunk,
		test_store.family, 0, false, TRACEFILE_NO_INDEX),
	    OK);
	tracefile_close(tf);
	test_store_close();
}

/* Metadata has no records: all of it counts. */
TEST(metadata_goes_on_at_its_end)
{
	struct tracefile *tf;

	begin();
	ck_assert_int_eq(go_on(&tf, TRACEFILE_NO_INDEX), OK);
	ck_assert_uint_eq(tf->data.length, PACKETS * LENGTH);
	ck_assert_int_eq(tracefile_append_bytes(tf, "text", 4, 0), OK);
	tracefile_close(tf);
	ck_assert_int_eq(test_store_size(DATA), PACKETS * LENGTH + 4);
	test_store_close();
}
