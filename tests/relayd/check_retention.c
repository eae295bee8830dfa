/* SPDX-License-Identifier: MIT */
#include "relayd/retention/retention.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/stats/stats.h"
#include "store/dir.h"
#include "store/notes.h"
#include "store/reserve.h"
#include "store/session_dir.h"
#include "store/stored.h"
#include "tests/lib/one_registry.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

#define KIB 1024
#define FILE_BYTES (64 * KIB)

/* The file system: what it says, and says only later. */
static uint64_t told_free, told_total;

int __wrap_fstatvfs(int fd, struct statvfs *sb);

int
__wrap_fstatvfs(int fd, struct statvfs *sb)
{
	(void)fd;
	*sb = (struct statvfs){
		.f_frsize = 1, .f_bavail = told_free, .f_blocks = told_total
	};
	return 0;
}

static uint64_t now_s;
static struct retention *r;
static struct stored_info *answered;

static void
on_answer(struct stored_info *take_i)
{
	ck_assert_ptr_null(answered);
	answered = take_i;
}

static uint64_t keep_at_least_s, clock_jump_s;

static void
set_time(uint64_t s)
{
	now_s = s;
	/* What the tests make was born before it has ended. */
	clock_freeze(s * NS_PER_S, 5000000000 + clock_jump_s + s);
}

static void
start(uint64_t memory)
{
	static char out[256], state[256];

	snprintf(out, sizeof(out), "%s", scratch_path("out"));
	snprintf(state, sizeof(state), "%s", scratch_path("not/yet/there"));
	ck_assert_int_eq(
	    retention_create(&r, one_registry(), out, state, memory, on_answer),
	    OK);
}

