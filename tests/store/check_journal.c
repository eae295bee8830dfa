/* SPDX-License-Identifier: MIT */
#include "store/journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "ctf/index.h"
#include "store/dir.h"
#include "store/journal_format.h"
#include "store/recovery.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_clock_gettime(clockid_t id, struct timespec *ts);

static void
begin_store(void)
{
	test_store_open(10);
}

/* How many journals there are; or there were, if they are removed now. */
static unsigned
count_journals(bool removes)
{
	DIR *d = opendir(scratch_path(""));
	struct dirent *e;
	unsigned n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, JOURNAL_PREFIX,
			sizeof(JOURNAL_PREFIX) - 1) != 0)
			continue;
		n++;
		if (removes)
			ck_assert_int_eq(unlinkat(dirfd(d), e->d_name, 0), 0);
	}
	(void)closedir(d);
	return n;
}

static unsigned
journals(void)
{
	return count_journals(false);
}

static ino_t
inode(const char *name)
{
	struct stat sb;

	MUST(stat(scratch_path(name), &sb) == 0);
	return sb.st_ino;
}

static void
add_file(struct journal *j, struct journal_file *file,
    struct journal_root *root, ino_t ino)
{
	const struct dir_id id = { .ino = ino };

	journal_add_file(j, file, root, &id, false);
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
	struct journal_root r = { .path = path };
	struct journal *j;

	if (journal_create(&j, test_store.base, NULL) != OK)
		_exit(1);
	add_file(j, &torn, &r, inode("h/s/a/torn"));
	add_file(j, &whole, &r, inode("h/s/whole"));
	add_file(j, &closed, &r, inode("h/s/closed"));
	journal_set_length(j, &torn, 5);
	journal_set_length(j, &whole, 8);
	journal_set_length(j, &closed, 1);
	journal_remove_file(j, &closed);
}

EACH_TEST(begin_store, test_store_close)

TEST(torn_tails_are_cut_after_a_kill)
{
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
	ck_assert_uint_eq(recovery_run(test_store.base, NULL), 1);
	ck_assert_str_eq(scratch_read("h/s/b/torn"), "12345");
	ck_assert_str_eq(scratch_read("h/s/whole"), "12345678");
	ck_assert_str_eq(scratch_read("h/s/closed"), "12345678");
	ck_assert_str_eq(scratch_read("h/s/foreign"), "12345678");
	ck_assert_uint_eq(journals(), 0);
	ck_assert_uint_eq(recovery_run(test_store.base, NULL), 0);
}

TEST(the_journal_of_one_that_lives_is_left_alone)
{
	struct relpath *path = path_of("h");
	struct journal_root r = { .path = path };
	struct journal_file f;
	struct journal *j;

	ck_assert_int_eq(mkdir(scratch_path("h"), 0700), 0);
	scratch_write("h/f", "12345678");
	ck_assert_int_eq(journal_create(&j, test_store.base, NULL), OK);
	ck_assert_uint_eq(journals(), 0); /* none without need */
	add_file(j, &f, &r, inode("h/f"));
	journal_set_length(j, &f, 3);
	ck_assert_uint_eq(journals(), 1);
	ck_assert_uint_eq(recovery_run(test_store.base, NULL), 0);
	ck_assert_str_eq(scratch_read("h/f"), "12345678");
	ck_assert_uint_eq(journals(), 1);
	journal_destroy(j); /* a relay that ends in the middle */
	ck_assert_uint_eq(journals(), 0);
	relpath_free(path);
}

