/* SPDX-License-Identifier: MIT */
/* Which files a tracefile may unlink, and which it must sync. */
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/shelf.h"

#define FILES 3

static struct shelf shelf;
static unsigned n_synced;

/* In place of the C library's. */
int
fdatasync(int fd)
{
	ck_assert_int_ge(fd, 0);
	n_synced++;
	return 0;
}

static struct tracefile *
begin_file(uint64_t number)
{
	struct tracefile *tf;

	ck_assert_int_eq(tracefile_create(&tf, shelf.store, shelf.chunk,
			     shelf.family, number, false, TRACEFILE_INDEX_1_1),
	    OK);
	return tf;
}

static void
append(struct tracefile *tf)
{
	struct packet *p = shelf_packet(&shelf, 0, 1, 10, 0, true);
	unsigned done;

	ck_assert_int_eq(tracefile_append(tf, p, &done), OK);
	ck_assert_int_eq(tracefile_write_records(tf, false), OK);
	packet_destroy(&shelf.store->packets, p);
}

/* Row 0: never; 1: at close, also when other files needed the descriptors. */
START_TEST(files_are_synced_whenever_they_are_closed)
{
	struct tracefile *tf[FILES];

	shelf_open_stream(&shelf, 2, "c", true);
	shelf.store->config.sync = _i == 0 ? STORE_SYNC_NONE : STORE_SYNC_CLOSE;
	n_synced = 0;
	for (unsigned i = 0; i < FILES; i++) {
		tf[i] = begin_file(i);
		append(tf[i]);
	}
	for (unsigned i = 0; i < FILES; i++)
		tracefile_close(tf[i]);
	ck_assert_uint_eq(n_synced, _i == 0 ? 0 : 2 * FILES);
	shelf_close(&shelf);
}
END_TEST

START_TEST(a_ring_replaces_its_own_files_only)
{
	struct tracefile *tf;

	shelf_open_stream(&shelf, 10, "c", true);
	tracefile_close(begin_file(0));
	scratch_write("h/s/ust/0/c_1", "precious");
	ck_assert_int_eq(tracefile_create(&tf, shelf.store, shelf.chunk,
			     shelf.family, 1, true, TRACEFILE_INDEX_1_1),
	    E_EXISTS);
	ck_assert_str_eq(scratch_read("h/s/ust/0/c_1"), "precious");
	ck_assert_int_eq(tracefile_create(&tf, shelf.store, shelf.chunk,
			     shelf.family, 0, true, TRACEFILE_INDEX_1_1),
	    OK);
	tracefile_close(tf);
	shelf_close(&shelf);
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ files_are_synced_whenever_they_are_closed, 2, 0 },
		{ a_ring_replaces_its_own_files_only, 0, 0 },
	};

	return unit_run("tracefile_owned", units, ARRAY_LEN(units));
}