static void
begin(void)
{
	keep_at_least_s = clock_jump_s = 0;
	scratch_open();
	ck_assert_int_eq(mkdir(scratch_path("out"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("out/h"), 0700), 0);
	set_time(1000);
	told_free = told_total = UINT64_C(1) << 40;
	start(RETENTION_MEMORY_MAX);
}

static void
end(void)
{
	stored_info_destroy(answered);
	answered = NULL;
	retention_destroy(r);
	scratch_close();
}

/* All that is to be done now. */
static void
work(void)
{
	uint64_t next;

	do {
		next = retention_step(r);
	} while (next <= now_s * NS_PER_S + RETENTION_PAUSE_NS);
	ck_assert_uint_gt(next, now_s * NS_PER_S);
}

static void
pass(unsigned seconds)
{
	for (; seconds > 0; seconds--) {
		set_time(now_s + 1);
		work();
	}
}

/* Tell of out/NAME, which is made with FILES files of 64 KiB. */
static void
make(const char *name, enum stored_kind kind, unsigned files,
    struct stored_dir *dir, bool is_new)
{
	static const char bytes[FILE_BYTES] = "\xc1\xfc\x1f\xc1";
	char path[256];
	struct stored_note n = {
		.row = { .kind = kind,
		    .began_ns = clock_wall_ns(),
		    .ended_ns = kind == STORED_SESSION ? 0 : clock_wall_ns(),
		    .path = name,
		    .host = "h",
		    .session = "s" },
		.is_new = is_new,
		.dir = dir,
	};
	struct dir_id id;
	int fd;

	snprintf(path, sizeof(path), "%s/out/%s", scratch_path(""), name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(dir_identify(&id, fd), OK);
	close(fd);
	n.row.ino = id.ino;
	n.row.born = id.born;
	for (; files > 0; files--) {
		snprintf(path, sizeof(path), "%s/out/%s/f%u", scratch_path(""),
		    name, files);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		ck_assert_int_eq(
		    write(fd, bytes, sizeof(bytes)), (ssize_t)sizeof(bytes));
		close(fd);
	}
	retention_take(r, stored_note_create(&n));
}

/* The file of notes in the state directory. */
static const char *
notes_name(void)
{
	static char name[128];
	struct dir_id id;
	int fd = open(scratch_path("out"), O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(dir_identify(&id, fd), OK);
	close(fd);
	snprintf(name, sizeof(name),
	    "not/yet/there/notes-%" PRIu64 "-%" PRIu64 ".db", id.ino, id.born);
	return name;
}

/* A session that has ended, a second later. */
static void
make_ended(const char *name)
{
	make(name, STORED_SESSION, 4, NULL, true);
	pass(1);
}

static bool
is_there(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "out/%s", name);
	return scratch_exists(path);
}

static void
limit(uint64_t max_use, uint64_t keep_free, uint64_t max_age_s)
{
	const struct retention_limits l = { .max_use = max_use,
		.keep_free = keep_free,
		.max_age_ns = max_age_s * NS_PER_S,
		.keep_at_least_ns = keep_at_least_s * NS_PER_S };

	retention_set_limits(r, &l);
	work();
}

static uint64_t
stat_of(enum stats_row row)
{
	return published_word(&stats_retention()->n[row]);
}

static struct stored_info *
ask(enum stored_request kind, const char *path, bool yes)
{
	struct stored_info *i = stored_info_create();

	stored_info_destroy(answered);
	answered = NULL;
	i->kind = kind;
	i->limit = INFO_MAX;
	i->keeps = i->is_dry = yes;
	i->path = path == NULL ? NULL : strdup(path);
	retention_ask(r, i);
	work();
	ck_assert_ptr_nonnull(answered);
	return answered;
}

EACH_TEST(begin, end)

TEST(the_oldest_go_until_the_limit_holds)
{
	const struct stored_info *i;

	make_ended("h/a");
	make_ended("h/b");
	make_ended("h/c");
	limit(UINT64_C(1) << 40, 0, 0);
	ck_assert(is_there("h/a"));
	i = ask(STORED_VACUUM, NULL, true);
	ck_assert_uint_eq(i->n_items, 0);
	/* Each has a directory beside its 256 KiB. */
	limit(600 * KIB, 0, 0);
	ck_assert(!is_there("h/a") && is_there("h/b") && is_there("h/c"));
	limit(1, 0, 0);
	ck_assert(!is_there("h/b") && !is_there("h/c"));
	stored_info_destroy(answered);
	answered = NULL;
	/* Nothing is noted: no file stays. */
	ck_assert(scratch_exists(notes_name()));
	retention_destroy(r);
	ck_assert(!scratch_exists(notes_name()));
	r = NULL;
}

TEST(a_directory_in_use_stays)
{
	struct stored_dir *user;

	user = stored_dir_create();
	stored_dir_enter(user);
	make("h/a", STORED_SESSION, 4, stored_dir_get(user), true);
	make_ended("h/b");
	limit(1, 0, 0);
	ck_assert(is_there("h/a") && !is_there("h/b"));
	stored_dir_leave(user);
	stored_dir_put(user);
	pass(1);
	ck_assert(!is_there("h/a"));
}

TEST(a_chunk_goes_when_its_session_and_viewers_have_ended)
{
	struct stored_dir *session, *viewer;

	session = stored_dir_create();
	viewer = stored_dir_create();
	stored_dir_enter(session);
	stored_dir_enter(viewer);
	make("h/a", STORED_SESSION, 0, stored_dir_get(session), true);
	make("h/a/archives", STORED_SESSION, 0, NULL, false);
	make("h/a/archives/1", STORED_CHUNK, 4, stored_dir_get(viewer), true);
	make("h/a/archives/2", STORED_CHUNK, 4, NULL, true);
	limit(400 * KIB, 0, 1);
	pass(3);
	ck_assert(is_there("h/a/archives/1") && is_there("h/a/archives/2"));
	stored_dir_leave(session);
	pass(1);
	ck_assert(is_there("h/a/archives/1") && !is_there("h/a/archives/2"));
	stored_dir_leave(viewer);
	pass(2);
	ck_assert(!is_there("h/a"));
	stored_dir_put(session);
	stored_dir_put(viewer);
}

TEST(a_snapshot_goes_while_its_session_runs)
{
	struct stored_dir *session;

	session = stored_dir_create();
	stored_dir_enter(session);
	make("h/a", STORED_SESSION, 0, stored_dir_get(session), true);
	make("h/a/one", STORED_SNAPSHOT, 4, NULL, true);
	pass(2);
	make("h/a/two", STORED_SNAPSHOT, 4, NULL, true);
	limit(0, 0, 1);
	ck_assert(!is_there("h/a/one") && is_there("h/a/two"));
	stored_dir_leave(session);
	stored_dir_put(session);
}

TEST(a_kept_directory_stays_with_all_around_it)
{
	make("h/a", STORED_SESSION, 1, NULL, true);
	make("h/a/1", STORED_CHUNK, 4, NULL, true);
	make("h/a/2", STORED_CHUNK, 4, NULL, true);
	make("h/b", STORED_SESSION, 1, NULL, true);
	make("h/b/1", STORED_CHUNK, 4, NULL, true);
	pass(1);
	ck_assert_uint_eq(ask(STORED_KEEP, "h/a/1", true)->n_items, 1);
	ck_assert_uint_eq(ask(STORED_KEEP, "h/b", true)->n_items, 1);
	ck_assert_int_eq(ask(STORED_KEEP, "h", true)->st, E_NOENT);
	ck_assert_uint_eq(ask(STORED_SUMMARY, NULL, true)->figures.kept, 2);
	limit(1, 0, 1);
	pass(3);
	ck_assert(is_there("h/a/1") && !is_there("h/a/2"));
	ck_assert(is_there("h/b/1") && is_there("h/b"));
	ck_assert(!ask(STORED_KEEP, "h/a/1", false)->items[0].is_kept);
	pass(1);
	ck_assert(!is_there("h/a") && is_there("h/b"));
	ck_assert_uint_eq(ask(STORED_VACUUM, NULL, true)->n_items, 0);
}

/* Another relay, or a session that began there again, has it locked. */
TEST(a_locked_directory_stays)
{
	int fd;

	make_ended("h/a");
	fd = open(scratch_path("out/h/a"), O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(flock(fd, LOCK_SH | LOCK_NB), 0);
	limit(1, 0, 0);
	ck_assert(is_there("h/a"));
	close(fd);
	pass(RETENTION_BUSY_NS / NS_PER_S);
	ck_assert(!is_there("h/a"));
}

/* A file system that reports free space only with its next commit is not taken
 * for full: otherwise all would go. */
TEST(space_that_is_reported_late_is_awaited)
{
	char name[16];

	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "h/%d", i);
		make_ended(name);
	}
	told_free = 1000 * KIB;
	limit(0, 1400 * KIB, 0);
	ck_assert(!is_there("h/0") && !is_there("h/1") && is_there("h/2"));
	pass(3);
	ck_assert(is_there("h/2"));
	told_free = 1520 * KIB;
	pass(30);
	ck_assert(is_there("h/2"));
	/* It fills again; this time deletions free no space. */
	told_free = 1300 * KIB;
	pass(1);
	ck_assert(!is_there("h/2") && is_there("h/3"));
	pass(RETENTION_SETTLE_NS / NS_PER_S);
	ck_assert(!is_there("h/3") && is_there("h/4"));
}

/* Only the file system says what is free. */
TEST(writes_that_fail_delete_nothing)
{
	struct reserve reserve;

	make_ended("h/a");
	limit(0, 1, 0);
	reserve_init(&reserve, -1);
	reserve_disk_full(&reserve);
	pass(2);
	ck_assert(is_there("h/a"));
}

TEST(nothing_young_goes)
{
	make_ended("h/a");
	keep_at_least_s = 10;
	make_ended("h/b");
	told_free = 0;
	limit(1, 1, 0);
	pass(7);
	ck_assert(is_there("h/a") && is_there("h/b"));
	ck_assert_uint_eq(ask(STORED_VACUUM, NULL, true)->n_items, 0);
	limit(0, 0, 10);
	pass(1);
	ck_assert(is_there("h/a"));
	ck_assert_uint_eq(stat_of(STAT_deleted_youngest), 0);
	pass(2);
	ck_assert(!is_there("h/a") && is_there("h/b"));
	ck_assert_uint_eq(stat_of(STAT_deleted_youngest), 12);
}

/* The wall clock is set forward by a month. */
TEST(a_clock_that_jumps_makes_nothing_old)
{
	keep_at_least_s = 10;
	make_ended("h/a");
	clock_jump_s = 30 * 24 * 3600;
	pass(1);
	told_free = 0;
	limit(1, 1, 3600);
	pass(7);
	ck_assert(is_there("h/a"));
	pass(2);
	ck_assert(!is_there("h/a"));
}

static unsigned
lines_of_log(void)
{
	FILE *f = fopen(scratch_path("log"), "r");
	unsigned n = 0;
	int c;

	ck_assert_ptr_nonnull(f);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

/* One session that runs is larger than the limit, or something else fills the
 * disk: deleting the history would not help. */
TEST(nothing_goes_when_that_is_not_enough)
{
	unsigned used = 0, deletable = 0;
	struct stored_dir *runs;

	make_ended("h/a");
	make_ended("h/b");
	runs = stored_dir_create();
	stored_dir_enter(runs);
	make("h/runs", STORED_SESSION, 0, stored_dir_get(runs), true);
	published_count(&runs->bytes, 700 * KIB);
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	limit(600 * KIB, 0, 0);
	pass(20);
	ck_assert(is_there("h/a") && is_there("h/b"));
	ck_assert_uint_eq(ask(STORED_VACUUM, NULL, true)->n_items, 0);
	ck_assert_uint_eq(lines_of_log(), 1);
	ck_assert_int_eq(sscanf(scratch_read("log"),
			     "%*s %*s --max-use of 614400 bytes cannot be "
			     "reached, so nothing is deleted for it: %u bytes "
			     "are used, %*u are free, %*[^0-9]%u;",
			     &used, &deletable),
	    2);
	ck_assert(used - deletable == 700 * KIB && deletable >= 8 * FILE_BYTES);
	told_free = 100 * KIB;
	limit(0, 700 * KIB, 0);
	pass(20);
	ck_assert(is_there("h/a") && is_there("h/b"));
	ck_assert_uint_eq(ask(STORED_VACUUM, NULL, true)->n_items, 0);
	ck_assert_uint_eq(lines_of_log(), 2);
	/* What can be reached is. */
	limit(1000 * KIB, 700 * KIB, 0);
	ck_assert(!is_there("h/a") && is_there("h/b"));
	limit(600 * KIB, 300 * KIB, 0);
	pass(1);
	ck_assert(is_there("h/b"));
	stored_dir_leave(runs);
	stored_dir_put(runs);
}

/* The directory of a session that runs lies in one that has finished; this
 * relay did not make it, and so has no note of it. */
TEST_ROWS(a_session_inside_keeps_all_around_it, 3)
{
	int fd;

	make_ended("h/a");
	ck_assert_int_eq(mkdir(scratch_path("out/h/a/deep"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("out/h/a/deep/live"), 0700), 0);
	scratch_write("out/h/a/deep/live/metadata", "live");
	fd = open(scratch_path("out/h/a/deep/live"), O_RDONLY | O_DIRECTORY);
	if (_i == 0) {
		ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	} else if (_i == 1) {
		session_dir_show_claim(fd);
	} else {
		close(fd);
		scratch_remove("out/h/a/deep/live");
		make("h/b", STORED_SESSION, 1, NULL, true);
		ck_assert_int_eq(rename(scratch_path("out/h/b"),
				     scratch_path("out/h/a/deep/live")),
		    0);
		make("h/a/deep/b", STORED_SESSION, 1, NULL, true);
		ask(STORED_KEEP, "h/a/deep/b", true);
	}
	limit(1, 0, 1);
	pass(2 * RETENTION_BUSY_NS / NS_PER_S);
	ck_assert(is_there("h/a/f1") && is_there("h/a/f4"));
	if (_i == 2) {
		ask(STORED_KEEP, "h/a/deep/b", false);
	} else {
		ck_assert(is_there("h/a/deep/live/metadata"));
		close(fd);
	}
	pass(2 * RETENTION_BUSY_NS / NS_PER_S);
	ck_assert(!is_there("h/a"));
}

/* Another program made it after the end: one warning, and fewer tries. */
TEST(a_newer_directory_inside_is_reported_once)
{
	make_ended("h/a");
	clock_freeze(now_s * NS_PER_S, 1000);
	make("h/old", STORED_SESSION, 4, NULL, true);
	work();
	ck_assert_int_eq(mkdir(scratch_path("out/h/old/mine"), 0700), 0);
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	limit(0, 0, 1);
	pass(2);
	ck_assert(is_there("h/old/f1"));
	ck_assert_ptr_nonnull(strstr(scratch_read("log"),
	    "h/old: not deleted: its directory \"mine\" was created after the "
	    "trace had ended; "));
	pass(2 * RETENTION_RETRY_NS / NS_PER_S);
	ck_assert_uint_eq(lines_of_log(), 2); /* h/a was deleted */
	ck_assert(is_there("h/old/f1") && !is_there("h/a"));
	scratch_remove("out/h/old/mine");
	pass(RETENTION_RETRY_NS / NS_PER_S);
	ck_assert(!is_there("h/old"));
}

TEST(files_of_others_stay_where_they_are)
{
	make_ended("h/a");
	scratch_write("out/h/a/mine.txt", "mine");
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	limit(1, 0, 0);
	pass(2);
	ck_assert(is_there("h/a/mine.txt") && !is_there("h/a/f1"));
	ck_assert_uint_eq(ask(STORED_LIST, NULL, false)->n_items, 0);
	ck_assert_uint_eq(lines_of_log(), 2);
	ck_assert_ptr_nonnull(strstr(scratch_read("log"),
	    "h/a: files that the relay did not create are left there: 1\n"));
	pass(RETENTION_RETRY_NS / NS_PER_S);
	ck_assert_uint_eq(lines_of_log(), 2);
}

/* It says what the next step does, with all limits at once. */
TEST(the_dry_run_is_the_real_thing)
{
	char would[4][32] = { "" };
	char name[16];
	unsigned n;

	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "h/%d", i);
		make_ended(name);
	}
	(void)ask(STORED_KEEP, "h/1", true);
	/* The wall clock stands still while the answer is asked for. */
	told_free = 1000 * KIB;
	for (int i = 0; i < 2; i++) {
		const struct retention_limits l = { .max_use = 1600 * KIB,
			.keep_free = 1300 * KIB,
			.max_age_ns = 6 * NS_PER_S,
			.keep_at_least_ns = 5 * NS_PER_S };
		struct stored_info *a = stored_info_create();

		retention_set_limits(r, &l);
		stored_info_destroy(answered);
		answered = NULL;
		a->kind = STORED_VACUUM;
		a->is_dry = i == 0;
		retention_ask(r, a);
		if (i == 1)
			work();
		ck_assert_ptr_nonnull(answered);
		n = answered->n_items;
		ck_assert_uint_eq(n, 2);
		for (unsigned k = 0; k < n; k++) {
			if (i == 1)
				ck_assert_str_eq(
				    would[k], answered->items[k].path);
			snprintf(would[k], sizeof(would[k]), "%s",
			    answered->items[k].path);
		}
	}
	ck_assert(!is_there("h/0") && is_there("h/1") && !is_there("h/2"));
	ck_assert(is_there("h/3"));
}

/* The next start knows the same, whatever this one was doing. */
TEST(the_notes_are_enough)
{
	const struct stored_info *i;

	make("h/a", STORED_SESSION, 4, NULL, true);
	make_ended("h/b");
	(void)ask(STORED_KEEP, "h/b", true);
	stored_info_destroy(answered);
	answered = NULL;
	retention_destroy(r);
	start(RETENTION_MEMORY_MAX);
	work();
	i = ask(STORED_LIST, NULL, false);
	ck_assert_uint_eq(i->n_items, 2);
	ck_assert_str_eq(i->items[1].path, "h/b");
	ck_assert(i->items[1].is_kept && !i->items[0].is_kept);
	ck_assert(!i->items[0].is_active);
	ck_assert_uint_gt(i->items[0].bytes, 4 * FILE_BYTES - 1);
	stored_info_destroy(answered);
	answered = NULL;
	limit(300 * KIB, 0, 0);
	ck_assert(!is_there("h/a") && is_there("h/b"));
}

TEST(notes_that_fail_or_go_are_written_again)
{
	struct rlimit no_room;

	make_ended("h/a");
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &no_room), 0);
	no_room.rlim_cur = 4096; /* the log is shorter */
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &no_room), 0);
	make("h/b", STORED_SESSION, 0, NULL, true);
	pass(20);
	no_room.rlim_cur = no_room.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &no_room), 0);
	pass(2);
	ck_assert_uint_eq(lines_of_log(), 1);
	ck_assert_int_eq(unlink(scratch_path(notes_name())), 0);
	pass(2);
	retention_destroy(r);
	start(RETENTION_MEMORY_MAX);
	work();
	ck_assert_uint_eq(ask(STORED_LIST, NULL, false)->n_items, 2);
}

