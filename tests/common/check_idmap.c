/* SPDX-License-Identifier: MIT */
#include "common/idmap.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

#define N 1000

static struct {
	uint64_t id;
	bool is_in;
} model[N];

/* Ids that lie close, far apart, and at both ends. */
static void
fill_model(void)
{
	for (uint64_t i = 0; i < N; i++) {
		model[i].id = i % 3 == 0   ? i
			      : i % 3 == 1 ? UINT64_MAX - i
					   : i << 40;
		model[i].is_in = false;
	}
}

TEST(map_agrees_with_a_table)
{
	struct idmap m = { 0 };
	size_t n = 0;

	fill_model();
	srand(1);
	for (int round = 0; round < 100000; round++) {
		const size_t i = (size_t)rand() % N;
		const uint64_t id = model[i].id;
		void *want = model[i].is_in ? &model[i] : NULL;

		ck_assert_ptr_eq(idmap_find(&m, id), want);
		if (rand() % 2 == 0) {
			ck_assert_int_eq(idmap_insert(&m, id, &model[i]),
			    want == NULL ? OK : E_EXISTS);
			n += want == NULL;
			model[i].is_in = true;
		} else {
			ck_assert_ptr_eq(idmap_remove(&m, id), want);
			n -= want != NULL;
			model[i].is_in = false;
		}
		ck_assert_uint_eq(m.n, n);
	}
	for (size_t i = 0; i < N; i++)
		ck_assert_ptr_eq(idmap_find(&m, model[i].id),
		    model[i].is_in ? &model[i] : NULL);
	idmap_free(&m);
}

/* Names that differ in a byte, or in their length. */
TEST(names_have_keys_of_their_own)
{
	struct idmap m = { 0 };
	char name[32] = "";
	size_t n = 0;

	for (unsigned i = 0; i < sizeof(name); i++)
		for (unsigned byte = 0; byte < 256; byte++) {
			memset(name, 'a', sizeof(name));
			name[i] = (char)byte;
			if (byte == 'a' && i > 0)
				continue;
			ck_assert_int_eq(
			    idmap_insert(&m, idmap_key(name, sizeof(name)), &m),
			    OK);
			n++;
		}
	memset(name, 'a', sizeof(name));
	for (unsigned len = 0; len < sizeof(name); len++, n++)
		ck_assert_int_eq(
		    idmap_insert(&m, idmap_key(name, len), &m), OK);
	ck_assert_ptr_eq(idmap_find(&m, idmap_key("aa", 2)), &m);
	ck_assert_uint_eq(m.n, n);
	idmap_free(&m);
}

TEST(any_empties_a_map_once_each)
{
	struct idmap m = { 0 };

	ck_assert_ptr_null(idmap_any(&m));
	fill_model();
	for (size_t i = 0; i < N; i++)
		ck_assert_int_eq(idmap_insert(&m, model[i].id, &model[i]), OK);
	for (size_t i = 0; i < N; i++) {
		const uint64_t *id = idmap_any(&m); /* the first member */

		ck_assert_ptr_nonnull(id);
		ck_assert_ptr_eq(idmap_remove(&m, *id), id);
	}
	ck_assert_ptr_null(idmap_any(&m));
	ck_assert_ptr_null(idmap_find(&m, 0));
	idmap_free(&m);
}

TEST(existing_id_keeps_its_value)
{
	struct idmap m = { 0 };
	int a, b;

	ck_assert_int_eq(idmap_insert(&m, 7, &a), OK);
	ck_assert_int_eq(idmap_insert(&m, 7, &b), E_EXISTS);
	ck_assert_ptr_eq(idmap_find(&m, 7), &a);
	idmap_free(&m);
}

TEST(insert_without_memory_changes_nothing)
{
	struct idmap m = { 0 };
	enum status st;
	uint64_t n = 0;

	fault_arm(1);
	st = idmap_insert(&m, 1, &m);
	ck_assert(fault_disarm());
	ck_assert_int_eq(st, E_NOMEM);
	ck_assert_ptr_null(idmap_find(&m, 1));
	for (;;) {
		bool hit;

		fault_arm(1);
		st = idmap_insert(&m, n, &m);
		hit = fault_disarm();
		if (hit && n > 0)
			break;
		if (hit)
			ck_assert_int_eq(idmap_insert(&m, n, &m), OK);
		n++;
	}
	ck_assert_int_eq(st, E_NOMEM);
	ck_assert_uint_eq(m.n, n);
	ck_assert_ptr_null(idmap_find(&m, n));
	for (uint64_t i = 0; i < n; i++)
		ck_assert_ptr_eq(idmap_find(&m, i), &m);
	idmap_free(&m);
}

TEST(steady_use_does_not_allocate)
{
	struct idmap m = { 0 };
	unsigned long before;

	ck_assert_int_eq(idmap_insert(&m, 0, &m), OK);
	before = fault_count();
	for (uint64_t i = 0; i < 10000; i++)
		if (idmap_remove(&m, i) == NULL ||
		    idmap_insert(&m, i + 1, &m) != OK)
			ck_abort();
	before = fault_count() - before;
	ck_assert_uint_eq(before, 0);
	idmap_free(&m);
}