/* It is there while a file is open, and at no other time. */
TEST(it_comes_with_the_first_file_and_goes_with_the_last)
{
	struct relpath *paths[] = { path_of("a"), path_of("b") };
	struct journal_root roots[] = { { .path = paths[0] },
		{ .path = paths[1] } };
	struct journal_file files[100];
	struct journal *j;

	ck_assert_int_eq(journal_create(&j, test_store.base, NULL), OK);
	for (unsigned n = 1; n <= ARRAY_LEN(files); n += 33) {
		for (unsigned i = 0; i < n; i++) {
			ck_assert_uint_eq(journals(), i > 0);
			add_file(j, &files[i], &roots[i % 2], i + 1);
		}
		ck_assert(!journal_is_gone(j));
		for (unsigned i = 0; i < n; i++) {
			ck_assert_uint_eq(journals(), 1);
			journal_set_length(j, &files[i], i);
			journal_remove_file(j, &files[i]);
			journal_remove_file(j, &files[i]); /* zeros */
		}
		ck_assert_uint_eq(journals(), 0);
		/* A root that has no file takes no place. */
		ck_assert_uint_eq(roots[0].slot | roots[1].slot, 0);
	}
	/* Removed by somebody, it comes again with the next. */
	add_file(j, &files[0], &roots[0], 1);
	ck_assert_uint_eq(count_journals(true), 1);
	ck_assert(journal_is_gone(j));
	journal_remove_file(j, &files[0]);
	ck_assert(!journal_is_gone(j));
	add_file(j, &files[0], &roots[0], 1);
	ck_assert_uint_eq(journals(), 1);
	journal_remove_file(j, &files[0]);
	journal_destroy(j);
	relpath_free(paths[0]);
	relpath_free(paths[1]);
}

static void
die_between_two(void)
{
	struct relpath *path = path_of("h/s");
	struct journal_root r = { .path = path };
	struct journal_file f;
	struct journal *j;

	if (journal_create(&j, test_store.base, NULL) != OK)
		_exit(1);
	for (int round = 0; round < 3; round++) {
		add_file(j, &f, &r, inode("h/s/f"));
		journal_set_length(j, &f, (uint64_t)round + 3);
		if (round < 2)
			journal_remove_file(j, &f);
	}
}

TEST(after_it_was_gone_it_is_as_good_as_before)
{
	ck_assert_int_eq(mkdir(scratch_path("h"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("h/s"), 0700), 0);
	scratch_write("h/s/f", "12345678");
	die_after(die_between_two);
	ck_assert_uint_eq(journals(), 1);
	ck_assert_uint_eq(recovery_run(test_store.base, NULL), 1);
	ck_assert_str_eq(scratch_read("h/s/f"), "12345");
}

/* Another relay starts while this one's journal comes and goes: it takes none
 * that is in use, also in the moment when it is not locked yet. */
TEST(one_that_comes_is_not_taken_for_one_of_the_dead)
{
	struct relpath *path = path_of("h");
	struct journal_root r = { .path = path };
	struct journal_file f;
	struct journal *j;
	unsigned n = 0;
	pid_t pid;

	ck_assert_int_eq(journal_create(&j, test_store.base, NULL), OK);
	pid = fork();
	if (pid == 0)
		for (;;)
			(void)recovery_run(test_store.base, NULL);
	for (uint64_t i = 0; i < 5000; i++) {
		clock_freeze(NS_PER_S + i * JOURNAL_RETRY_NS, 0);
		add_file(j, &f, &r, 1);
		ck_assert(!journal_is_gone(j));
		n += journals() == 1;
		journal_remove_file(j, &f);
	}
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	/* Where both run in step there may be none, which is logged. */
	ck_assert_uint_ge(n, 4500);
	ck_assert_uint_eq(journals(), 0);
	journal_destroy(j);
	relpath_free(path);
}

/* Writing fails as on a full disk; nothing else here writes. */
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
	struct journal_root r = { .path = path }, gone = { .path = gone_path };
	struct journal_file f, gone_file;
	struct journal *j;

	clock_freeze(NS_PER_S, 0);
	if (journal_create(&j, test_store.base, NULL) != OK)
		_exit(1);
	fill_disk(true);
	add_file(j, &f, &r, inode("h/f"));
	add_file(j, &gone_file, &gone, 1);
	journal_remove_file(j, &gone_file);
	fill_disk(false);
	/* Too early. */
	journal_set_length(j, &f, 3);
	MUST(journals() == 0);
	clock_freeze(NS_PER_S + JOURNAL_RETRY_NS, 0);
	journal_set_length(j, &f, 5);
	MUST(journals() == 1);
}

TEST(a_file_without_space_for_its_entry_is_entered_later)
{
	ck_assert_int_eq(mkdir(scratch_path("h"), 0700), 0);
	scratch_write("h/f", "12345678");
	die_after(write_on_a_full_disk);
	ck_assert_uint_eq(recovery_run(test_store.base, NULL), 1);
	ck_assert_str_eq(scratch_read("h/f"), "12345");
}

