/* SPDX-License-Identifier: MIT */
#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

#define DEPTH 300
#define FILES 50

static void
make_files(const char *in)
{
	char name[128];

	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%s/f%d", in, i);
		scratch_write(name, "\xc1\xfc\x1f\xc1 bytes");
	}
}

/* A tree that is deeper than any path that a call takes at once. */
static int
make_tree(void)
{
	int fd, next;

	ck_assert_int_eq(mkdir(scratch_path("out"), 0700), 0);
	scratch_write("out/mine", "mine");
	ck_assert_int_eq(mkdir(scratch_path("top"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("top/a"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("top/b"), 0700), 0);
	make_files("top");
	make_files("top/a");
	fd = open(scratch_path("top/b"), O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < DEPTH; i++) {
		ck_assert_int_eq(mkdirat(fd, "deeper", 0700), 0);
		next = openat(fd, "deeper", O_RDONLY | O_DIRECTORY);
		ck_assert_int_ge(next, 0);
		close(fd);
		fd = next;
	}
	close(fd);
	return open(scratch_path("top"), O_RDONLY | O_DIRECTORY);
}

/* With N names a step. */
static struct tree *
run(int root, bool removes, unsigned n)
{
	struct tree *t;

	ck_assert_int_eq(tree_create(&t, root, removes), OK);
	while (!tree_step(t, n))
		;
	return t;
}

EACH_TEST(scratch_open, scratch_close)

TEST_ROWS(all_below_goes_and_nothing_else, 3)
{
	static const unsigned steps[] = { 1, 7, 100000 };
	struct tree *t;
	uint64_t bytes;
	int root;

	root = make_tree();
	t = run(root, false, steps[_i]);
	bytes = tree_found(t)->bytes;
	ck_assert(!tree_found(t)->is_left);
	tree_destroy(t);
	ck_assert(scratch_exists("top/f0"));
	t = run(root, true, steps[_i]);
	ck_assert(!tree_found(t)->is_left);
	ck_assert_uint_eq(tree_found(t)->bytes, bytes);
	tree_destroy(t);
	close(root);
	ck_assert_int_eq(rmdir(scratch_path("top")), 0);
	ck_assert_str_eq(scratch_read("out/mine"), "mine");
}

/* A directory is replaced by a link between two steps. */
TEST(what_is_replaced_meanwhile_stays)
{
	struct tree *t;
	int root;

	root = make_tree();
	ck_assert_int_eq(tree_create(&t, root, true), OK);
	/* Its directories are known, and not looked at yet. */
	while (scratch_exists("top/f0") || scratch_exists("top/f49"))
		ck_assert(!tree_step(t, 1));
	while (!tree_step(t, 1))
		if (scratch_exists("top/b")) {
			(void)rename(scratch_path("top/b"), scratch_path("b"));
			(void)symlink("../out", scratch_path("top/b"));
		}
	ck_assert(tree_found(t)->is_left);
	tree_destroy(t);
	close(root);
	ck_assert_str_eq(scratch_read("out/mine"), "mine");
}

/* A folder of a trace, in which each file that the relay writes is. */
static void
make_trace(const char *at)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{ "metadata", "text" },
		{ ".loss.jsonl", "{}" },
		{ ".beacons", "1 0 0 ust" },
		{ ".tracepulse-key", "a secret" },
		{ "ch0_0", "any bytes" },
		{ "index/ch0_0.idx", "" },
		{ "index/left_behind.idx", "its data file is gone" },
		{ "little_endian", "\xc1\x1f\xfc\xc1" },
		{ "big_endian", "\xc1\xfc\x1f\xc1" },
		{ "empty", "" },
	};
	char name[128];

	ck_assert_int_eq(mkdir(scratch_path(at), 0700), 0);
	snprintf(name, sizeof(name), "%s/index", at);
	ck_assert_int_eq(mkdir(scratch_path(name), 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(name, sizeof(name), "%s/%s", at, files[i].name);
		scratch_write(name, files[i].text);
	}
}

/* In each of them lies something that the relay did not create. */
TEST(files_of_others_stay)
{
	static const char *const theirs[] = { "top/notes.txt", "top/a/empty",
		"top/b/link", "top/b/fifo", "top/a/index/x.idx.gz",
		"top/t/ch0_0.png" };
	struct tree *t;
	int root;

	ck_assert_int_eq(mkdir(scratch_path("top"), 0700), 0);
	make_trace("top/a");
	make_trace("top/b");
	make_trace("top/c");
	make_trace("top/t");
	scratch_write("top/notes.txt", "mine");
	ck_assert_int_eq(unlink(scratch_path("top/a/metadata")), 0);
	ck_assert_int_eq(symlink("/", scratch_path("top/b/link")), 0);
	ck_assert_int_eq(mkfifo(scratch_path("top/b/fifo"), 0600), 0);
	scratch_write("top/a/index/x.idx.gz", "");
	scratch_write("top/t/ch0_0.png", "\x89PNG");
	root = open(scratch_path("top"), O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 2; i++) {
		t = run(root, true, 1);
		ck_assert(tree_found(t)->is_left);
		ck_assert_uint_eq(tree_found(t)->n_foreign, ARRAY_LEN(theirs));
		tree_destroy(t);
		for (size_t n = 0; n < ARRAY_LEN(theirs); n++)
			ck_assert(scratch_exists(theirs[n]));
		ck_assert(!scratch_exists("top/c"));
		ck_assert(!scratch_exists("top/b/index"));
		ck_assert(!scratch_exists("top/b/metadata"));
		ck_assert(!scratch_exists("top/t/empty"));
	}
	close(root);
}

/* The name of a file that cannot be removed. */
static const char *sticks;

int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);

