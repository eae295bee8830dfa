/* SPDX-License-Identifier: MIT */
#include "store/dir_registry.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

static struct dir_registry *registry;
static const struct dir_id output = { .ino = 1, .born = 2 };
static const struct dir_id other_output = { .ino = 1, .born = 3 };

static struct relpath *
path_of(const char *text)
{
	struct relpath *p;

	MUST(relpath_parse(&p, (struct span){ text, strlen(text) }) == OK);
	return p;
}

static struct shared_dir *
share(const char *wanted, uint64_t sharers, bool *is_used)
{
	struct relpath *path = path_of(wanted);
	struct shared_dir *d = dir_registry_share(
	    registry, &output, path, sharers, is_used);

	relpath_free(path);
	return d;
}

static struct shared_dir *
remember(const char *wanted, uint64_t sharers, const char *text, uint64_t ino)
{
	const struct dir_id id = { .ino = ino };
	struct relpath *path = path_of(text), *w = path_of(wanted);
	struct shared_dir *d = dir_registry_remember(
	    registry, &output, w, sharers, path, &id);

	relpath_free(path);
	relpath_free(w);
	ck_assert_ptr_nonnull(d);
	return d;
}

static void
open_registry(void)
{
	ck_assert_int_eq(dir_registry_create(&registry), OK);
}

static void
close_registry(void)
{
	dir_registry_destroy(registry);
}

EACH_TEST(open_registry, close_registry)

TEST(a_noted_directory_is_found_by_its_path)
{
	int entry, other;

	ck_assert_int_eq(dir_registry_check(registry, &output, "h/s"), OK);
	ck_assert_int_eq(
	    dir_registry_enter(registry, &output, "h/s", &entry), OK);
	ck_assert_int_eq(
	    dir_registry_enter(registry, &output, "h/s", &other), E_EXISTS);
	ck_assert_int_eq(
	    dir_registry_check(registry, &output, "h/s"), E_EXISTS);
	ck_assert_int_eq(dir_registry_check(registry, &output, "h"), OK);
	ck_assert_int_eq(
	    dir_registry_check(registry, &other_output, "h/s"), OK);
	ck_assert_ptr_eq(dir_registry_find(registry, &output, "h/s"), &entry);
	dir_registry_forget(registry, &output, "h/s");
	ck_assert_ptr_null(dir_registry_find(registry, &output, "h/s"));
}

TEST(snapshots_of_one_session_share_a_directory)
{
	struct shared_dir *a, *b;
	bool is_used;

	ck_assert_ptr_null(share("h/s", 7, &is_used));
	a = remember("h/s", 7, "h/s-1", 10);
	ck_assert_ptr_null(share("h/s", 8, &is_used));
	ck_assert_ptr_null(share("h/other", 7, &is_used));
	b = share("h/s", 7, &is_used);
	ck_assert_ptr_eq(b, a);
	ck_assert(is_used);
	ck_assert_str_eq(b->path, "h/s-1");
	ck_assert_uint_eq(b->id.ino, 10);
	dir_registry_leave(a);
	dir_registry_leave(b);
	dir_registry_leave(NULL);
	b = share("h/s", 7, &is_used);
	ck_assert(b == a && !is_used);
	/* It was removed, and another one was made. */
	dir_registry_leave(remember("h/s", 7, "h/s", 11));
	a = share("h/s", 7, &is_used);
	ck_assert(a != b && !is_used);
	ck_assert_uint_eq(a->id.ino, 11);
	dir_registry_unshare(registry, &(struct dir_id){ .ino = 11 });
	ck_assert_ptr_eq(share("h/s", 7, &is_used), b);
	dir_registry_leave(a);
	dir_registry_leave(b);
	dir_registry_leave(b);
}

TEST(the_oldest_unused_one_is_forgotten)
{
	struct shared_dir *used, *d;
	char path[32];
	bool is_used;

	used = remember("h/used", 7, "h/used", 1);
	for (int i = 0; i < DIR_REGISTRY_SHARED_MAX; i++) {
		snprintf(path, sizeof(path), "h/%d", i);
		dir_registry_leave(remember(path, 7, path, 1));
	}
	ck_assert_ptr_null(share("h/0", 7, &is_used));
	d = share("h/1", 7, &is_used);
	ck_assert_ptr_nonnull(d);
	dir_registry_leave(d);
	dir_registry_leave(used);
	d = share("h/used", 7, &is_used);
	ck_assert_ptr_eq(d, used);
	dir_registry_leave(d);
}

#define ROUNDS 3000

/* A worker. */
static void *
check_and_share(void *arg)
{
	enum status st;
	bool is_used;

	for (int i = 0; i < ROUNDS; i++) {
		st = dir_registry_check(registry, &output, "h/s");
		MUST(st == OK || st == E_EXISTS || st == E_LATER);
		dir_registry_leave(share("h/t", 7, &is_used));
		dir_registry_leave(remember("h/t", 7, "h/t", 1));
	}
	return arg;
}

TEST(threads_do_not_meet)
{
	pthread_t threads[3];
	int entry;

	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		ck_assert_int_eq(
		    pthread_create(&threads[i], NULL, check_and_share, NULL),
		    0);
	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(
		    dir_registry_enter(registry, &output, "h/s", &entry), OK);
		dir_registry_forget(registry, &output, "h/s");
	}
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