/* Sessions one after another, each on a full disk: one warning, and nothing is
 * left. */
static void
come_and_go_on_a_full_disk(void)
{
	struct relpath *path = path_of("h");
	struct journal_root r = { .path = path };
	struct journal_file files[40];
	struct journal *j;

	MUST(journal_create(&j, test_store.base, NULL) == OK);
	for (uint64_t round = 0; round < 10; round++) {
		clock_freeze((round + 1) * NS_PER_S, 0);
		/* There is space for some, or for none. */
		fill_disk(round % 2 == 0);
		for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
			if (i == 20)
				fill_disk(true);
			add_file(j, &files[i], &r, i + 1);
		}
		MUST(journals() == round % 2);
		for (unsigned i = 0; i < ARRAY_LEN(files); i++)
			journal_remove_file(j, &files[i]);
		MUST(journals() == 0 && r.slot == 0);
	}
	fill_disk(false);
	clock_freeze(100 * NS_PER_S, 0);
	add_file(j, &files[0], &r, inode("h/f"));
	journal_set_length(j, &files[0], 4);
	MUST(journals() == 1);
}

TEST(a_file_without_an_entry_is_forgotten_when_it_is_closed)
{
	ck_assert_int_eq(mkdir(scratch_path("h"), 0700), 0);
	scratch_write("h/f", "12345678");
	die_after(come_and_go_on_a_full_disk);
	ck_assert_uint_eq(recovery_run(test_store.base, NULL), 1);
	ck_assert_str_eq(scratch_read("h/f"), "1234");
}

/* A path of several slots, and slots used again. */
static char long_path[600];

static void
use_many_slots(void)
{
	struct relpath *path = path_of(long_path);
	struct journal_root r = { .path = path };
	struct journal_file files[1000], last;
	struct journal *j;

	if (journal_create(&j, test_store.base, NULL) != OK)
		_exit(1);
	for (int round = 0; round < 3; round++) {
		for (unsigned i = 0; i < ARRAY_LEN(files); i++)
			add_file(j, &files[i], &r, i + 1);
		if (round == 2)
			break;
		for (unsigned i = 0; i < ARRAY_LEN(files); i++)
			journal_remove_file(j, &files[i]);
	}
	(void)snprintf(long_path + strlen(long_path), 3, "/f");
	add_file(j, &last, &r, inode(long_path));
	journal_set_length(j, &last, 2);
}

TEST(long_paths_and_used_slots_are_found_again)
{
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
		ck_assert_uint_eq(recovery_run(test_store.base, NULL), 1);
		ck_assert_str_eq(scratch_read(file), "12");
	}
}

/* Whatever stands in the file, recovery ends and does no harm. */
TEST_ROWS(forged_journals_do_no_harm, 40)
{
	enum { SLOTS = 16 };
	struct journal_slot slots[SLOTS] = { 0 };
	uint64_t state = (uint64_t)_i * 2654435761 + 1;
	size_t n;
	int fd;

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
	ck_assert_uint_eq(recovery_run(test_store.base, NULL), 0);
	ck_assert_str_eq(scratch_read("precious"), "12345678");
	ck_assert_uint_eq(journals(), 0);
}

TEST(what_only_looks_like_a_journal_does_no_harm)
{
	scratch_write("precious", "12345678");
	ck_assert_int_eq(
	    symlink("precious", scratch_path(JOURNAL_PREFIX "1")), 0);
	ck_assert_int_eq(mkfifo(scratch_path(JOURNAL_PREFIX "2"), 0600), 0);
	ck_assert_int_eq(mkdir(scratch_path(JOURNAL_PREFIX "3"), 0700), 0);
	scratch_write(JOURNAL_PREFIX "4", "short");
	ck_assert_uint_eq(recovery_run(test_store.base, NULL), 0);
	ck_assert_str_eq(scratch_read("precious"), "12345678");
}

/* A relay that writes until it is killed: packets of 1000 bytes that say
 * which they are, then records. */
#define SIZE 1000