static const char *
last_log(void)
{
	static char line[1024];
	FILE *f = fopen(scratch_path("log"), "r");

	line[0] = '\0';
	while (fgets(line, sizeof(line), f) != NULL)
		;
	fclose(f);
	return line;
}

/* A second relay with this output directory deletes nothing, until the first
 * has ended. */
/* Somebody removed the state directory; in the sandbox a new one is of no
 * use. */
TEST(without_its_directory_nothing_is_deleted)
{
	make_ended("h/a");
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	scratch_remove("not/yet/there");
	pass(2);
	limit(1, 0, 1);
	make_ended("h/b");
	pass(3);
	ck_assert(is_there("h/a") && is_there("h/b"));
	ck_assert_ptr_nonnull(
	    strstr(scratch_read("log"), "; no trace is deleted: restart the"));
}

TEST(one_relay_has_the_notes)
{
	struct retention *first;

	make_ended("h/a");
	first = r;
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	start(RETENTION_MEMORY_MAX);
	limit(1, 0, 0);
	make_ended("h/b");
	pass(10);
	ck_assert(is_there("h/a") && is_there("h/b"));
	ck_assert_uint_eq(lines_of_log(), 1);
	ck_assert_ptr_nonnull(strstr(last_log(), "another relay"));
	retention_destroy(first);
	make_ended("h/c");
	ck_assert(!is_there("h/a") && is_there("h/b") && !is_there("h/c"));
}

