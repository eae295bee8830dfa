/* SPDX-License-Identifier: MIT */
/* Pages of a recorder that lost the rest of one, in any pieces. */
#include <stdlib.h>
#include <string.h>

#include "tests/ftrace/vector.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/page_align.h"

#define SIZE 4096
#define HEAD 16
#define N(table) (sizeof(table) / sizeof(*(table)))

static const struct page_layout layout = {
	.size = SIZE, .commit_at = 8, .commit_size = 8, .data_at = HEAD
};
static const size_t pieces[] = { 1, 7, 1000, SIZE - 1, SIZE, SIZE + 1, 10000,
	65536, SIZE_MAX };

/* A page that stops where one has been read is not looked at again: in these
 * pieces none does. */
static const size_t other_pieces[] = { 5000, 10000, 65536, SIZE_MAX };

struct taken {
	uint8_t *p;
	size_t n, cap;
};

static void
take(void *arg, const uint8_t *p, size_t n)
{
	struct taken *t = arg;

	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(n % SIZE, 0);
	ck_assert_uint_le(n, t->cap - t->n);
	memcpy(t->p + t->n, p, n);
	t->n += n;
}

/* All of B, in pieces; the caller frees what comes out. */
static struct taken
align(struct page_align *a, struct bytes b, size_t piece)
{
	struct taken out = { malloc(2 * b.n + SIZE), 0, 2 * b.n + SIZE };

	ck_assert_int_eq(page_align_init(a, &layout, false, take, &out), OK);
	for (size_t at = 0; at < b.n;) {
		const size_t n = piece < b.n - at ? piece : b.n - at;
		/* So that a sanitizer sees what is read behind. */
		struct bytes copy = bytes_copy(b.p + at, n);

		page_align_bytes(a, copy.p, n);
		free(copy.p);
		at += n;
	}
	page_align_end(a);
	return out;
}

static void
check_same(struct bytes b, size_t piece)
{
	struct page_align a;
	struct taken out = align(&a, b, piece);

	ck_assert_uint_eq(out.n, b.n);
	ck_assert_mem_eq(out.p, b.p, b.n);
	ck_assert_uint_eq(a.cuts, 0);
	page_align_free(&a);
	free(out.p);
}

static unsigned
events_of(const uint8_t *bytes)
{
	struct page_event e;
	struct page p;
	unsigned n = 0;

	ck_assert_int_eq(page_open(&p, &layout, bytes), OK);
	while (page_next(&p, &e))
		n++;
	ck_assert(!p.is_malformed);
	return n;
}

static bool
has_gap(const uint8_t *bytes)
{
	struct page p;

	ck_assert_int_eq(page_open(&p, &layout, bytes), OK);
	return p.lost > 0;
}

START_TEST(pages_come_out_as_they_are)
{
	static const char *const names[] = { "v6-tcp", "v6-tcp-flush",
		"v6-tcp-missed", "v7-tcp" };

	for (size_t i = 0; i < N(names); i++) {
		struct bytes b = vector_part(names[i], "cpu0");

		check_same(b, pieces[_i]);
		free(b.p);
	}
}
END_TEST

/* A page alone is not kept until the next comes: somebody waits for it. */
START_TEST(a_whole_page_comes_at_once)
{
	struct bytes b = vector_part("v6-tcp-missed", "cpu0");
	struct taken out = { malloc(b.n), 0, b.n };
	struct page_align a;

	ck_assert_int_eq(page_align_init(&a, &layout, false, take, &out), OK);
	for (size_t at = 0; at < b.n; at += SIZE) {
		page_align_bytes(&a, b.p + at, SIZE);
		ck_assert_uint_eq(out.n, at + SIZE);
	}
	page_align_free(&a);
	free(out.p);
	free(b.p);
}
END_TEST

/* B without the bytes from FROM to TO. */
static struct bytes
without(struct bytes b, size_t from, size_t to)
{
	struct bytes out = { malloc(b.n), b.n - (to - from) };

	memcpy(out.p, b.p, from);
	memcpy(out.p + from, b.p + to, b.n - to);
	return out;
}