static void
record_for_ever(void)
{
	struct tracefile *tf;
	unsigned done;

	test_store.chunk = test_store_chunk(0, 0, NULL);
	test_store.family = test_store_family(
	    test_store.chunk, "ust/0", "c", false);
	if (tracefile_create(&tf, test_store.store, test_store.chunk,
		test_store.family, 0, false, TRACEFILE_INDEX_1_1) != OK)
		_exit(1);
	for (uint64_t seq = 0;; seq += 3) {
		struct packet *p[3];

		for (unsigned i = 0; i < 3; i++)
			p[i] = test_store_packet(
			    seq + i, (uint8_t)(seq + i), SIZE - 100, 100, true);
		p[0]->next = p[1];
		p[1]->next = p[2];
		if (tracefile_append(tf, p[0], &done) != OK ||
		    tracefile_write_records(tf, false, NULL) != OK)
			_exit(1);
		for (unsigned i = 0; i < 3; i++)
			packet_destroy(&test_store.store->packets, p[i]);
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

TEST_ROWS(killed_at_any_instant_both_files_are_whole, 40)
{
	const struct timespec wait = { .tv_nsec = 20000 +
						  _i * 137000 % 7000000 };
	struct relpath *wanted = path_of("h/s");
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		/* The store and its journal are the child's own. */
		MUST(session_dir_claim(&test_store.dir, test_store.store,
			 wanted, 0, NULL) == OK);
		record_for_ever();
	}
	while (!scratch_exists("h/s/ust/0/c"))
		(void)usleep(100);
	(void)nanosleep(&wait, NULL);
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	(void)recovery_run(test_store.base, NULL);
	check_whole("h/s/ust/0/c", "h/s/ust/0/index/c.idx");
	ck_assert_uint_eq(journals(), 0);
	relpath_free(wanted);
}

/* Sessions of one packet, one after another; each file is whole when the
 * journal goes. */
static void
record_and_close_for_ever(void)
{
	struct chunk_family *f;
	struct tracefile *tf;
	struct packet *p;
	char name[32];
	unsigned done;

	test_store.chunk = test_store_chunk(0, 0, NULL);
	for (uint64_t n = 0;; n++) {
		(void)snprintf(name, sizeof(name), "c%" PRIu64, n);
		f = test_store_family(test_store.chunk, "ust/0", name, false);
		MUST(tracefile_create(&tf, test_store.store, test_store.chunk,
			 f, 0, false, TRACEFILE_INDEX_1_1) == OK);
		p = test_store_packet(0, 0, SIZE - 100, 100, true);
		MUST(tracefile_append(tf, p, &done) == OK);
		packet_destroy(&test_store.store->packets, p);
		tracefile_close(tf);
	}
}

TEST_ROWS(killed_while_files_come_and_go_all_are_whole, 40)
{
	const struct timespec wait = { .tv_nsec = 20000 +
						  _i * 237000 % 9000000 };
	struct relpath *wanted = path_of("h/s");
	char data[64], index[64];
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		MUST(session_dir_claim(&test_store.dir, test_store.store,
			 wanted, 0, NULL) == OK);
		record_and_close_for_ever();
	}
	while (!scratch_exists("h/s/ust/0/c0"))
		(void)usleep(100);
	(void)nanosleep(&wait, NULL);
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	(void)recovery_run(test_store.base, NULL);
	ck_assert_uint_eq(journals(), 0);
	for (unsigned n = 0;; n++) {
		(void)snprintf(data, sizeof(data), "h/s/ust/0/c%u", n);
		(void)snprintf(
		    index, sizeof(index), "h/s/ust/0/index/c%u.idx", n);
		if (!scratch_exists(data))
			break;
		check_whole(data, index);
	}
	relpath_free(wanted);
}

/* A journal that a relay left, perhaps before the machine was started: one file
 * "h/f", whose first 5 bytes are complete, and 3 were synced. Two files that
 * were deleted had its inode before. */
struct left {
	bool names_boot; /* otherwise the times of the machine count */
	uint32_t sync;
	bool is_of_this_boot;
	unsigned wrong_born;
	const char *want;
};