/* Without a state directory that can be written: said once for each set of
 * limits, and as an error only when there are limits. */
TEST(without_notes_limits_are_refused)
{
	retention_destroy(r);
	scratch_remove("not");
	scratch_write("not", "x");
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	log_set_level(LOG_INFO);
	start(RETENTION_MEMORY_MAX);
	make_ended("h/a");
	pass(10);
	ck_assert_uint_eq(lines_of_log(), 1);
	ck_assert_ptr_nonnull(strstr(last_log(), "retention is not possible"));
	limit(1, 0, 0);
	make_ended("h/b");
	pass(10);
	ck_assert_uint_eq(lines_of_log(), 2);
	ck_assert_ptr_nonnull(strstr(last_log(), "retention is refused"));
	ck_assert_ptr_nonnull(strstr(last_log(), "--state-dir"));
	ck_assert(is_there("h/a") && is_there("h/b"));
	ck_assert_int_eq(ask(STORED_LIST, NULL, false)->st, E_REFUSED);
	ck_assert_int_eq(ask(STORED_KEEP, "h/a", true)->st, E_REFUSED);
	ck_assert_int_eq(ask(STORED_SUMMARY, NULL, false)->st, OK);
}

/* The notes go with the output directory, and follow it when it is renamed. */
TEST(notes_follow_the_output_directory)
{
	char old[128];

	make_ended("h/a");
	snprintf(old, sizeof(old), "%s", notes_name());
	ck_assert(scratch_exists(old));
	ck_assert_int_eq(rename(scratch_path("out"), scratch_path("moved")), 0);
	pass(2);
	ck_assert(scratch_exists(old));
	ck_assert_int_eq(rename(scratch_path("moved"), scratch_path("out")), 0);
	pass(2);
	ck_assert_uint_eq(
	    ask(STORED_SUMMARY, NULL, false)->figures.directories, 1);
	stored_info_destroy(answered);
	answered = NULL;
	scratch_remove("out");
	ck_assert_int_eq(mkdir(scratch_path("out"), 0700), 0);
	pass(1);
	ck_assert(!scratch_exists(old));
}

