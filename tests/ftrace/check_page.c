/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/bytes.h"
#include "common/compiler.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/page.h"

#define SIZE 64

/* A page of SIZE bytes: its time is 1000, HEX follows its commit word.
 * The caller frees it. */
static struct bytes
page_of(struct page_layout *l, const char *commit, const char *hex, bool is_big)
{
	struct bytes time = bytes_hex(
			 is_big ? "00000000000003e8" : "e803000000000000"),
		     word = bytes_hex(commit), data = bytes_hex(hex), out;
	uint8_t page[SIZE] = { 0 };

	memcpy(page, time.p, time.n);
	memcpy(page + 8, word.p, word.n);
	memcpy(page + 8 + word.n, data.p, data.n);
	*l = (struct page_layout){ .size = SIZE,
		.commit_at = 8,
		.commit_size = (uint32_t)word.n,
		.data_at = 8 + (uint32_t)word.n,
		.is_big = is_big };
	out = bytes_copy(page, sizeof(page));
	free(time.p);
	free(word.p);
	free(data.p);
	return out;
}

/* Words as the kernel writes them, little-endian: delta << 5 | type. */
static const struct {
	const char *commit, *hex;
	unsigned n;    /* events */
	uint32_t size; /* of the last one */
	uint64_t time; /* of the last one; of the page, without events */
	bool is_malformed;
} pages[] = {
	{ "0000000000000000", "", 0, 0, 1000, false },
	/* 8 bytes, 5 ns later */
	{ "0c00000000000000", "a2000000 0102030405060708", 1, 8, 1005, false },
	/* 4 bytes and 4 bytes */
	{ "1000000000000000", "21000000 01020304 41000000 05060708", 2, 4, 1003,
	    false },
	/* a length of its own: 6 + 4 bytes, rounded up */
	{ "1000000000000000", "e0000000 0a000000 0102030405060000", 1, 6, 1007,
	    false },
	/* padding of 4 + 8 bytes, then an event */
	{ "1400000000000000", "3d000000 08000000 ffffffff 21000000 01020304", 1,
	    4, 1002, false },
	/* padding without a time: the rest is nothing */
	{ "0c00000000000000", "1d000000 21000000 01020304", 0, 0, 1000, false },
	/* 2 << 27 and 1 ns later, then an event */
	{ "1000000000000000", "3e000000 02000000 01000000 01020304", 1, 4,
	    1001 + (UINT64_C(2) << 27), false },
	/* at 3 << 27 and 7 ns */
	{ "1000000000000000", "ff000000 03000000 01000000 01020304", 1, 4,
	    7 + (UINT64_C(3) << 27), false },
	/* an event longer than what is there */
	{ "0800000000000000", "22000000 01020304", 0, 0, 1000, true },
	{ "0c00000000000000", "20000000 0c000000 01020304", 0, 0, 1000, true },
	/* a length below that of itself */
	{ "0c00000000000000", "20000000 03000000 01020304", 0, 0, 1000, true },
	{ "0c00000000000000", "20000000 ffffffff 01020304", 0, 0, 1000, true },
	/* a second word that is not there */
	{ "0400000000000000", "20000000", 0, 0, 1000, true },
	{ "0400000000000000", "3e000000", 0, 0, 1000, true },
	{ "0400000000000000", "3d000000", 0, 0, 1000, true },
	/* padding that goes nowhere, or too far */
	{ "0c00000000000000", "3d000000 00000000 21000000", 0, 0, 1000, true },
	{ "0c00000000000000", "3d000000 0c000000 21000000", 0, 0, 1000, true },
	/* an end within a word */
	{ "0a00000000000000", "21000000 01020304 2100", 1, 4, 1001, true },
	/* all 48 bytes */
	{ "3000000000000000", "2b000000", 1, 44, 1001, false },
	/* of a kernel with longs of 4 bytes */
	{ "08000000", "21000000 01020304", 1, 4, 1001, false },
};

