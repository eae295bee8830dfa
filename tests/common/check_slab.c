/* SPDX-License-Identifier: MIT */
#include "common/slab.h"

#include <string.h>

#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

static struct published account;

static const struct {
	size_t want;
	uint32_t cap;
} sizes[] = {
	{ 0, 4096 },
	{ 1, 4096 },
	{ 4096, 4096 },
	{ 4097, 16384 },
	{ 16384, 16384 },
	{ 16385, 65536 },
	{ 65537, 262144 },
	{ 262145, 1048576 },
	{ SLAB_LARGEST, SLAB_LARGEST },
	{ SLAB_LARGEST + 1, SLAB_LARGEST },
	{ SIZE_MAX, SLAB_LARGEST },
};

TEST_ROWS(blocks_are_of_the_smallest_class_that_holds, ARRAY_LEN(sizes))
{
	struct slab_pool p;
	struct slab_block *b;

	slab_init(&p, 0, &account);
	b = slab_get(&p, sizes[_i].want);
	ck_assert_ptr_nonnull(b);
	ck_assert_uint_eq(b->cap, sizes[_i].cap);
	ck_assert_uint_eq(b->used, 0);
	ck_assert_ptr_null(b->next);
	ck_assert_uint_eq(published(&account), b->cap);
	ck_assert_uint_eq((uintptr_t)b->mem % SLAB_ALIGN, 0);
	memset(b->mem, 0xff, b->cap);
	slab_put(&p, b);
	ck_assert_uint_eq(published(&account), 0);
	ck_assert_uint_eq(p.cached, 0);
	slab_trim(&p, 0);
}

TEST(chains_go_back_whole_and_clean)
{
	struct slab_pool p;
	struct slab_block *chain = NULL;

	slab_init(&p, UINT64_MAX, &account);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct slab_block *b = slab_get(&p, sizes[i].want);

		ck_assert_ptr_nonnull(b);
		b->next = chain;
		b->used = 1;
		chain = b;
	}
	const uint64_t out = published(&account);

	slab_put(&p, chain);
	ck_assert_uint_eq(published(&account), 0);
	ck_assert_uint_eq(p.cached, out);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		chain = slab_get(&p, sizes[i].want);
		ck_assert_ptr_null(chain->next);
		ck_assert_uint_eq(chain->used, 0);
		ck_assert_uint_eq(chain->cap, sizes[i].cap);
		slab_put(&p, chain);
	}
	slab_put(&p, NULL);
	slab_trim(&p, 0);
	ck_assert_uint_eq(p.cached, 0);
}

TEST(steady_use_does_not_allocate)
{
	struct slab_pool p;
	unsigned long before;

	slab_init(&p, 1 << 20, &account);
	slab_put(&p, slab_get(&p, 5000));
	before = fault_count();
	for (int i = 0; i < 1000; i++)
		slab_put(&p, slab_get(&p, 5000));
	before = fault_count() - before;
	ck_assert_uint_eq(before, 0);
	slab_trim(&p, 0);
}

TEST(few_small_blocks_are_cached)
{
	struct slab_block *chain = NULL, *b;
	struct slab_pool p;

	slab_init(&p, UINT64_MAX, &account);
	for (int i = 0; i < SLAB_SMALL_CACHED + 3; i++) {
		b = slab_get(&p, 4096);
		b->next = chain;
		chain = b;
	}
	slab_put(&p, chain);
	ck_assert_uint_eq(p.cached, SLAB_SMALL_CACHED * 4096);
	/* What is taken frees space for one that comes back. */
	b = slab_get(&p, 1);
	ck_assert_uint_eq(p.cached, (SLAB_SMALL_CACHED - 1) * 4096);
	slab_put(&p, b);
	ck_assert_uint_eq(p.cached, SLAB_SMALL_CACHED * 4096);
	slab_trim(&p, 4096);
	ck_assert_uint_eq(p.cached, 4096);
	slab_put(&p, slab_get(&p, 4096));
	slab_put(&p, slab_get(&p, 4097));
	ck_assert_uint_eq(p.cached, 4096 + 16384);
	slab_trim(&p, 0);
	ck_assert_uint_eq(p.cached, 0);
}

TEST(no_more_is_cached_than_allowed)
{
	struct slab_block *b[4];
	struct slab_pool p;

	slab_init(&p, 3 * 4096, &account);
	for (int i = 0; i < 4; i++)
		b[i] = slab_get(&p, 4096);
	for (int i = 0; i < 4; i++)
		slab_put(&p, b[i]);
	ck_assert_uint_eq(p.cached, 3 * 4096);
	slab_trim(&p, 4096 + 1);
	ck_assert_uint_eq(p.cached, 4096);
	slab_trim(&p, 0);
	ck_assert_uint_eq(p.cached, 0);
	slab_trim(&p, 0);
}

TEST(no_memory_counts_nothing)
{
	struct slab_pool p;
	struct slab_block *b;

	slab_init(&p, 0, &account);
	fault_arm(1);
	b = slab_get(&p, 1);
	ck_assert(fault_disarm());
	ck_assert_ptr_null(b);
	ck_assert_uint_eq(published(&account), 0);
	slab_trim(&p, 0);
}
