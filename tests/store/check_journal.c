/* SPDX-License-Identifier: MIT */
#include "store/journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/relpath.h"
#include "store/index.h"
#include "store/journal_format.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/shelf.h"

static struct shelf shelf;

static unsigned
journals(void)
{
	DIR *d = opendir(scratch_path(""));
	struct dirent *e;
	unsigned n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL)
		n += strncmp(e->d_name, JOURNAL_PREFIX,
			 sizeof(JOURNAL_PREFIX) - 1) == 0;
	(void)closedir(d);
	return n;
}

static ino_t
inode(const char *name)
{
	struct stat sb;

	MUST(stat(scratch_path(name), &sb) == 0);
	return sb.st_ino;
}

/* In a child that dies without a word. */
static void
die_after(void (*work)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		work();
		(void)kill(getpid(), SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void
write_some(void)
{
	struct relpath *path = path_of("h/s");
	struct journal_file whole, torn, closed;
	struct journal_root r;
	struct journal *j;

	if (journal_create(&j, shelf.base) != OK)
		_exit(1);
	journal_add_root(j, &r, path);
	journal_add_file(j, &torn, &r, inode("h/s/a/torn"));
	journal_add_file(j, &whole, &r, inode("h/s/whole"));
	journal_add_file(j, &closed, &r, inode("h/s/closed"));
	journal_set_length(j, &torn, 5);
	journal_set_length(j, &whole, 8);
	journal_set_length(j, &closed, 1);
	journal_remove_file(j, &closed);
}

START_TEST(torn_tails_are_cut_after_a_kill)
{
	shelf_open(&shelf, 10);
	ck_assert_int_eq(mkdir(scratch_path("h"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("h/s"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("h/s/a"), 0700), 0);
	scratch_write("h/s/a/torn", "12345678");
	scratch_write("h/s/whole", "12345678");
	scratch_write("h/s/closed", "12345678");
	scratch_write("h/s/foreign", "12345678");
	die_after(write_some);
	ck_assert_uint_eq(journals(), 1);
	/* Chunks may have been moved, but not out of the session. */
	ck_assert_int_eq(
	    rename(scratch_path("h/s/a"), scratch_path("h/s/b")), 0);
	ck_assert_uint_eq(journal_recover(shelf.base), 1);
	ck_assert_str_eq(scratch_read("h/s/b/torn"), "12345");
	ck_assert_str_eq(scratch_read("h/s/whole"), "12345678");
	ck_assert_str_eq(scratch_read("h/s/closed"), "12345678");
	ck_assert_str_eq(scratch_read("h/s/foreign"), "12345678");
	ck_assert_uint_eq(journals(), 0);
	ck_assert_uint_eq(journal_recover(shelf.base), 0);
	shelf_close(&shelf);
}
END_TEST

START_TEST(the_journal_of_one_that_lives_is_left_alone)
{
	struct relpath *path = path_of("h");
	struct journal_root r;
	struct journal_file f;
	struct journal *j;

	shelf_open(&shelf, 10);
	ck_assert_int_eq(mkdir(scratch_path("h"), 0700), 0);
	scratch_write("h/f", "12345678");
	ck_assert_int_eq(journal_create(&j, shelf.base), OK);
	ck_assert_uint_eq(journals(), 0); /* none without need */
	journal_add_root(j, &r, path);
	journal_add_file(j, &f, &r, inode("h/f"));
	journal_set_length(j, &f, 3);
	ck_assert_uint_eq(journals(), 1);
	ck_assert_uint_eq(journal_recover(shelf.base), 0);
	ck_assert_str_eq(scratch_read("h/f"), "12345678");
	ck_assert_uint_eq(journals(), 1);
	journal_destroy(j);
	ck_assert_uint_eq(journals(), 0);
	relpath_free(path);
	shelf_close(&shelf);
}
END_TEST

/* posix_fallocate(3) fails as on a full disk; nothing else here writes. */
static void
fill_disk(bool is_full)
{
	const struct rlimit limit = { is_full ? 64 : RLIM_INFINITY,
		RLIM_INFINITY };

	(void)signal(SIGXFSZ, SIG_IGN);
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void
write_on_a_full_disk(void)
{
	struct relpath *path = path_of("h"), *gone_path = path_of("gone");
	struct journal_file f, gone_file;
	struct journal_root r, gone;
	struct journal *j;

	clock_freeze(NS_PER_S, 0);
	if (journal_create(&j, shelf.base) != OK)
		_exit(1);
	fill_disk(true);
	journal_add_root(j, &r, path);
	journal_add_file(j, &f, &r, inode("h/f"));
	journal_add_root(j, &gone, gone_path);
	journal_add_file(j, &gone_file, &gone, 1);
	journal_remove_file(j, &gone_file);
	journal_remove_root(j, &gone);
	fill_disk(false);
	/* Too early. */
	journal_set_length(j, &f, 3);
	MUST(journals() == 0);
	clock_freeze(NS_PER_S + JOURNAL_RETRY_NS, 0);
	journal_set_length(j, &f, 5);
	MUST(journals() == 1);
}

START_TEST(what_found_no_room_is_entered_later)
{
	shelf_open(&shelf, 10);
	ck_assert_int_eq(mkdir(scratch_path("h"), 0700), 0);
	scratch_write("h/f", "12345678");
	die_after(write_on_a_full_disk);
	ck_assert_uint_eq(journal_recover(shelf.base), 1);
	ck_assert_str_eq(scratch_read("h/f"), "12345");
	shelf_close(&shelf);
}
END_TEST

/* A path of several slots, and slots used again. */
static char long_path[600];

static void
use_many_slots(void)
{
	struct relpath *path = path_of(long_path);
	struct journal_file files[1000], last;
	struct journal_root r;
	struct journal *j;

	if (journal_create(&j, shelf.base) != OK)
		_exit(1);
	for (int round = 0; round < 3; round++) {
		journal_add_root(j, &r, path);
		for (unsigned i = 0; i < ARRAY_LEN(files); i++)
			journal_add_file(j, &files[i], &r, i + 1);
		if (round == 2)
			break;
		for (unsigned i = 0; i < ARRAY_LEN(files); i++)
			journal_remove_file(j, &files[i]);
		journal_remove_root(j, &r);
	}
	(void)snprintf(long_path + strlen(long_path), 3, "/f");
	journal_add_file(j, &last, &r, inode(long_path));
	journal_set_length(j, &last, 2);
}

START_TEST(long_paths_and_used_slots_are_found_again)
{
	shelf_open(&shelf, 10);
	for (int i = 0; i < 5; i++) {
		size_t n = strlen(long_path);

		(void)snprintf(long_path + n, sizeof(long_path) - n, "%s%c%0*d",
		    i == 0 ? "" : "/", 'a' + i, 100, i);
		ck_assert_int_eq(mkdir(scratch_path(long_path), 0700), 0);
	}
	{
		char file[700];

		(void)snprintf(file, sizeof(file), "%s/f", long_path);
		scratch_write(file, "12345678");
		die_after(use_many_slots);
		ck_assert_uint_eq(journal_recover(shelf.base), 1);
		ck_assert_str_eq(scratch_read(file), "12");
	}
	shelf_close(&shelf);
}
END_TEST

/* Whatever stands in the file, recovery ends and harms nobody. */
START_TEST(forged_journals_do_no_harm)
{
	enum { SLOTS = 16 };
	struct journal_slot slots[SLOTS] = { 0 };
	uint64_t state = (uint64_t)_i * 2654435761 + 1;
	size_t n;
	int fd;

	shelf_open(&shelf, 10);
	scratch_write("precious", "12345678");
	for (unsigned i = 1; i < SLOTS; i++) {
		state = state * UINT64_C(6364136223846793005) + 1;
		slots[i].kind = (uint32_t)(state >> 60) % 6;
		slots[i].root = (uint32_t)(state >> 50) % (SLOTS + 2);
		slots[i].next = (uint32_t)(state >> 40) % (SLOTS + 2);
		slots[i].piece_len = (uint32_t)(state >> 30) % 120;
		if (slots[i].kind == JOURNAL_FILE) {
			slots[i].file.ino = inode("precious");
			continue;
		}
		memcpy(slots[i].piece, "../..//tmp", 10);
		if (slots[i].piece_len > 10)
			slots[i].piece_len = 2 + slots[i].piece_len % 8;
	}
	slots[0].kind = JOURNAL_HEAD;
	slots[0].head.magic = JOURNAL_MAGIC;
	fd = open(scratch_path(JOURNAL_PREFIX "0000000000000000"),
	    O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	n = sizeof(slots) - (_i % 2 == 0 ? 0 : 64);
	ck_assert_int_eq(write(fd, slots, n), (ssize_t)n);
	close(fd);
	ck_assert_uint_eq(journal_recover(shelf.base), 0);
	ck_assert_str_eq(scratch_read("precious"), "12345678");
	ck_assert_uint_eq(journals(), 0);
	shelf_close(&shelf);
}
END_TEST

START_TEST(what_only_looks_like_a_journal_does_no_harm)
{
	shelf_open(&shelf, 10);
	scratch_write("precious", "12345678");
	ck_assert_int_eq(
	    symlink("precious", scratch_path(JOURNAL_PREFIX "1")), 0);
	ck_assert_int_eq(mkfifo(scratch_path(JOURNAL_PREFIX "2"), 0600), 0);
	ck_assert_int_eq(mkdir(scratch_path(JOURNAL_PREFIX "3"), 0700), 0);
	scratch_write(JOURNAL_PREFIX "4", "short");
	ck_assert_uint_eq(journal_recover(shelf.base), 0);
	ck_assert_str_eq(scratch_read("precious"), "12345678");
	shelf_close(&shelf);
}
END_TEST

/* A relay that writes until it is killed: packets of 1000 bytes that say
 * which they are, records behind them. */
#define SIZE 1000

static void
record_for_ever(void)
{
	struct tracefile *tf;
	unsigned done;

	shelf.chunk = shelf_chunk(&shelf, 0, 0, NULL);
	shelf.family = shelf_family(shelf.chunk, "ust/0", "c", false);
	if (tracefile_create(&tf, shelf.store, shelf.chunk, shelf.family, 0,
		false, TRACEFILE_INDEX_1_1) != OK)
		_exit(1);
	for (uint64_t seq = 0;; seq += 3) {
		struct packet *p[3];

		for (unsigned i = 0; i < 3; i++)
			p[i] = shelf_packet(&shelf, seq + i, (uint8_t)(seq + i),
			    SIZE - 100, 100, true);
		p[0]->next = p[1];
		p[1]->next = p[2];
		if (tracefile_append(tf, p[0], &done) != OK ||
		    tracefile_write_records(tf, false) != OK)
			_exit(1);
		for (unsigned i = 0; i < 3; i++)
			packet_destroy(&shelf.store->packets, p[i]);
	}
}

static void
check_whole(const char *data_name, const char *index_name)
{
	struct bytes data = bytes_file(scratch_path(data_name)), index;
	struct index_record rec;
	size_t records = 0;

	ck_assert_uint_eq(data.n % SIZE, 0);
	for (size_t i = 0; i < data.n; i++)
		if (data.p[i] !=
		    (i % SIZE < SIZE - 100 ? (uint8_t)(i / SIZE) : 0))
			ck_abort_msg("byte %zu of %zu is wrong", i, data.n);
	if (scratch_exists(index_name)) {
		index = bytes_file(scratch_path(index_name));
		if (index.n > 0)
			ck_assert_uint_eq((index.n - INDEX_HEADER_LEN) % 72, 0);
		if (index.n > 0)
			records = (index.n - INDEX_HEADER_LEN) / 72;
		for (size_t i = 0; i < records; i++) {
			index_decode(
			    index.p + INDEX_HEADER_LEN + i * 72, &rec, 1);
			if (rec.offset != i * SIZE)
				ck_abort_msg("record %zu is wrong", i);
		}
		free(index.p);
	}
	ck_assert_uint_le(records, data.n / SIZE);
	free(data.p);
}

START_TEST(killed_at_any_instant_both_files_are_whole)
{
	const struct timespec wait = { .tv_nsec = 20000 +
						  _i * 137000 % 7000000 };
	struct relpath *wanted = path_of("h/s");
	int status;
	pid_t pid;

	shelf_open(&shelf, 10);
	pid = fork();
	if (pid == 0) {
		/* The store and its journal are the child's own. */
		MUST(session_dir_claim(
			 &shelf.dir, shelf.store, wanted, false) == OK);
		record_for_ever();
	}
	while (!scratch_exists("h/s/ust/0/c"))
		(void)usleep(100);
	(void)nanosleep(&wait, NULL);
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	(void)journal_recover(shelf.base);
	check_whole("h/s/ust/0/c", "h/s/ust/0/index/c.idx");
	ck_assert_uint_eq(journals(), 0);
	relpath_free(wanted);
	shelf_close(&shelf);
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ torn_tails_are_cut_after_a_kill, 0, 0 },
		{ the_journal_of_one_that_lives_is_left_alone, 0, 0 },
		{ what_found_no_room_is_entered_later, 0, 0 },
		{ long_paths_and_used_slots_are_found_again, 0, 0 },
		{ forged_journals_do_no_harm, 40, 0 },
		{ what_only_looks_like_a_journal_does_no_harm, 0, 0 },
		{ killed_at_any_instant_both_files_are_whole, 40, 0 },
	};

	log_set_level(LOG_ERROR);
	return unit_run("journal", units, ARRAY_LEN(units));
}
