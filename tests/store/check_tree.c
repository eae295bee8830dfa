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
		scratch_write(name, "some bytes");
	}
}

/* A tree with links, and deeper than any path that a call takes at once. */
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
	ck_assert_int_eq(symlink("../../out", scratch_path("top/a/link")), 0);
	ck_assert_int_eq(symlink("a", scratch_path("top/again")), 0);
	ck_assert_int_eq(mkfifo(scratch_path("top/b/fifo"), 0600), 0);
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

START_TEST(all_below_goes_and_nothing_else)
{
	static const unsigned steps[] = { 1, 7, 100000 };
	struct tree *t;
	uint64_t bytes;
	int root;

	scratch_open();
	root = make_tree();
	t = run(root, false, steps[_i]);
	bytes = tree_bytes(t);
	ck_assert(!tree_is_left(t));
	tree_destroy(t);
	ck_assert(scratch_exists("top/f0"));
	t = run(root, true, steps[_i]);
	ck_assert(!tree_is_left(t));
	ck_assert_uint_eq(tree_bytes(t), bytes);
	tree_destroy(t);
	close(root);
	ck_assert_int_eq(rmdir(scratch_path("top")), 0);
	ck_assert_str_eq(scratch_read("out/mine"), "mine");
	scratch_close();
}
END_TEST

/* A directory is replaced by a link between two steps. */
START_TEST(what_is_replaced_meanwhile_stays)
{
	struct tree *t;
	int root;

	scratch_open();
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
	ck_assert(tree_is_left(t));
	tree_destroy(t);
	close(root);
	ck_assert_str_eq(scratch_read("out/mine"), "mine");
	scratch_close();
}
END_TEST

START_TEST(it_may_be_given_up)
{
	struct tree *t;
	int root;

	scratch_open();
	root = make_tree();
	for (unsigned n = 0; n < 200; n += 13) {
		ck_assert_int_eq(tree_create(&t, root, true), OK);
		(void)!tree_step(t, n);
		tree_destroy(t);
	}
	close(root);
	scratch_close();
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ all_below_goes_and_nothing_else, 3, 0 },
		{ what_is_replaced_meanwhile_stays, 0, 0 },
		{ it_may_be_given_up, 0, 0 },
	};

	return unit_run("tree", units, ARRAY_LEN(units));
}
