/* SPDX-License-Identifier: MIT */
/* Which files a tracefile may unlink, and which it must sync. */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

#define FILES 3

static unsigned n_synced, n_names;
static unsigned sync_ms;
static bool sync_fails;

/* In place of the C library's. */
int
fdatasync(int fd)
{
	ck_assert_int_ge(fd, 0);
	n_synced++;
	(void)usleep(sync_ms * 1000);
	if (!sync_fails)
		return 0;
	errno = EIO;
	return -1;
}

int
fsync(int fd)
{
	ck_assert_int_ge(fd, 0);
	n_names++;
	return 0;
}

static struct tracefile *
begin_file(uint64_t number)
{
	struct tracefile *tf;

	ck_assert_int_eq(
	    tracefile_create(&tf, test_store.store, test_store.chunk,
		test_store.family, number, false, TRACEFILE_INDEX_1_1),
	    OK);
	return tf;
}

static void
append(struct tracefile *tf)
{
	struct packet *p = test_store_packet(0, 1, 10, 0, true);
	unsigned done;

	ck_assert_int_eq(tracefile_append(tf, p, &done), OK);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
	packet_destroy(&test_store.store->packets, p);
}

EACH_TEST(NULL, test_store_close)

/* Row 0: never; 1: at close, also when other files needed the descriptors. */
TEST_ROWS(files_are_synced_whenever_they_are_closed, 2)
{
	struct tracefile *tf[FILES];

	test_store_open_stream(2, "c", true);
	test_store.store->config.sync = _i == 0 ? STORE_SYNC_NONE
						: STORE_SYNC_CLOSE;
	n_synced = 0;
	for (unsigned i = 0; i < FILES; i++) {
		tf[i] = begin_file(i);
		append(tf[i]);
	}
	for (unsigned i = 0; i < FILES; i++)
		tracefile_close(tf[i]);
	/* Each of them, and before that the journal that names both. */
	ck_assert_uint_eq(n_synced, _i == 0 ? 0 : 3 * FILES);
}

/* With each packet on the disk, a file of a ring costs six: its names, the
 * journal that has them, and each file and the journal again with the packet.
 * When the daemon ends it costs one. */
TEST(a_file_costs_few_syncs)
{
	struct tracefile *tf, *other;

	test_store_open_stream(10, "c", true);
	test_store.store->config.sync = STORE_SYNC_PACKET;
	other = begin_file(100);
	append(other);
	for (unsigned i = 0; i < FILES; i++) {
		if (i == FILES - 1)
			store_end(test_store.store);
		n_synced = n_names = 0;
		tf = begin_file(i);
		append(tf);
		tracefile_close(tf);
		ck_assert_uint_eq(n_synced, i < FILES - 1 ? 4 : 1);
		ck_assert_uint_eq(n_names, i < FILES - 1 ? 2 : 0);
	}
	tracefile_close(other);
}

/* On a slow disk the daemon ends in time all the same. */
TEST(syncs_of_the_end_take_a_limited_time)
{
	struct tracefile *tf;

	test_store_open_stream(10, "c", true);
	test_store.store->config.sync = STORE_SYNC_PACKET;
	store_end(test_store.store);
	ck_assert(!store_is_late_to_sync(test_store.store));
	sync_ms = STORE_LAST_SYNCS_NS / NS_PER_MS / 4;
	n_synced = 0;
	for (unsigned i = 0; i < 10; i++) {
		tf = begin_file(i);
		append(tf);
		tracefile_close(tf);
	}
	sync_ms = 0;
	ck_assert_uint_ge(n_synced, 1);
	ck_assert_uint_le(n_synced, 4);
	ck_assert(store_is_late_to_sync(test_store.store));
}

/* What is not on the disk is not kept, and the caller gets an error. */
TEST(a_sync_that_fails_is_a_write_that_fails)
{
	struct tracefile *tf;
	struct packet *p;
	unsigned done;

	test_store_open_stream(10, "c", false);
	test_store.store->config.sync = STORE_SYNC_PACKET;
	tf = begin_file(0);
	append(tf);
	p = test_store_packet(1, 1, 10, 0, true);
	sync_fails = true;
	ck_assert_int_eq(tracefile_append(tf, p, &done), E_IO);
	ck_assert_uint_eq(done, 0);
	ck_assert_int_eq(test_store_size("h/s/ust/0/c"), 10);
	sync_fails = false;
	ck_assert_int_eq(tracefile_append(tf, p, &done), OK);
	sync_fails = true;
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), E_IO);
	ck_assert_int_eq(test_store_size("h/s/ust/0/index/c.idx"), 16 + 72);
	sync_fails = false;
	ck_assert_int_eq(tracefile_append_bytes(tf, "m", 1, 0), OK);
	test_store.store->config.sync = STORE_SYNC_CLOSE;
	sync_fails = true;
	tracefile_close(tf);
	ck_assert_uint_gt(test_store.store->sync_errors, 0);
	sync_fails = false;
	packet_destroy(&test_store.store->packets, p);
}

TEST(a_ring_replaces_its_own_files_only)
{
	struct tracefile *tf;

	test_store_open_stream(10, "c", true);
	tracefile_close(begin_file(0));
	scratch_write("h/s/ust/0/c_1", "precious");
	ck_assert_int_eq(
	    tracefile_create(&tf, test_store.store, test_store.chunk,
		test_store.family, 1, true, TRACEFILE_INDEX_1_1),
	    E_EXISTS);
	ck_assert_str_eq(scratch_read("h/s/ust/0/c_1"), "precious");
	ck_assert_int_eq(
	    tracefile_create(&tf, test_store.store, test_store.chunk,
		test_store.family, 0, true, TRACEFILE_INDEX_1_1),
	    OK);
	tracefile_close(tf);
}