TEST_ROWS(events_are_found_within_the_page, ARRAY_LEN(pages))
{
	struct page_layout l;
	struct page_event e = { 0 };
	struct bytes b = page_of(&l, pages[_i].commit, pages[_i].hex, false);
	struct page p;
	unsigned n = 0;

	ck_assert_int_eq(page_open(&p, &l, b.p), OK);
	ck_assert_uint_eq(p.lost, 0);
	while (page_next(&p, &e)) {
		n++;
		ck_assert(e.data >= b.p && e.data + e.size <= b.p + b.n);
	}
	ck_assert_uint_eq(n, pages[_i].n);
	ck_assert_uint_eq(e.size, pages[_i].size);
	ck_assert_uint_eq(n == 0 ? p.time : e.time, pages[_i].time);
	ck_assert(p.is_malformed == pages[_i].is_malformed);
	ck_assert(!page_next(&p, &e));
	free(b.p);
}

static const struct {
	const char *commit, *hex;
	bool is_big, is_known;
	uint64_t lost;
} losses[] = {
	{ "08000080ffffffff", "21000000 01020304", false, false, 1 },
	{ "080000c0ffffffff", "21000000 01020304 0c01000000000000", false, true,
	    268 },
	{ "080000c0", "21000000 01020304 0c010000", false, true, 268 },
	{ "ffffffffc0000008", "08000001 01020304 000000000000010c", true, true,
	    268 },
	/* more than there can be */
	{ "080000c0ffffffff", "21000000 01020304 ffffffffffffffff", false, true,
	    UINT32_MAX },
	/* no space for the number */
	{ "2c0000c0ffffffff", "2a000000", false, false, 1 },
	/* a count without a loss is none */
	{ "0800004000000000", "21000000 01020304 0c01000000000000", false,
	    false, 0 },
};

TEST_ROWS(losses_are_in_the_low_bits_of_the_commit_word, ARRAY_LEN(losses))
{
	struct page_layout l;
	struct page_event e;
	struct bytes b = page_of(
	    &l, losses[_i].commit, losses[_i].hex, losses[_i].is_big);
	struct page p;

	ck_assert_int_eq(page_open(&p, &l, b.p), OK);
	ck_assert_uint_eq(p.lost, losses[_i].lost);
	ck_assert(p.lost_is_known == losses[_i].is_known);
	ck_assert(page_next(&p, &e));
	ck_assert_uint_eq(e.time, 1001);
	free(b.p);
}

TEST(more_data_than_a_page_is_refused)
{
	struct page_layout l;
	struct bytes b = page_of(&l, "3100000000000000", "", false);
	struct page p;

	ck_assert_int_eq(page_open(&p, &l, b.p), E_MALFORMED);
	free(b.p);
}

static const struct {
	const char *commit, *hex;
	bool is_big;
	uint32_t n;
} heads[] = {
	{ "0800000000000000", "21000000", false, 8 },
	{ "080000c0ffffffff", "21000000", false, 8 },
	{ "0000000000000008", "08000001", true, 8 },
	{ "ffffffff80000008", "08000001", true, 8 },
	{ "08000080", "21000000", false, 8 },
	/* only the low half says what is lost */
	{ "0800008000000000", "21000000", false, 8 },
	{ "0000000080000008", "08000001", true, 8 },
	{ "3000000000000000", "2b000000", false, 48 },
	/* none, more than there is, no whole word, too few, other bits */
	{ "0000000000000000", "21000000", false, 0 },
	{ "3400000000000000", "21000000", false, 0 },
	{ "0a00000000000000", "21000000", false, 0 },
	{ "0400000000000000", "21000000", false, 0 },
	{ "0800001000000000", "21000000", false, 0 },
	/* a sign that is not that of its low bits */
	{ "0800000001000000", "21000000", false, 0 },
	{ "08000000ffffffff", "21000000", false, 0 },
	{ "0800000080000000", "21000000", false, 0 },
	/* the first event: longer than all, without a length, a time */
	{ "0800000000000000", "22000000", false, 0 },
	{ "0c00000000000000", "22000000", false, 12 },
	{ "0c00000000000000", "20000000 08000000", false, 12 },
	{ "0c00000000000000", "20000000 09000000", false, 0 },
	{ "0c00000000000000", "20000000 03000000", false, 0 },
	{ "0c00000000000000", "00000000 00000000", false, 0 },
	{ "0c00000000000000", "3e000000 02000000", false, 12 },
};