int
__wrap_unlinkat(int dir, const char *name, int flags)
{
	if (sticks != NULL && strcmp(name, sticks) == 0) {
		errno = EIO;
		return -1;
	}
	return __real_unlinkat(dir, name, flags);
}

/* What shows that a file is of a trace goes after it: the next try removes it.
 */
TEST_ROWS(after_a_failure_all_can_be_removed, 5)
{
	static const char *const names[] = { "ch0_0", "empty", "metadata",
		"ch0_0.idx", "index" };
	struct tree *t;
	int root;

	ck_assert_int_eq(mkdir(scratch_path("top"), 0700), 0);
	make_trace("top/a");
	root = open(scratch_path("top"), O_RDONLY | O_DIRECTORY);
	sticks = names[_i];
	t = run(root, true, 1);
	ck_assert(tree_found(t)->is_left);
	ck_assert_uint_eq(tree_found(t)->n_foreign, 0);
	tree_destroy(t);
	sticks = NULL;
	t = run(root, true, 1);
	ck_assert(!tree_found(t)->is_left);
	ck_assert_uint_eq(tree_found(t)->n_foreign, 0);
	ck_assert(!scratch_exists("top/a"));
	tree_destroy(t);
	close(root);
}

static int n_asked;

static bool
may_go(void *arg, int fd)
{
	struct stat sb;

	n_asked++;
	return fstat(fd, &sb) == 0 && sb.st_ino != *(const ino_t *)arg;
}

/* The tree ends at a directory that is in use; its files are left. */
TEST(each_directory_is_asked_about)
{
	struct tree *t;
	struct stat sb;
	int root;

	root = make_tree();
	make_trace("top/b/deeper/live");
	ck_assert_int_eq(stat(scratch_path("top/b/deeper/live"), &sb), 0);
	for (int removes = 0; removes < 2; removes++) {
		n_asked = 0;
		ck_assert_int_eq(tree_create(&t, root, removes), OK);
		tree_guard(t, may_go, &sb.st_ino);
		while (!tree_step(t, 7))
			;
		ck_assert_str_eq(tree_found(t)->used, "b/deeper/live");
		ck_assert(tree_step(t, 7));
		ck_assert_int_ge(n_asked, 4);
		tree_destroy(t);
		ck_assert_int_eq(scratch_exists("top/a/f0"), !removes);
		ck_assert(scratch_exists("top/b/deeper/live/metadata"));
		ck_assert(scratch_exists("top/b/deeper/live/index/ch0_0.idx"));
	}
	scratch_remove("top/b/deeper/live");
	t = run(root, true, 100);
	ck_assert(!tree_found(t)->is_left);
	ck_assert_ptr_null(tree_found(t)->used);
	tree_destroy(t);
	close(root);
}

TEST(it_may_be_given_up)
{
	struct tree *t;
	int root;

	root = make_tree();
	for (unsigned n = 0; n < 200; n += 13) {
		ck_assert_int_eq(tree_create(&t, root, true), OK);
		(void)!tree_step(t, n);
		tree_destroy(t);
	}
	close(root);
}

/* "d/": a folder; "f": a file of one byte; "f0": an empty one, "f0" being
 * its name with a 0 after it. */
static const struct {
	const char *content;
	bool is_unreadable;
} traces[] = {
	{ "metadata ch index/", false },
	{ "metadata0 ch0", true },
	{ "metadata0 ch index/", true },
	{ "ch index/", true },
	{ "metadata0", false },
	{ "metadata ch0", false },
	/* Somebody's. */
	{ "notes.txt", false },
	{ "index/", false },
	{ ".loss.jsonl metadata0", false },
	{ "", false },
};

TEST_ROWS(streams_without_metadata_are_unreadable, ARRAY_LEN(traces))
{
	char path[256], name[64];
	const char *s = traces[_i].content;
	struct tree *t;
	int root, n;

	for (const char *dir = "top\0top/ust\0top/ust/64-bit\0"; *dir != '\0';
	     dir += strlen(dir) + 1)
		ck_assert_int_eq(mkdir(scratch_path(dir), 0700), 0);
	for (; sscanf(s, " %63s%n", name, &n) == 1; s += n) {
		const size_t last = strlen(name) - 1;
		const char kind = name[last];

		if (kind == '/' || kind == '0')
			name[last] = '\0';
		snprintf(path, sizeof(path), "top/ust/64-bit/%s", name);
		if (kind == '/')
			ck_assert_int_eq(mkdir(scratch_path(path), 0700), 0);
		else
			scratch_write(path, kind == '0' ? "" : "x");
	}
	root = open(scratch_path("top"), O_RDONLY | O_DIRECTORY);
	t = run(root, false, 1);
	ck_assert_int_eq(
	    tree_found(t)->is_unreadable, traces[_i].is_unreadable);
	tree_destroy(t);
	close(root);
}