/* What is not noted stays, and is noted again when there is memory for it. */
TEST(notes_have_a_limit_of_memory)
{
	retention_destroy(r);
	start(1);
	work();
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	make_ended("h/a");
	make_ended("h/b");
	make_ended("h/c");
	ck_assert_uint_eq(
	    ask(STORED_SUMMARY, NULL, false)->figures.directories, 1);
	ck_assert_uint_eq(lines_of_log(), 1);
	/* The next start has all that was noted, and no memory for more. */
	retention_destroy(r);
	start(1);
	make_ended("h/d");
	ck_assert_uint_eq(
	    ask(STORED_SUMMARY, NULL, false)->figures.directories, 1);
	limit(1, 0, 0);
	ck_assert(!is_there("h/a") && is_there("h/b") && is_there("h/d"));
	make_ended("h/e");
	pass(1);
	ck_assert(!is_there("h/e") && is_there("h/b"));
}

/* 100,000 directories: what a start, a list and a look take is linear. */
TEST(many_are_no_trouble)
{
	const unsigned n = 100000;
	struct notes_row row = { .born = 1, .bytes = 1, .host = "h" };
	struct notes_place place = { .output = "/" };
	struct notes *notes;
	char path[64];
	double cpu;
	int fd;

	fd = open(scratch_path("out"), O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(dir_identify(&place.id, fd), OK);
	close(fd);
	place.state_dir = scratch_path("not/yet/there");
	ck_assert_int_eq(notes_open(&notes, &place, NULL, NULL), OK);
	row.path = row.name = row.session = path;
	for (unsigned i = 1; i <= n; i++) {
		snprintf(path, sizeof(path), "h/session-%u", i);
		row.ino = row.ended_ns = i;
		notes_put(notes, &row);
	}
	ck_assert_int_eq(notes_flush(notes, false), OK);
	notes_close(notes);
	cpu = clock_cpu_s();
	work();
	ck_assert_uint_gt(
	    ask(STORED_SUMMARY, NULL, false)->figures.directories, n - 1000);
	/* None of them is there. */
	limit(1, 0, 0);
	ck_assert_uint_eq(
	    ask(STORED_SUMMARY, NULL, false)->figures.directories, 0);
	ck_assert_double_lt(clock_cpu_s() - cpu, 20);
}
