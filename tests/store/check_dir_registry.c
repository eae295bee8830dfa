/* SPDX-License-Identifier: MIT */
#include "store/dir_registry.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

static struct dir_registry *registry;
static const struct dir_id output = { .ino = 1, .born = 2 };

static struct relpath *
path_of(const char *text)
{
	struct relpath *p;

	MUST(relpath_parse(&p, (struct span){ text, strlen(text) }) == OK);
	return p;
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

static struct dir_claim *
claim(const char *text, uint64_t sharers, const char *path)
{
	struct relpath *wanted = path_of(text);
	struct dir_claim *c;

	ck_assert_int_eq(dir_registry_claim(&c, registry, &output, wanted,
			     DIR_CLAIM_BESIDE, sharers),
	    OK);
	ck_assert_str_eq(c->path->s, path);
	relpath_free(wanted);
	return c;
}

static enum status
claim_exact(struct dir_claim **out, const char *text, enum dir_claim_kind kind)
{
	struct relpath *path = path_of(text);
	enum status st;

	st = dir_registry_claim(out, registry, &output, path, kind, 0);
	relpath_free(path);
	return st;
}

EACH_TEST(open_registry, close_registry)

TEST(live_directories_do_not_nest)
{
	struct dir_claim *a, *b, *c, *d;

	a = claim("h/a", 0, "h/a");
	b = claim("h/a", 0, "h/a-1");
	c = claim("h/a/b", 0, "h/a-2/b");
	d = claim("h/a/c", 0, "h/a-2/c");
	dir_claim_release(a);
	a = claim("h/a", 0, "h/a");
	dir_claim_release(c);
	c = claim("h/a-2", 0, "h/a-2-1");
	dir_claim_release(d);
	d = claim("h/a-2", 0, "h/a-2");
	dir_claim_release(a);
	dir_claim_release(b);
	dir_claim_release(c);
	dir_claim_release(d);
	dir_claim_release(NULL);
}

TEST(an_exact_path_has_no_other_name)
{
	struct dir_claim *a, *b, *c;
	struct dir_node *n;
	int entry;

	a = claim("h/a/b", 0, "h/a/b");
	ck_assert_int_eq(claim_exact(&b, "h/a/b", DIR_CLAIM_EXACT), E_EXISTS);
	ck_assert_int_eq(claim_exact(&b, "h/a", DIR_CLAIM_EXACT), E_EXISTS);
	ck_assert_int_eq(
	    claim_exact(&b, "h/a/b/c/d", DIR_CLAIM_EXACT), E_EXISTS);
	ck_assert_ptr_null(b);
	ck_assert_int_eq(claim_exact(&b, "h/a/c", DIR_CLAIM_EXACT), OK);
	c = claim("h/a/c", 0, "h/a/c-1");
	ck_assert_int_eq(
	    dir_registry_enter(&n, registry, &output, "h/f", &entry), OK);
	dir_claim_release(c);
	ck_assert_int_eq(claim_exact(&c, "h/f", DIR_CLAIM_EXACT), E_EXISTS);
	ck_assert_int_eq(claim_exact(&c, "h/f/x", DIR_CLAIM_EXACT), E_EXISTS);
	dir_registry_forget(registry, n);
	ck_assert_int_eq(claim_exact(&c, "h/f/x", DIR_CLAIM_EXACT), OK);
	dir_claim_release(a);
	dir_claim_release(b);
	dir_claim_release(c);
}

TEST(names_that_are_taken_on_the_disk_are_avoided)
{
	struct dir_claim *c, *long_one;
	char name[2 + 255 + 1] = "h/";

	c = claim("h/a/b", 0, "h/a/b");
	ck_assert_int_eq(dir_claim_avoid(c, 1), OK);
	ck_assert_str_eq(c->path->s, "h/a-1/b");
	ck_assert_int_eq(dir_claim_avoid(c, 2), OK);
	ck_assert_str_eq(c->path->s, "h/a-1/b-1");
	for (int i = 1; i < DIR_REGISTRY_TRIES; i++)
		ck_assert_int_eq(dir_claim_avoid(c, 2), OK);
	/* -1 to -4, then names that no peer can guess */
	ck_assert_uint_eq(strlen(c->path->s), strlen("h/a-1/b-00000000"));
	ck_assert_int_eq(dir_claim_avoid(c, 2), E_LIMIT);
	memset(name + 2, 'x', 255);
	long_one = claim(name, 0, name);
	ck_assert_int_eq(dir_claim_avoid(long_one, 1), E_LIMIT);
	ck_assert_str_eq(long_one->path->s, name);
	dir_claim_release(long_one);
	dir_claim_release(c);
}

#define MANY 10000

TEST(ten_thousand_of_one_name)
{
	static struct dir_claim *all[MANY];
	char path[32];

	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), i > 0 ? "h/s-%d" : "h/s", i);
		all[i] = claim("h/s", 0, path);
	}
	for (int i = 0; i < MANY; i++)
		dir_claim_release(all[i]);
}