/* OUT has the pages of B but for page CUT, of which N bytes came. */
static void
check_cut(const struct taken *out, struct bytes b, size_t cut, size_t n,
    uint64_t cuts)
{
	const uint8_t *page = b.p + cut * SIZE;
	const uint32_t data = page_data_bytes(&layout, page);
	const unsigned all = events_of(page);
	size_t at = cut * SIZE;
	const bool is_lossy = n < HEAD + data;

	ck_assert_mem_eq(out->p, b.p, at);
	ck_assert_uint_eq(cuts, is_lossy);
	if (b.n - at - SIZE < out->n - at) {
		const unsigned left = events_of(out->p + at);

		ck_assert_uint_gt(left, 0);
		ck_assert(is_lossy ? left < all : left == all);
		/* Each of them is as it was. */
		ck_assert_mem_eq(out->p + at, page, 8);
		ck_assert_mem_eq(out->p + at + HEAD, page + HEAD,
		    page_data_bytes(&layout, out->p + at));
		at += SIZE;
	} else {
		/* No event is longer here. */
		ck_assert_uint_lt(n, 200);
	}
	ck_assert_uint_eq(out->n - at, b.n - (cut + 1) * SIZE);
	ck_assert_msg(has_gap(out->p + at) == is_lossy, "cut at %zu", n);
	ck_assert_mem_eq(out->p + at, page + SIZE, 8);
	ck_assert_mem_eq(
	    out->p + at + HEAD, page + SIZE + HEAD, out->n - at - HEAD);
}

/* At each byte, in pieces of any size. A page whose events have all come is
 * given out at once, so its next one cannot be found in it. */
START_TEST(a_page_may_stop_anywhere)
{
	struct bytes b = vector_part("v6-tcp-missed", "cpu0");
	const size_t cut = 5;
	const uint32_t data = page_data_bytes(&layout, b.p + cut * SIZE);

	for (size_t n = 1; n < SIZE; n++) {
		struct bytes in = without(b, cut * SIZE + n, (cut + 1) * SIZE);
		struct page_align a;
		struct taken out;

		if (n >= HEAD + data && other_pieces[_i] != SIZE_MAX) {
			free(in.p);
			break;
		}
		out = align(&a, in, other_pieces[_i]);
		check_cut(&out, b, cut, n, a.cuts);
		page_align_free(&a);
		free(out.p);
		free(in.p);
	}
	free(b.p);
}
END_TEST

/* The page of a flush comes before the rest of one that is under way. */
START_TEST(a_page_may_be_inside_of_another)
{
	struct bytes b = vector_part("v6-tcp-missed", "cpu0");

	for (size_t n = 8; n < 3500; n += 13) {
		struct bytes in = bytes_copy(b.p, b.n);
		uint8_t *at = in.p + 3 * SIZE;
		struct page_align a;
		struct taken out;

		memcpy(at + n, b.p + 4 * SIZE, SIZE);
		memcpy(at + n + SIZE, b.p + 3 * SIZE + n, SIZE - n);
		out = align(&a, in, other_pieces[_i]);
		ck_assert_uint_ge(out.n, in.n - SIZE);
		ck_assert_msg(
		    a.cuts == 2, "%u cuts at %zu", (unsigned)a.cuts, n);
		ck_assert_mem_eq(out.p, b.p, 3 * SIZE);
		/* The last ones are those that they were. */
		ck_assert_mem_eq(
		    out.p + out.n - 6 * SIZE, b.p + b.n - 6 * SIZE, 6 * SIZE);
		for (size_t i = 0; i < out.n; i += SIZE)
			ck_assert_uint_gt(events_of(out.p + i), 0);
		ck_assert(has_gap(out.p + out.n - 7 * SIZE));
		page_align_free(&a);
		free(out.p);
		free(in.p);
	}
	free(b.p);
}
END_TEST

