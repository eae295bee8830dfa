/* SPDX-License-Identifier: MIT */
#include "store/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/relpath.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/shelf.h"

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

static struct shelf shelf;
static bool has_no_locks;

int
__wrap_flock(int fd, int operation)
{
	if (!has_no_locks)
		return __real_flock(fd, operation);
	errno = EBADF; /* as NFS says of directories */
	return -1;
}

static struct session_dir *
claim(const char *text, bool is_snapshot)
{
	struct relpath *wanted = path_of(text);
	struct session_dir *d;
	enum status st = session_dir_claim(
	    &d, shelf.store, wanted, is_snapshot);

	relpath_free(wanted);
	ck_assert_msg((st == OK) == (d != NULL), "%s", status_text(st));
	return d;
}

static void
expect(const char *text, bool is_snapshot, const char *path)
{
	struct session_dir *d = claim(text, is_snapshot);

	ck_assert_ptr_nonnull(d);
	ck_assert_str_eq(d->path->s, path);
	ck_assert_str_eq(d->wanted->s, text);
	session_dir_put(d);
}

START_TEST(a_new_or_empty_directory_is_taken)
{
	shelf_open(&shelf, 10);
	expect("h/new", false, "h/new");
	expect("h/new", false, "h/new"); /* empty, and free again */
	ck_assert_int_eq(mkdir(scratch_path("h/empty"), 0700), 0);
	expect("h/empty", false, "h/empty");
	expect("a/b/c/d", false, "a/b/c/d");
	shelf_close(&shelf);
}
END_TEST

START_TEST(one_with_content_is_not)
{
	shelf_open(&shelf, 10);
	expect("h/s", false, "h/s");
	scratch_write("h/s/file", "x");
	expect("h/s", false, "h/s-1");
	scratch_write("h/s-1/file", "x");
	expect("h/s", false, "h/s-2");
	expect("h/s", true, "h/s"); /* snapshots have folders of their own */
	ck_assert_str_eq(scratch_read("h/s/file"), "x");
	shelf_close(&shelf);
}
END_TEST

START_TEST(what_is_no_directory_is_passed_over)
{
	shelf_open(&shelf, 10);
	expect("h/x", false, "h/x");
	scratch_write("h/s", "a file");
	ck_assert_int_eq(symlink("x", scratch_path("h/s-1")), 0);
	ck_assert_int_eq(symlink("nowhere", scratch_path("h/s-2")), 0);
	expect("h/s", _i == 1, "h/s-3");
	/* a parent that is none */
	ck_assert_ptr_null(claim("h/s/below", false));
	ck_assert_ptr_null(claim("h/s-1/below", false));
	shelf_close(&shelf);
}
END_TEST

START_TEST(two_claims_do_not_meet)
{
	struct session_dir *a, *b, *c;

	shelf_open(&shelf, 10);
	a = claim("h/s", false);
	b = claim("h/s", false);
	ck_assert_str_eq(a->path->s, "h/s");
	ck_assert_str_eq(b->path->s, "h/s-1");
	c = claim("h/s", true);
	ck_assert_str_eq(c->path->s, "h/s-2");
	session_dir_put(a);
	expect("h/s", false, "h/s");
	session_dir_put(b);
	session_dir_put(c);
	a = claim("h/snap", true);
	b = claim("h/snap", true);
	ck_assert_str_eq(b->path->s, "h/snap");
	expect("h/snap", false, "h/snap-1");
	session_dir_put(session_dir_get(a));
	expect("h/snap", false, "h/snap-1");
	session_dir_put(a);
	session_dir_put(b);
	expect("h/snap", false, "h/snap");
	session_dir_put(NULL);
	shelf_close(&shelf);
}
END_TEST

