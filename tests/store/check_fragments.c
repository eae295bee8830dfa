/* SPDX-License-Identifier: MIT */
#include "store/fragments.h"

#include <stdlib.h>
#include <string.h>

#include "store/packet.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

#define LARGEST 300000

static struct published account;
static struct packet_pool pool;
static uint8_t content[LARGEST];

static void
begin(void)
{
	packet_pool_init(&pool, 0, &account);
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7 + i / 251);
}

static void
end(void)
{
	packet_pool_free(&pool);
	ck_assert_uint_eq(published(&account), 0);
}

static void
check_content(const struct packet *p, uint32_t size)
{
	size_t at = 0;

	ck_assert_uint_eq(p->size, size);
	ck_assert(packet_is_whole(p));
	for (const struct slab_block *b = p->blocks; b != NULL; b = b->next) {
		ck_assert_uint_le(at + b->used, size);
		ck_assert_mem_eq(b->mem, content + at, b->used);
		at += b->used;
	}
	ck_assert_uint_eq(at, size);
}

static const struct {
	uint32_t size, fragment;
} shapes[] = {
	{ 1, 512 },
	{ 512, 512 },
	{ 513, 512 },
	{ 4096, 512 },
	{ 4097, 1392 },
	{ 16384, 1000 },
	{ 16385, 16384 },
	{ 65536, 1392 },
	{ 65537, 65000 },
	{ 131072, 512 },
	{ LARGEST, 1392 },
	{ LARGEST, 65000 },
};

/* STRIDE is prime, and so no divisor of the number of pieces. */
TEST_ROWS(pieces_in_any_order_make_the_packet, ARRAY_LEN(shapes))
{
	static const uint32_t strides[] = { 1, 7919, 104729 };
	const uint32_t size = shapes[_i].size, fragment = shapes[_i].fragment;
	struct packet *p;

	begin();
	for (size_t s = 0; s < ARRAY_LEN(strides); s++) {
		struct fragments *f = fragments_create(
		    3, size, 5, fragment, 100);

		for (uint32_t k = 0; k < f->n; k++) {
			const uint32_t i = (uint32_t)((uint64_t)k * strides[s] %
						      f->n);
			const uint8_t *at = content + i * fragment;

			ck_assert_int_eq(
			    fragments_add(&pool, f, i, at, 101), OK);
			ck_assert_int_eq(
			    fragments_add(&pool, f, i, at, 102), E_EXISTS);
			ck_assert_uint_eq(f->n_missing, f->n - k - 1);
		}
		ck_assert_uint_eq(f->progress_ns, 101);
		p = fragments_finish(&pool, f);
		ck_assert_uint_eq(p->net_seq, 3);
		ck_assert_uint_eq(p->padding, 5);
		check_content(p, size);
		packet_destroy(&pool, p);
	}
	end();
}

TEST(a_claim_costs_bits_and_pointers)
{
	struct fragments *f;

	begin();
	f = fragments_create(0, UINT32_C(64) << 20, 0, 512, 0);
	ck_assert_uint_le(f->memory, 32 * 1024);
	ck_assert_int_eq(fragments_add(&pool, f, f->n - 1, content, 0), OK);
	ck_assert_uint_eq(published(&account), 65536);
	ck_assert_uint_le(f->memory, 65536 + 32 * 1024);
	fragments_destroy(&pool, f);
	end();
}

TEST(holes_are_runs_of_missing_pieces)
{
	struct fragments *f;
	uint32_t first, count;

	begin();
	f = fragments_create(0, 100 * 512, 0, 512, 0);
	ck_assert(fragments_hole(f, 0, &first, &count));
	ck_assert(first == 0 && count == 100);
	for (uint32_t i = 0; i < 100; i++)
		if (i != 7 && i != 8 && i != 99)
			ck_assert_int_eq(
			    fragments_add(&pool, f, i, content + i * 512, 0),
			    OK);
	ck_assert(fragments_hole(f, 0, &first, &count));
	ck_assert(first == 7 && count == 2);
	ck_assert(fragments_hole(f, 9, &first, &count));
	ck_assert(first == 99 && count == 1);
	ck_assert(!fragments_hole(f, 100, &first, &count));
	fragments_destroy(&pool, f);
	end();
}

TEST(memory_that_fails_leaves_it_as_it_was)
{
	struct fragments *f;
	enum status st;
	unsigned n = 0;

	begin();
	do {
		fault_arm(++n);
		f = fragments_create(0, 70000, 0, 65000, 0);
		st = f == NULL ? E_NOMEM
			       : fragments_add(&pool, f, 0, content, 0);
		if (f != NULL && st == OK)
			st = fragments_add(&pool, f, 1, content + 65000, 0);
		(void)fault_disarm();
		if (st != OK && f != NULL)
			ck_assert_uint_gt(f->n_missing, 0);
		fragments_destroy(&pool, f);
	} while (st != OK);
	ck_assert_uint_gt(n, 2);
	end();
}