static uint32_t
next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* What is no page from the beginning, or for long, is as it came. */
START_TEST(what_cannot_be_read_comes_out_as_it_is)
{
	const size_t n_pages = 3 * PAGE_ALIGN_MISSES_MAX;
	struct bytes good = vector_part("v6-tcp-missed", "cpu0");

	for (unsigned is_good = 0; is_good < 2; is_good++) {
		struct bytes in = { malloc(n_pages * SIZE), n_pages * SIZE };
		uint32_t chance = 1;
		struct page_align a;
		struct taken out;

		for (size_t i = 0; i < in.n; i++)
			in.p[i] = (uint8_t)next_random(&chance);
		memcpy(in.p, good.p, is_good * 2 * SIZE);
		out = align(&a, in, pieces[_i]);
		ck_assert_uint_eq(out.n, in.n);
		ck_assert_mem_eq(out.p, in.p, in.n);
		ck_assert(a.is_off);
		ck_assert_uint_eq(a.cuts, 0);
		page_align_free(&a);
		free(out.p);
		free(in.p);
	}
	free(good.p);
}
END_TEST

/* In each page is what looks like another of about zero, which is far from the
 * time of the first, and of 2 hours later. */
START_TEST(data_may_look_like_a_page)
{
	static const uint64_t looks[] = { 5, 4081 + 7200 };
	struct bytes b = vector_part("v6-tcp-missed", "cpu0");

	for (size_t i = 0; i < b.n; i += SIZE) {
		const uint64_t bytes = 8, events = 1;
		uint8_t *at = b.p + i + 16 + 68 + 8;

		for (size_t k = 0; k < N(looks); k++, at += 40) {
			const uint64_t time = looks[k] * 1000000000;

			memcpy(at, k == 0 ? &looks[k] : &time, 8);
			memcpy(at + 8, &bytes, 8);
			memcpy(at + 16, &events, 8);
		}
	}
	for (size_t i = 0; i < N(pieces); i++)
		check_same(b, pieces[i]);
	free(b.p);
}
END_TEST

/* A clock that is set back is no cut. */
START_TEST(time_may_jump)
{
	struct bytes b = vector_part("v6-tcp-missed", "cpu0");
	struct bytes in = { malloc(2 * b.n), 2 * b.n };
	struct page_align a;
	struct taken out;

	memcpy(in.p, b.p, b.n);
	memcpy(in.p + b.n, b.p, b.n);
	out = align(&a, in, pieces[_i]);
	ck_assert_uint_eq(out.n, in.n);
	ck_assert_mem_eq(out.p, in.p, in.n);
	ck_assert_uint_eq(a.misses, 0);
	page_align_free(&a);
	free(out.p);
	free(in.p);
	free(b.p);
}
END_TEST

/* Bytes are missing, doubled and changed. */
START_TEST(any_bytes_become_pages)
{
	struct bytes b = vector_part("v6-tcp-missed", "cpu0");
	uint32_t chance = (uint32_t)_i + 1;

	for (unsigned times = 0; times < 300; times++) {
		struct bytes in = bytes_copy(b.p, b.n);
		struct page_align a;
		struct taken out;

		for (unsigned i = next_random(&chance) % 9; i > 0; i--) {
			const size_t from = next_random(&chance) % in.n;
			const size_t to = next_random(&chance) % in.n;
			const size_t most = in.n - (from > to ? from : to);
			const size_t n = next_random(&chance) % 5000;

			memmove(in.p + to, in.p + from, n < most ? n : most);
			in.p[from] = (uint8_t)next_random(&chance);
		}
		out = align(&a, in, pieces[_i]);
		ck_assert_uint_le(out.n, in.n + a.cuts * SIZE);
		page_align_free(&a);
		free(out.p);
		free(in.p);
	}
	free(b.p);
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ pages_come_out_as_they_are, N(pieces), 0 },
		{ a_whole_page_comes_at_once, 0, 0 },
		{ a_page_may_stop_anywhere, N(other_pieces), 0 },
		{ a_page_may_be_inside_of_another, N(other_pieces), 0 },
		{ what_cannot_be_read_comes_out_as_it_is, N(pieces), 0 },
		{ data_may_look_like_a_page, 0, 0 },
		{ time_may_jump, N(pieces), 0 },
		{ any_bytes_become_pages, N(pieces), 0 },
	};

	return unit_run("page_align", units, N(units));
}
