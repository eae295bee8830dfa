/* SPDX-License-Identifier: MIT */
#include "common/heap.h"

#include <stdlib.h>

#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

static int values[512];

static const struct {
	const char *keys, *sorted;
} cases[] = {
	{ "", "" },
	{ "a", "a" },
	{ "ab", "ab" },
	{ "ba", "ab" },
	{ "cab", "abc" },
	{ "zyxwvutsrqponmlkjihgfedcba", "abcdefghijklmnopqrstuvwxyz" },
	{ "aaaa", "aaaa" },
	{ "abacabadabacaba", "aaaaaaaabbbbccd" },
	{ "thequickbrownfoxjumps", "bcefhijkmnoopqrstuuwx" },
};

TEST_ROWS(smallest_comes_out_first, ARRAY_LEN(cases))
{
	struct heap h = { 0 };

	ck_assert_ptr_null(heap_min(&h));
	for (const char *k = cases[_i].keys; *k != '\0'; k++)
		ck_assert_int_eq(
		    heap_push(&h, (uint64_t)*k, &values[(int)*k]), OK);
	for (const char *k = cases[_i].sorted; *k != '\0'; k++) {
		ck_assert_uint_eq(heap_min(&h)->key, (uint64_t)*k);
		ck_assert_ptr_eq(heap_min(&h)->value, &values[(int)*k]);
		ck_assert_ptr_eq(heap_pop(&h), &values[(int)*k]);
	}
	ck_assert_ptr_null(heap_pop(&h));
	heap_free(&h);
}

TEST(pushes_and_pops_may_mix)
{
	unsigned counts[256] = { 0 };
	struct heap h = { 0 };
	size_t n = 0;

	srand(1);
	for (int round = 0; round < 20000; round++) {
		unsigned smallest = 0;
		int *v;

		if (n < 300 && rand() % 2 == 0) {
			const unsigned k = (unsigned)rand() % 256;

			ck_assert_int_eq(heap_push(&h, k, &values[k]), OK);
			counts[k]++;
			n++;
			continue;
		}
		v = heap_pop(&h);
		if (n == 0) {
			ck_assert_ptr_null(v);
			continue;
		}
		while (counts[smallest] == 0)
			smallest++;
		ck_assert_ptr_eq(v, &values[smallest]);
		counts[smallest]--;
		n--;
	}
	heap_free(&h);
}

TEST(keys_are_compared_as_64_bits)
{
	struct heap h = { 0 };

	ck_assert_int_eq(heap_push(&h, UINT64_MAX, &values[0]), OK);
	ck_assert_int_eq(heap_push(&h, UINT64_C(1) << 32, &values[1]), OK);
	ck_assert_int_eq(heap_push(&h, 1, &values[2]), OK);
	ck_assert_ptr_eq(heap_pop(&h), &values[2]);
	ck_assert_ptr_eq(heap_pop(&h), &values[1]);
	ck_assert_ptr_eq(heap_pop(&h), &values[0]);
	heap_free(&h);
}

TEST(push_without_memory_changes_nothing)
{
	struct heap h = { 0 };
	enum status st;
	uint64_t n = 0;

	fault_arm(1);
	st = heap_push(&h, 1, &values[1]);
	ck_assert(fault_disarm());
	ck_assert_int_eq(st, E_NOMEM);
	ck_assert_ptr_null(heap_min(&h));
	do {
		ck_assert_int_eq(heap_push(&h, n, &values[n % 512]), OK);
		n++;
	} while (h.n < h.cap);
	fault_arm(1);
	st = heap_push(&h, n, &values[0]);
	ck_assert(fault_disarm());
	ck_assert_int_eq(st, E_NOMEM);
	for (uint64_t i = 0; i < n; i++)
		ck_assert_ptr_eq(heap_pop(&h), &values[i % 512]);
	ck_assert_ptr_null(heap_pop(&h));
	heap_free(&h);
}

TEST(steady_use_does_not_allocate)
{
	struct heap h = { 0 };
	unsigned long before;

	ck_assert_int_eq(heap_push(&h, 1, &values[1]), OK);
	before = fault_count();
	for (unsigned i = 0; i < 1000; i++)
		if (heap_pop(&h) == NULL || heap_push(&h, i, values) != OK)
			ck_abort();
	before = fault_count() - before;
	ck_assert_uint_eq(before, 0);
	heap_free(&h);
}