static const struct left lefts[] = {
	{ true, JOURNAL_UNSYNCED, true, 0, "12345" },
	{ true, JOURNAL_SYNCED, true, 0, "12345" },
	{ true, JOURNAL_UNSYNCED, false, 0, "12345678" },
	{ true, JOURNAL_SYNCED_AT_CLOSE, false, 0, "12345678" },
	{ true, JOURNAL_SYNCED, false, 0, "123" },
	{ true, JOURNAL_SYNCED, true, 1, "12345678" },
	{ true, JOURNAL_SYNCED, false, 1, "12345678" },
	{ false, JOURNAL_UNSYNCED, true, 0, "12345" },
	{ false, JOURNAL_UNSYNCED, false, 0, "12345678" },
};

static void
leave_journal(const struct left *l)
{
	struct journal_slot slots[5] = { 0 };
	struct dir_id id;
	int fd;

	fd = open(scratch_path("h/f"), O_RDONLY | O_CLOEXEC);
	MUST(dir_identify(&id, fd) == OK);
	close(fd);
	slots[0].kind = JOURNAL_HEAD;
	slots[0].head.magic = JOURNAL_MAGIC;
	slots[0].head.sync = l->sync;
	if (l->names_boot)
		journal_boot(slots[0].head.boot);
	if (l->names_boot && !l->is_of_this_boot)
		slots[0].head.boot[0] ^= 1;
	slots[1].kind = JOURNAL_ROOT;
	slots[1].piece_len = 1;
	slots[1].piece[0] = 'h';
	for (unsigned i = 2; i < 5; i++)
		slots[i] = (struct journal_slot){ .kind = JOURNAL_FILE,
			.root = 1,
			.file = { .ino = id.ino, .born = id.born - i } };
	slots[3].file.born = id.born + l->wrong_born;
	slots[3].file.length = 5;
	slots[3].file.synced = 3;
	fd = open(scratch_path(JOURNAL_PREFIX "0000000000000000"),
	    O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	MUST(write(fd, slots, sizeof(slots)) == (ssize_t)sizeof(slots));
	close(fd);
}

/* How long the machine runs, for journals that do not name their boot. */
static uint64_t uptime_s = UINT64_C(1) << 30;

int
__wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_BOOTTIME)
		return __real_clock_gettime(id, ts);
	*ts = (struct timespec){ .tv_sec = (time_t)uptime_s };
	return 0;
}

TEST_ROWS(lengths_count_only_where_they_are_true, ARRAY_LEN(lefts))
{
	const struct left *l = &lefts[_i];

	ck_assert_int_eq(mkdir(scratch_path("h"), 0700), 0);
	scratch_write("h/f", "12345678");
	leave_journal(l);
	/* As if the machine was started only now. */
	if (!l->is_of_this_boot)
		uptime_s = 0;
	ck_assert_uint_eq(
	    recovery_run(test_store.base, NULL), strlen(l->want) < 8);
	uptime_s = UINT64_C(1) << 30;
	ck_assert_str_eq(scratch_read("h/f"), l->want);
	ck_assert_uint_eq(journals(), 0);
}

static void
begin(void *arg)
{
	published_add(arg, 1);
}

/* A start does not wait for it longer than it wants to; and ends it early. */
TEST_ROWS(a_recovery_may_go_on_in_its_thread, 20)
{
	struct published n_begun = { 0 };
	struct recovery_thread *r;
	size_t n;

	ck_assert_int_eq(mkdir(scratch_path("h"), 0700), 0);
	scratch_write("h/f", "12345678");
	leave_journal(&lefts[0]);
	recovery_start(&r, test_store.base, 0, begin, &n_begun, NULL);
	recovery_stop(r);
	/* It was done, or its journal is left for the next start, before or
	 * behind the cut. */
	n = strlen(scratch_read("h/f"));
	ck_assert(n == 5 || (n == 8 && journals() == 1));
	recovery_start(
	    &r, test_store.base, 60 * NS_PER_S, begin, &n_begun, NULL);
	ck_assert_ptr_null(r);
	ck_assert_str_eq(scratch_read("h/f"), "12345");
	ck_assert_uint_eq(journals(), 0);
	ck_assert_uint_eq(published(&n_begun), 2);
}

int
main(void)
{
	log_set_level(LOG_ERROR);
	return unit_run();
}
