/* SPDX-License-Identifier: MIT */
/* The folders of a chunk, found again wherever the relay moves it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <urcu.h>

#include "common/publish.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/folder.h"
#include "store/session_dir.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

#define ROUNDS 300

static struct folder *folder;

static void
begin(void)
{
	test_store_open_stream(64, "c", false);
	ck_assert_int_eq(
	    chunk_folder(test_store.chunk, test_store.family, &folder), OK);
	scratch_write("h/s/ust/0/file", "old");
}

static void
end(void)
{
	folder_put(folder);
	test_store_close();
	rcu_barrier();
}

static void
assert_found(void)
{
	char text[8] = "";
	int fd;

	ck_assert_int_eq(folder_open_file(&fd, folder, "file", O_RDONLY), OK);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 3);
	ck_assert_str_eq(text, "old");
	close(fd);
	ck_assert(!folder_is_gone(folder));
}

static void
assert_gone(void)
{
	int fd;

	ck_assert_int_eq(
	    folder_open_file(&fd, folder, "file", O_RDONLY), E_NOENT);
	ck_assert(folder_is_gone(folder));
}

static const enum chunk_place places[] = { CHUNK_AT_OLD, CHUNK_AT_ROOT,
	CHUNK_AT_NAME, CHUNK_AT_ARCHIVE };

EACH_TEST(begin, end)

/* Each move, and a file of the next chunk at the path where it was. */
TEST(it_is_found_where_its_chunk_is)
{
	struct chunk *next;

	assert_found();
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		ck_assert_int_eq(chunk_move(test_store.chunk, places[i]), OK);
		assert_found();
	}
	next = test_store_chunk(1, 1, NULL);
	ck_assert_int_eq(chunk_make(next, CHUNK_AT_ROOT), OK);
	(void)test_store_family(next, "ust/0", "c", false);
	scratch_write("h/s/ust/0/file", "new");
	assert_found();
	chunk_put(next);
}

/* Removed; another folder is at its path (1), a link (2), a file (3). */
TEST_ROWS(what_stands_in_its_place_is_not_opened, 4)
{
	ck_assert_int_eq(unlink(scratch_path("h/s/ust/0/file")), 0);
	ck_assert_int_eq(rmdir(scratch_path("h/s/ust/0")), 0);
	/* Files that are made at once have the same time of birth, and may get
	 * the same inode. */
	(void)usleep(20000);
	if (_i == 1) {
		ck_assert_int_eq(mkdir(scratch_path("h/s/ust/0"), 0700), 0);
		scratch_write("h/s/ust/0/file", "new");
	} else if (_i == 2) {
		ck_assert_int_eq(symlink("/", scratch_path("h/s/ust/0")), 0);
	} else if (_i == 3) {
		scratch_write("h/s/ust/0", "x");
	}
	assert_gone();
}

/* The session is gone, and its name is free; the folder is not. */
TEST(it_outlives_its_session_and_not_the_claim)
{
	ck_assert(session_dir_is_foreign(test_store.base, "h/s"));
	chunk_put(test_store.chunk);
	session_dir_put(test_store.dir);
	test_store.chunk = NULL;
	test_store.dir = NULL;
	ck_assert(!session_dir_is_foreign(test_store.base, "h/s"));
	assert_found();
}

/* A clear, and a new chunk at the same place. */
TEST(a_deleted_one_is_gone_whatever_comes_after_it)
{
	unsigned budget = 100;
	struct chunk *next;

	test_store.keeps_released = true;
	ck_assert_int_eq(unlink(scratch_path("h/s/ust/0/file")), 0);
	test_store.chunk->command = CHUNK_DELETE;
	ck_assert(chunk_delete_step(test_store.chunk, &budget));
	next = test_store_chunk(1, 1, NULL);
	ck_assert_int_eq(chunk_make(next, CHUNK_AT_ROOT), OK);
	(void)test_store_family(next, "ust/0", "c", false);
	scratch_write("h/s/ust/0/file", "new");
	assert_gone();
	test_store.keeps_released = false;
	chunk_put(next);
}

static struct published is_over;

static void *
look(void *arg)
{
	unsigned *found = arg;
	bool is_last;
	enum status st;
	int fd;

	rcu_register_thread();
	/* Once more at the end: a busy machine may let it begin late. */
	do {
		is_last = published(&is_over) != 0;
		st = folder_open_file(&fd, folder, "file", O_RDONLY);
		/* While it is moved, a reader gets E_LATER. */
		ck_assert(st == OK || st == E_IO);
		if (st == OK)
			close(fd);
		*found += st == OK;
	} while (!is_last);
	rcu_unregister_thread();
	return NULL;
}

TEST(a_reader_never_takes_a_move_for_a_removal)
{
	unsigned found = 0;
	pthread_t reader;

	ck_assert_int_eq(pthread_create(&reader, NULL, look, &found), 0);
	for (int i = 0; i < ROUNDS; i++)
		ck_assert_int_eq(chunk_move(test_store.chunk,
				     i % 2 == 0 ? CHUNK_AT_OLD : CHUNK_AT_ROOT),
		    OK);
	publish(&is_over, 1);
	pthread_join(reader, NULL);
	ck_assert_uint_gt(found, 0);
}

int
main(void)
{
	rcu_register_thread();
	return unit_run();
}