TEST_ROWS(a_head_says_how_much_is_in_the_page, ARRAY_LEN(heads))
{
	struct page_layout l;
	struct bytes b = page_of(
	    &l, heads[_i].commit, heads[_i].hex, heads[_i].is_big);
	struct bytes head = bytes_copy(b.p, page_head(&l));

	ck_assert_uint_eq(page_data_bytes(&l, head.p), heads[_i].n);
	free(head.p);
	free(b.p);
}

/* Of two events, 8 bytes each; the number after the data counts lost events. */
static const struct {
	const char *commit;
	uint32_t n; /* bytes that are right */
	const char *left;
	unsigned events;
	uint64_t lost;
	bool is_known;
} cuts[] = {
	{ "1000000000000000", 32, "1000000000000000", 2, 0, false },
	{ "1000000000000000", 64, "1000000000000000", 2, 0, false },
	{ "1000000000000000", 31, "0800000000000000", 1, 0, false },
	{ "1000000000000000", 24, "0800000000000000", 1, 0, false },
	{ "1000000000000000", 23, NULL, 0, 0, false },
	{ "1000000000000000", 16, NULL, 0, 0, false },
	{ "1000000000000000", 3, NULL, 0, 0, false },
	{ "10000080ffffffff", 24, "08000080ffffffff", 1, 1, false },
	{ "100000c0ffffffff", 40, "100000c0ffffffff", 2, 9, true },
	{ "100000c0ffffffff", 39, "10000080ffffffff", 2, 1, false },
	{ "100000c0ffffffff", 24, "08000080ffffffff", 1, 1, false },
};

TEST_ROWS(a_page_that_is_cut_has_its_whole_events, ARRAY_LEN(cuts))
{
	struct page_layout l;
	struct bytes b = page_of(&l, cuts[_i].commit,
	    "21000000 01020304 41000000 05060708 0900000000000000", false);
	struct page_event e;
	struct page p;

	ck_assert(page_cut(&l, b.p, cuts[_i].n) == (cuts[_i].left != NULL));
	if (cuts[_i].left != NULL) {
		struct bytes commit = bytes_hex(cuts[_i].left);

		ck_assert_mem_eq(b.p + 8, commit.p, commit.n);
		free(commit.p);
		ck_assert_int_eq(page_open(&p, &l, b.p), OK);
		ck_assert_uint_eq(p.lost, cuts[_i].lost);
		ck_assert(p.lost_is_known == cuts[_i].is_known);
		for (unsigned i = 0; i < cuts[_i].events; i++)
			ck_assert(page_next(&p, &e));
		ck_assert(!page_next(&p, &e));
		ck_assert(!p.is_malformed);
	}
	free(b.p);
}

static const struct {
	const char *before, *after;
	bool is_big;
} set_lost[] = {
	{ "0800000000000000", "08000080ffffffff", false },
	{ "080000c0ffffffff", "080000c0ffffffff", false },
	{ "0000000000000008", "ffffffff80000008", true },
	{ "08000000", "08000080", false },
};

TEST_ROWS(a_page_can_say_that_events_are_missing, ARRAY_LEN(set_lost))
{
	struct page_layout l;
	struct bytes b = page_of(
	    &l, set_lost[_i].before, "21000000 01020304", set_lost[_i].is_big);
	struct bytes after = bytes_hex(set_lost[_i].after);

	page_set_lost(&l, b.p);
	ck_assert_mem_eq(b.p + 8, after.p, after.n);
	free(after.p);
	free(b.p);
}
