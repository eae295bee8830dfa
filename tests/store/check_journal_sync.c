/* SPDX-License-Identifier: MIT */
/* --sync=TIME: what a journal vouches for when syncs fail, and when files come
 * and go faster than the rounds. */
#include "store/syncer.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/publish.h"
#include "common/relpath.h"
#include "store/dir.h"
#include "store/journal_format.h"
#include "store/journal.h"
#include "store/recovery.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

static struct published fails; /* 1: syncfs does */
static struct published n_rounds;

int __wrap_syncfs(int fd);

int
__wrap_syncfs(int fd)
{
	(void)fd;
	published_add(&n_rounds, 1);
	errno = EIO;
	return published(&fails) != 0 ? -1 : 0;
}

/* N rounds that began after this call are over, and J knows of them. */
static void
wait_rounds(struct journal *j, uint64_t n)
{
	const uint64_t until = published(&n_rounds) + n + 1;

	while (published(&n_rounds) < until)
		(void)usleep(500);
	(void)journal_tick(j);
}

static struct syncer *syncer;

static struct journal *
begin(uint64_t time_ns)
{
	struct journal_config config = { .sync = JOURNAL_SYNCED };
	struct journal *j;

	test_store_open(10);
	publish(&fails, 0);
	ck_assert_int_eq(syncer_create(&syncer, test_store.base, time_ns), OK);
	ck_assert_int_eq(syncer_start(syncer), OK);
	config.syncer = syncer;
	ck_assert_int_eq(journal_create(&j, test_store.base, &config), OK);
	return j;
}

static void
end(struct journal *j)
{
	syncer_stop(syncer);
	journal_destroy(j);
	test_store_close();
}

static void
add(struct journal *j, struct journal_root *root, struct journal_file *f,
    uint64_t ino)
{
	const struct dir_id id = { .ino = ino, .born = 1000 + ino };

	journal_add_file(j, f, root, &id, false);
}

/* What the journal says of the file INO: its bytes that are on the disk; -1: it
 * has no entry. */
static int
synced(const struct journal *j, uint64_t ino)
{
	for (uint32_t n = 1; n < j->n_fresh; n++)
		if (j->slots[n].kind == JOURNAL_FILE &&
		    j->slots[n].file.ino == ino)
			return (int)j->slots[n].file.synced;
	return -1;
}

static unsigned
journals(void)
{
	DIR *d = opendir(scratch_path(""));
	struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(d)) != NULL)
		n += strncmp(e->d_name, JOURNAL_PREFIX,
			 sizeof(JOURNAL_PREFIX) - 1) == 0;
	(void)closedir(d);
	return n;
}

/* The kernel reports once that it could not write bytes. Later rounds say
 * nothing of them, but count for other files. */
TEST(a_round_that_failed_is_not_made_good_by_the_next)
{
	struct relpath *path = path_of("h/s");
	struct journal_root root = { .path = path };
	struct journal_file a, b, c;
	struct journal *j = begin(40 * NS_PER_MS);

	add(j, &root, &a, 1);
	add(j, &root, &b, 2);
	add(j, &root, &c, 3);
	journal_set_length(j, &a, 100);
	journal_set_length(j, &b, 100);
	wait_rounds(j, 2);
	ck_assert_int_eq(synced(j, 1), 100);
	ck_assert_int_eq(synced(j, 2), 100);

	publish(&fails, 1);
	journal_set_length(j, &a, 200);
	wait_rounds(j, 2);
	publish(&fails, 0);
	/* The one that is under way may still fail. */
	wait_rounds(j, 1);
	journal_set_length(j, &a, 300);
	journal_set_length(j, &b, 200);
	wait_rounds(j, 3);
	wait_rounds(j, 3);
	ck_assert_int_eq(synced(j, 1), 100);
	ck_assert_int_eq(synced(j, 2), 200);

	/* Its entry stays; another file's goes. */
	journal_remove_file(j, &a);
	journal_remove_file(j, &b);
	wait_rounds(j, 3);
	ck_assert_int_eq(synced(j, 1), 100);
	ck_assert_int_eq(synced(j, 2), -1);

	/* One that was closed when the round failed. */
	journal_set_length(j, &c, 100);
	publish(&fails, 1);
	journal_remove_file(j, &c);
	wait_rounds(j, 2);
	publish(&fails, 0);
	wait_rounds(j, 3);
	ck_assert_int_eq(synced(j, 3), 0);
	ck_assert_uint_eq(journals(), 1);
	/* Nor does the next process make it good. */
	journal_leave(j);
	ck_assert_uint_eq(journals(), 1);
	end(j);
	relpath_free(path);
}