TEST(snapshots_of_one_session_share_a_directory)
{
	struct dir_claim *a, *b, *c;

	a = claim("h/s", 7, "h/s");
	/* It is not known yet whether it was free on the disk. */
	b = claim("h/s", 7, "h/s-1");
	dir_claim_release(b);
	ck_assert(!a->may_add);
	dir_claim_settled(a, &output);
	b = claim("h/s", 7, "h/s");
	c = claim("h/s", 8, "h/s-1");
	ck_assert(b->may_add && !c->may_add);
	dir_claim_release(a);
	dir_claim_release(b);
	dir_claim_release(c);
	/* It is remembered; the disk says whether others may have it. */
	a = claim("h/s", 8, "h/s");
	ck_assert(!a->may_add);
	ck_assert_int_eq(dir_claim_avoid(a, 1), OK);
	dir_claim_release(a);
	a = claim("h/s", 7, "h/s");
	ck_assert(a->may_add);
	dir_claim_release(a);
	a = claim("h/s", 0, "h/s");
	dir_claim_settled(a, &output);
	/* Somebody had removed it, and another session has it now. */
	b = claim("h/s", 7, "h/s-1");
	dir_claim_release(b);
	dir_claim_release(a);
	a = claim("h/s", 7, "h/s");
	ck_assert(!a->may_add);
	dir_claim_release(a);
}

TEST(the_oldest_shared_one_is_forgotten)
{
	struct dir_claim *c;
	char path[32];

	for (int i = 0; i <= DIR_REGISTRY_SHARED_MAX; i++) {
		snprintf(path, sizeof(path), "h/%d", i);
		c = claim(path, 7, path);
		dir_claim_settled(c, &output);
		dir_claim_release(c);
	}
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "h/%d", i);
		c = claim(path, 7, path);
		ck_assert(c->may_add == (i > 0));
		dir_claim_release(c);
	}
}

TEST(what_is_claimed_is_not_deleted)
{
	struct dir_claim *a, *b;
	struct dir_node *n, *in;
	int session, chunk;

	ck_assert_int_eq(
	    dir_registry_enter(&n, registry, &output, "h/s", &session), OK);
	ck_assert_int_eq(
	    dir_registry_enter(&in, registry, &output, "h/s/x/chunk", &chunk),
	    OK);
	ck_assert_ptr_eq(dir_node_above(in), &session);
	ck_assert_ptr_null(dir_node_above(n));
	ck_assert_ptr_eq(
	    dir_registry_find(registry, &output, "h/s/x/chunk"), &chunk);
	ck_assert_ptr_null(dir_registry_find(registry, &output, "h/s/x"));
	dir_registry_forget(registry, in);
	ck_assert_ptr_null(dir_registry_find(registry, &output, "h/s/x/chunk"));
	a = claim("h/s/in", 0, "h/s/in");
	ck_assert_int_eq(claim_exact(&b, "h/s", DIR_CLAIM_DELETE), E_EXISTS);
	dir_claim_release(a);
	a = claim("h/s", 0, "h/s");
	ck_assert_int_eq(claim_exact(&b, "h/s", DIR_CLAIM_DELETE), E_EXISTS);
	dir_claim_release(a);
	ck_assert_int_eq(claim_exact(&b, "h/s", DIR_CLAIM_DELETE), OK);
	/* -1 and -2 went to claims that had no use for them. */
	a = claim("h/s", 0, "h/s-3");
	dir_claim_release(a);
	a = claim("h/s/in", 0, "h/s-1/in");
	dir_claim_release(b);
	dir_registry_forget(registry, n);
	dir_claim_release(a);
}

#define THREADS 4
#define ROUNDS 3000

/* Each claims names around the same few; what it has, no other thread has. */
static void *
claim_and_release(void *arg)
{
	static const char *const names[] = { "h/a", "h/a/b", "h/a/b/c", "h/b" };
	static struct published owners[ARRAY_LEN(names)];
	struct relpath *wanted;
	struct dir_claim *c;
	unsigned n = *(unsigned *)arg;
	enum status st;

	for (int i = 0; i < ROUNDS; i++, n++) {
		wanted = path_of(names[n % ARRAY_LEN(names)]);
		while ((st = dir_registry_claim(&c, registry, &output, wanted,
			    DIR_CLAIM_EXACT, 0)) == E_LATER)
			sched_yield();
		if (st == OK) {
			MUST(published_add(&owners[n % ARRAY_LEN(names)], 1) ==
			     1);
			(void)published_sub(&owners[n % ARRAY_LEN(names)], 1);
			dir_claim_release(c);
		} else {
			MUST(st == E_EXISTS);
		}
		relpath_free(wanted);
	}
	return NULL;
}

TEST(threads_do_not_meet)
{
	unsigned first[THREADS] = { 0, 1, 2, 3 };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL,
				     claim_and_release, &first[i]),
		    0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	/* Nothing is left claimed. */
	dir_claim_release(claim("h", 0, "h"));
}
