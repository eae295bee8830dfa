/* SPDX-License-Identifier: MIT */
#include "relayd/retention/retention.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "store/dir.h"
#include "store/notes.h"
#include "store/room.h"
#include "store/stored.h"
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
on_answer(void *arg, struct stored_info *take_i)
{
	ck_assert_ptr_eq(arg, &now_s);
	ck_assert_ptr_null(answered);
	answered = take_i;
}

static void
set_time(uint64_t s)
{
	now_s = s;
	clock_freeze(s * NS_PER_S, 1000000 + s);
}

static void
start(uint64_t memory)
{
	static char out[256];

	snprintf(out, sizeof(out), "%s", scratch_path("out"));
	ck_assert_int_eq(retention_create(&r, out, memory), OK);
	retention_on_answer(r, on_answer, &now_s);
}

static void
begin(void)
{
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
	retention_destroy(r);
	scratch_close();
}

/* All that is to be done now. */
static void
work(void)
{
	uint64_t next;

	do {
		next = retention_turn(r);
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
	static const char bytes[FILE_BYTES];
	char path[256];
	struct stored_note n = {
		.kind = kind,
		.is_new = is_new,
		.dir = dir,
		.began_ns = clock_wall_ns(),
		.ended_ns = kind == STORED_SESSION ? 0 : clock_wall_ns(),
		.path = name,
		.host = "h",
		.session = "s",
	};
	int fd;

	snprintf(path, sizeof(path), "%s/out/%s", scratch_path(""), name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(dir_identify(&n.id, fd), OK);
	close(fd);
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
		.max_age_ns = max_age_s * NS_PER_S };

	retention_set_limits(r, &l);
	work();
}

static struct stored_info *
ask(enum stored_wish wish, const char *path, bool yes)
{
	struct stored_info *i = stored_info_create();

	stored_info_destroy(answered);
	answered = NULL;
	i->wish = wish;
	i->limit = STORED_ITEMS_MAX;
	i->keeps = i->is_dry = yes;
	i->path = path == NULL ? NULL : strdup(path);
	retention_ask(r, i);
	work();
	ck_assert_ptr_nonnull(answered);
	return answered;
}

START_TEST(the_oldest_go_until_the_limit_holds)
{
	const struct stored_info *i;

	begin();
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
	ck_assert(!is_there(NOTES_NAME));
	stored_info_destroy(answered);
	answered = NULL;
	end();
}
END_TEST

START_TEST(who_is_used_stays)
{
	struct stored_dir *user;

	begin();
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
	end();
}
END_TEST

START_TEST(a_chunk_in_which_a_viewer_stands_stays)
{
	struct stored_dir *session, *viewer;

	begin();
	session = stored_dir_create();
	viewer = stored_dir_create();
	stored_dir_enter(session);
	stored_dir_enter(viewer);
	make("h/a", STORED_SESSION, 0, stored_dir_get(session), true);
	make("h/a/archives", STORED_SESSION, 0, NULL, false);
	make("h/a/archives/1", STORED_CHUNK, 4, stored_dir_get(viewer), true);
	make("h/a/archives/2", STORED_CHUNK, 4, NULL, true);
	limit(1, 0, 0);
	ck_assert(is_there("h/a/archives/1") && !is_there("h/a/archives/2"));
	stored_dir_leave(viewer);
	pass(RETENTION_BUSY_NS / NS_PER_S);
	ck_assert(is_there("h/a/archives") && !is_there("h/a/archives/1"));
	stored_dir_leave(session);
	pass(1);
	ck_assert(!is_there("h/a"));
	stored_dir_put(session);
	stored_dir_put(viewer);
	end();
}
END_TEST

START_TEST(who_is_kept_stays_with_all_around_it)
{
	begin();
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
	stored_info_destroy(answered);
	answered = NULL;
	end();
}
END_TEST

/* Another relay, or a session that began there again, has it locked. */
START_TEST(who_is_locked_stays)
{
	int fd;

	begin();
	make_ended("h/a");
	fd = open(scratch_path("out/h/a"), O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(flock(fd, LOCK_SH | LOCK_NB), 0);
	limit(1, 0, 0);
	ck_assert(is_there("h/a"));
	close(fd);
	pass(RETENTION_BUSY_NS / NS_PER_S);
	ck_assert(!is_there("h/a"));
	end();
}
END_TEST

START_TEST(age_counts_from_the_end)
{
	begin();
	make_ended("h/a");
	pass(5);
	make_ended("h/b");
	limit(0, 0, 7);
	ck_assert(is_there("h/a") && is_there("h/b"));
	pass(2);
	ck_assert(!is_there("h/a") && is_there("h/b"));
	pass(6);
	ck_assert(!is_there("h/b"));
	end();
}
END_TEST

/* A file system that tells of room only with its next commit is not taken for
 * full: otherwise all would go. */
START_TEST(room_that_is_told_late_is_awaited)
{
	char name[16];

	begin();
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
	/* It fills again; this time nothing that goes makes room. */
	told_free = 1300 * KIB;
	pass(1);
	ck_assert(!is_there("h/2") && is_there("h/3"));
	pass(RETENTION_SETTLE_NS / NS_PER_S);
	ck_assert(!is_there("h/3") && is_there("h/4"));
	end();
}
END_TEST

/* With a quota the file system has room, and nothing can be written. */
START_TEST(writes_that_find_no_room_get_some)
{
	begin();
	make_ended("h/a");
	make_ended("h/b");
	make_ended("h/c");
	limit(0, 1, 0);
	published_add(room_wanted(), 5);
	pass(1);
	ck_assert(!is_there("h/a") && is_there("h/b"));
	published_add(room_wanted(), 5);
	pass(RETENTION_SETTLE_NS / NS_PER_S + 1);
	ck_assert(is_there("h/b"));
	published_add(room_wanted(), 1);
	pass(1);
	ck_assert(!is_there("h/b") && is_there("h/c"));
	/* Who does not want it keeps all. */
	limit(0, 0, 0);
	pass(RETENTION_SETTLE_NS / NS_PER_S + 1);
	published_add(room_wanted(), 1);
	pass(1);
	ck_assert(is_there("h/c"));
	end();
}
END_TEST

START_TEST(what_was_there_before_is_not_ours)
{
	begin();
	make("h/a", STORED_SESSION, 4, NULL, false);
	limit(1, 0, 0);
	pass(2);
	ck_assert(is_there("h/a"));
	ck_assert_uint_eq(ask(STORED_LIST, NULL, false)->n_items, 0);
	stored_info_destroy(answered);
	answered = NULL;
	end();
}
END_TEST

/* The names of directories are used again. */
START_TEST(one_that_was_removed_is_forgotten)
{
	begin();
	make_ended("h/a");
	scratch_remove("out/h/a");
	make_ended("h/a");
	ck_assert_uint_eq(ask(STORED_LIST, NULL, false)->n_items, 1);
	scratch_remove("out/h/a");
	pass(1);
	ck_assert_uint_eq(ask(STORED_LIST, NULL, false)->n_items, 0);
	stored_info_destroy(answered);
	answered = NULL;
	end();
}
END_TEST

/* The next start knows the same, whatever this one was doing. */
START_TEST(the_notes_are_enough)
{
	const struct stored_info *i;

	begin();
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
	limit(1, 0, 0);
	ck_assert(!is_there("h/a") && is_there("h/b"));
	end();
}
END_TEST

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

START_TEST(notes_that_cannot_be_written_are_told_once)
{
	begin();
	make_ended("h/a");
	/* Somebody removes them, and new ones cannot be made. */
	ck_assert_int_eq(unlink(scratch_path("out/" NOTES_NAME)), 0);
	ck_assert_int_eq(mkdir(scratch_path("out/" NOTES_NAME ".new"), 0), 0);
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	pass(20);
	ck_assert_uint_eq(lines_of_log(), 1);
	ck_assert_int_eq(rmdir(scratch_path("out/" NOTES_NAME ".new")), 0);
	pass(2);
	ck_assert(is_there(NOTES_NAME));
	ck_assert_uint_eq(lines_of_log(), 1);
	end();
}
END_TEST

/* What is not noted stays, and is noted again when there is memory for it. */
START_TEST(notes_have_a_limit_of_memory)
{
	begin();
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
	stored_info_destroy(answered);
	answered = NULL;
	end();
}
END_TEST

/* 100,000 directories: what a start, a list and a look take is linear. */
START_TEST(many_are_no_trouble)
{
	const unsigned n = 100000;
	struct notes_line l = {
		.kind = NOTES_MADE, .host = "h", .session = "s"
	};
	struct notes *notes;
	char path[64];
	double cpu;
	int base;

	begin();
	base = open(scratch_path("out"), O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(notes_open(&notes, base, NULL, NULL), OK);
	for (unsigned i = 1; i <= n; i++) {
		snprintf(path, sizeof(path), "h/session-%u", i);
		l = (struct notes_line){ .kind = NOTES_MADE,
			.ino = i,
			.path = path,
			.host = "h",
			.session = "s" };
		notes_add(notes, &l);
		l = (struct notes_line){
			.kind = NOTES_ENDED, .ino = i, .ended_ns = i, .bytes = 1
		};
		notes_add(notes, &l);
	}
	ck_assert_int_eq(notes_flush(notes, false), OK);
	notes_close(notes);
	close(base);
	cpu = clock_cpu_s();
	work();
	ck_assert_uint_gt(
	    ask(STORED_SUMMARY, NULL, false)->figures.directories, n - 1000);
	/* None of them is there. */
	limit(1, 0, 0);
	ck_assert_uint_eq(
	    ask(STORED_SUMMARY, NULL, false)->figures.directories, 0);
	ck_assert_double_lt(clock_cpu_s() - cpu, 20);
	ck_assert(!is_there(NOTES_NAME));
	stored_info_destroy(answered);
	answered = NULL;
	end();
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ the_oldest_go_until_the_limit_holds, 0, 0 },
		{ notes_have_a_limit_of_memory, 0, 0 },
		{ who_is_used_stays, 0, 0 },
		{ a_chunk_in_which_a_viewer_stands_stays, 0, 0 },
		{ who_is_kept_stays_with_all_around_it, 0, 0 },
		{ who_is_locked_stays, 0, 0 },
		{ age_counts_from_the_end, 0, 0 },
		{ room_that_is_told_late_is_awaited, 0, 0 },
		{ writes_that_find_no_room_get_some, 0, 0 },
		{ what_was_there_before_is_not_ours, 0, 0 },
		{ one_that_was_removed_is_forgotten, 0, 0 },
		{ the_notes_are_enough, 0, 0 },
		{ notes_that_cannot_be_written_are_told_once, 0, 0 },
		{ many_are_no_trouble, 0, 0 },
	};

	return unit_run("retention", units, ARRAY_LEN(units));
}