/* A restart: files that were written last wait for a round that never comes.
 * Rows: closed or open, synced or not. */
TEST_ROWS(a_journal_is_left_when_its_files_are_synced, 4)
{
	const bool is_open = _i / 2 == 1;
	const unsigned kept = (unsigned)_i % 2;
	struct relpath *path = path_of("h/s");
	struct journal_root root = { .path = path };
	struct journal *j = begin(NS_PER_S * 3600);
	struct journal_file a;
	uint64_t n;

	add(j, &root, &a, 1);
	journal_set_length(j, &a, 100);
	if (!is_open)
		journal_remove_file(j, &a);
	publish(&fails, kept);
	n = published(&n_rounds);
	journal_leave(j);
	ck_assert_uint_eq(published(&n_rounds), n + 1);
	ck_assert_uint_eq(journals(), kept);
	if (is_open)
		journal_remove_file(j, &a);
	end(j);
	relpath_free(path);
}

/* Its recovery may come when it writes them already. */
TEST(a_journal_that_stays_cuts_no_file_of_the_next_process)
{
	struct relpath *path;
	struct dir_id id;
	struct journal_root root = { 0 };
	struct journal *j = begin(NS_PER_S * 3600);
	struct journal_file a;
	int fd;

	root.path = path = path_of("h/s");
	ck_assert_int_eq(dir_create(test_store.base, "h"), OK);
	ck_assert_int_eq(dir_create(test_store.base, "h/s"), OK);
	scratch_write("h/s/a", "complete");
	fd = open(scratch_path("h/s/a"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(dir_identify(&id, fd), OK);
	close(fd);
	journal_add_file(j, &a, &root, &id, false);
	journal_set_length(j, &a, strlen("complete"));
	publish(&fails, 1);
	journal_leave(j);
	scratch_write("h/s/a", "complete, and more");
	flock(j->fd, LOCK_UN); /* as if the process had ended */
	ck_assert_uint_eq(recovery_run(test_store.base, NULL), 0);
	ck_assert_uint_eq(journals(), 0);
	ck_assert_str_eq(scratch_read("h/s/a"), "complete, and more");
	journal_remove_file(j, &a);
	end(j);
	relpath_free(path);
}

/* A write that came before a failure, and is noted after it. */
TEST(what_is_noted_after_a_failure_may_be_of_before)
{
	struct relpath *path = path_of("h/s");
	struct journal_root root = { .path = path };
	struct journal_file a;
	struct journal *j = begin(40 * NS_PER_MS);

	add(j, &root, &a, 1);
	publish(&fails, 1);
	while (published(&syncer->failed) == 0)
		(void)usleep(500);
	journal_set_length(j, &a, 100);
	publish(&fails, 0);
	wait_rounds(j, 3);
	wait_rounds(j, 3);
	ck_assert_int_eq(synced(j, 1), 0);
	end(j);
	relpath_free(path);
}

/* With an hour between two rounds, files that come and go get one early: the
 * journal stays small, and in the end it is gone. */
TEST(many_files_do_not_fill_the_journal)
{
	struct relpath *path = path_of("h/s");
	struct journal_root root = { .path = path };
	const uint64_t limit = clock_now_ns() + 20 * NS_PER_S;
	struct journal *j = begin(3600 * NS_PER_S);
	struct journal_file first, f;

	add(j, &root, &first, 1);
	for (uint64_t n = 0; n < 6 * (uint64_t)JOURNAL_CLOSED_MAX; n++) {
		add(j, &root, &f, 10 + n);
		journal_set_length(j, &f, 100);
		journal_remove_file(j, &f);
		if (n % JOURNAL_CLOSED_MAX == JOURNAL_CLOSED_MAX - 1)
			while (j->n_leaving > JOURNAL_CLOSED_MAX / 2) {
				ck_assert_uint_lt(clock_now_ns(), limit);
				(void)usleep(1000);
				(void)journal_tick(j);
			}
	}
	ck_assert_uint_le(j->n_slots, 2 * JOURNAL_CLOSED_MAX);
	ck_assert_int_ge(synced(j, 1), 0);
	journal_remove_file(j, &first);
	end(j);
	relpath_free(path);
}