START_TEST(nor_do_those_of_two_processes)
{
	int ready[2], done[2], status;
	pid_t pid;
	char c;

	shelf_open(&shelf, 10);
	ck_assert_int_eq(pipe(ready) | pipe(done), 0);
	pid = fork();
	if (pid == 0) {
		struct session_dir *d = claim("h/s", false);

		c = strcmp(d->path->s, "h/s") == 0 ? 'y' : 'n';
		(void)!write(ready[1], &c, 1);
		close(done[1]);
		(void)!read(done[0], &c, 1);
		_exit(0); /* without a word */
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(c, 'y');
	expect("h/s", false, "h/s-1");
	close(done[0]);
	close(done[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	expect("h/s", false, "h/s");
	shelf_close(&shelf);
}
END_TEST

START_TEST(suffixes_end)
{
	char path[32];

	shelf_open(&shelf, 10);
	expect("s", false, "s");
	scratch_write("s/x", "x");
	for (int i = 1; i <= SESSION_DIR_SUFFIX_MAX; i++) {
		(void)snprintf(path, sizeof(path), "s-%d", i);
		scratch_write(path, "taken");
	}
	ck_assert_int_eq(log_open(scratch_path("log")), OK);
	ck_assert_ptr_null(claim("s", false));
	ck_assert_ptr_nonnull(strstr(scratch_read("log"),
	    "error session directory s: no name is free, up to s-999\n"));
	ck_assert_int_eq(unlink(scratch_path("s-999")), 0);
	expect("s", false, "s-999");
	shelf_close(&shelf);
}
END_TEST

/* All who share the removed one get the same new one. */
START_TEST(a_removed_one_is_made_again_once)
{
	const bool is_snapshot = _i == 1;
	struct session_dir *a, *b, *c;

	shelf_open(&shelf, 10);
	a = claim("h/s", is_snapshot);
	b = session_dir_get(a);
	ck_assert_int_eq(session_dir_renew(&a), OK);
	ck_assert_ptr_eq(a, b); /* it is there */
	for (int round = 0; round < 3; round++) {
		scratch_remove(round == 1 ? "h" : "h/s");
		ck_assert_int_eq(session_dir_renew(&a), OK);
		ck_assert_ptr_ne(a, b);
		ck_assert_str_eq(a->path->s, "h/s");
		ck_assert_str_eq(a->wanted->s, "h/s");
		ck_assert(a->is_shared == is_snapshot);
		c = session_dir_get(b);
		ck_assert_int_eq(session_dir_renew(&c), OK);
		ck_assert_ptr_eq(c, a);
		session_dir_put(c);
		if (round < 2) /* the last one is found from the first */
			continue;
		session_dir_put(b);
		b = session_dir_get(a);
	}
	expect("h/s", is_snapshot, is_snapshot ? "h/s" : "h/s-1");
	session_dir_put(a);
	session_dir_put(b);
	shelf_close(&shelf);
}
END_TEST

/* PATH, and what it is in. */
static void
make_folders(const char *path)
{
	char text[64];

	for (const char *s = path; s != NULL && *s != '\0';) {
		s += strcspn(s, "/");
		(void)snprintf(
		    text, sizeof(text), "%.*s", (int)(s - path), path);
		ck_assert(
		    mkdir(scratch_path(text), 0700) == 0 || errno == EEXIST);
		s += *s == '/';
	}
}

/* A directory of another session is not entered: each of them on the way gets a
 * suffix, and no folder is left out. */
START_TEST(ancestors_that_are_taken_get_suffixes)
{
	shelf_open(&shelf, 10);
	make_folders("h/a/ust");
	expect("h/a/b/c", false, "h/a-1/b/c");
	make_folders("h/a-1/b/ust");
	expect("h/a/b/c", false, "h/a-1/b-1/c");
	make_folders("h/a-1/kernel");
	expect("h/a/b/c", false, "h/a-2/b/c");
	make_folders("h/a-2/b/kernel");
	make_folders("h/a-2/b-1/kernel");
	expect("h/a/b/c/d", false, "h/a-2/b-2/c/d");
	shelf_close(&shelf);
}
END_TEST

START_TEST(a_removed_one_that_is_taken_gets_a_suffix)
{
	struct session_dir *d;

	shelf_open(&shelf, 10);
	d = claim("h/s", false);
	scratch_remove("h/s");
	ck_assert_int_eq(mkdir(scratch_path("h/s"), 0700), 0);
	scratch_write("h/s/file", "x");
	ck_assert_int_eq(session_dir_renew(&d), OK);
	ck_assert_str_eq(d->path->s, "h/s-1");
	ck_assert_str_eq(d->wanted->s, "h/s");
	scratch_remove("h");
	scratch_write("h", "no folder");
	ck_assert_int_ne(session_dir_renew(&d), OK);
	ck_assert_str_eq(d->path->s, "h/s-1");
	session_dir_put(d);
	ck_assert_int_eq(session_dir_base(&d, shelf.store), OK);
	ck_assert_int_eq(session_dir_renew(&d), OK); /* nothing to be done */
	session_dir_put(d);
	shelf_close(&shelf);
}
END_TEST

START_TEST(the_base_is_shared_and_has_no_path)
{
	struct session_dir *a, *b;

	shelf_open(&shelf, 10);
	ck_assert_int_eq(session_dir_base(&a, shelf.store), OK);
	ck_assert_int_eq(session_dir_base(&b, shelf.store), OK);
	ck_assert_ptr_null(a->path);
	ck_assert_ptr_null(a->journal_root.path);
	session_dir_put(a);
	session_dir_put(b);
	shelf_close(&shelf);
}
END_TEST

#define CLAIMS 3000

/* How many of CLAIMS directories below one host did not get their name? */
static int
count_suffixes(char who)
{
	struct session_dir *d;
	int count = 0;
	char text[32];

	for (int i = 0; i < CLAIMS; i++) {
		snprintf(text, sizeof(text), "h/%c-%d", who, i);
		d = claim(text, false);
		if (strcmp(d->path->s, text) != 0)
			count++;
		session_dir_put(d);
	}
	return count;
}

/* Each looks at the folder of the host while the other one does. */
START_TEST(claims_side_by_side_do_not_meet)
{
	int status, count;
	pid_t pid;

	shelf_open(&shelf, 10);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(count_suffixes('a') != 0);
	count = count_suffixes('b');
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(count, 0);
	shelf_close(&shelf);
}
END_TEST

START_TEST(without_locks_a_session_gets_a_new_directory)
{
	struct session_dir *first;

	shelf_open(&shelf, 10);
	has_no_locks = true;
	first = claim("h/s", false);
	ck_assert_str_eq(first->path->s, "h/s");
	expect("h/s", false, "h/s-1"); /* empty, but perhaps somebody's */
	expect("h/snapshot", true, "h/snapshot");
	expect("h/snapshot", true, "h/snapshot");
	session_dir_put(first);
	has_no_locks = false;
	shelf_close(&shelf);
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ a_new_or_empty_directory_is_taken, 0, 0 },
		{ one_with_content_is_not, 0, 0 },
		{ what_is_no_directory_is_passed_over, 2, 0 },
		{ two_claims_do_not_meet, 0, 0 },
		{ nor_do_those_of_two_processes, 0, 0 },
		{ suffixes_end, 0, 0 },
		{ a_removed_one_is_made_again_once, 2, 0 },
		{ ancestors_that_are_taken_get_suffixes, 0, 0 },
		{ a_removed_one_that_is_taken_gets_a_suffix, 0, 0 },
		{ the_base_is_shared_and_has_no_path, 0, 0 },
		{ claims_side_by_side_do_not_meet, 0, 0 },
		{ without_locks_a_session_gets_a_new_directory, 0, 0 },
	};

	return unit_run("session_dir", units, ARRAY_LEN(units));
}
