/* SPDX-License-Identifier: MIT */
/* Pages of a recorder that lost the rest of one, in any pieces. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/ftrace/vector.h"
#include "tests/lib/bytes.h"
#include "common/compiler.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/order.h"
#include "tools/ftrace/page_align.h"

#define SIZE 4096
#define HEAD 16

static const struct page_layout layout = {
	.size = SIZE, .commit_at = 8, .commit_size = 8, .data_at = HEAD
};
static const size_t pieces[] = { 1, 7, 1000, SIZE - 1, SIZE, SIZE + 1, 10000,
	65536, SIZE_MAX };

/* A page that stops where one has been read is not looked at again: in these
 * pieces none does. */
static const size_t other_pieces[] = { 5000, 10000, 65536, SIZE_MAX };

/* A stream that is divided, and what came out. */
struct run {
	struct page_align a;
	struct bytes in;
	uint8_t *p;
	size_t n, cap;
};

static void
take(void *arg, const uint8_t *p, size_t n)
{
	struct run *t = arg;

	ck_assert_uint_gt(n, 0);
	ck_assert_uint_le(n, t->cap - t->n);
	memcpy(t->p + t->n, p, n);
	t->n += n;
}

static void
begin(struct run *t, const struct page_layout *l, struct bytes take_in)
{
	*t = (struct run){ .in = take_in, .cap = 2 * take_in.n + SIZE };
	t->p = malloc(t->cap);
	ck_assert_int_eq(page_align_init(&t->a, l, take, t), OK);
}

static void
end(struct run *t)
{
	page_align_free(&t->a);
	free(t->p);
	free(t->in.p);
}

/* Divides all of TAKE_IN, in pieces. */
static void
align(struct run *t, struct bytes take_in, size_t piece)
{
	begin(t, &layout, take_in);
	for (size_t at = 0; at < take_in.n;) {
		const size_t left = take_in.n - at;
		const size_t n = piece < left ? piece : left;
		/* So that a sanitizer sees reads beyond it. */
		struct bytes copy = bytes_copy(take_in.p + at, n);

		page_align_bytes(&t->a, copy.p, n);
		free(copy.p);
		at += n;
	}
	page_align_end(&t->a);
}

/* Returns how many searches for a page failed. */
static unsigned
check_same(struct bytes b, size_t piece)
{
	struct run t;
	unsigned misses;

	align(&t, bytes_copy(b.p, b.n), piece);
	ck_assert_uint_eq(t.n, b.n);
	ck_assert_mem_eq(t.p, b.p, b.n);
	ck_assert_uint_eq(t.a.cuts, 0);
	misses = t.a.misses;
	end(&t);
	return misses;
}

/* The pages of a busy CPU; no test changes them. */
static struct bytes
recorded(void)
{
	static struct bytes b;

	if (b.p == NULL)
		b = vector_part("v6-tcp-missed", "cpu0");
	return b;
}

static uint32_t
next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
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

TEST_ROWS(pages_come_out_as_they_are, ARRAY_LEN(pieces))
{
	static const char *const names[] = { "v6-tcp", "v6-tcp-flush",
		"v6-tcp-missed", "v7-tcp" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct bytes b = vector_part(names[i], "cpu0");

		(void)check_same(b, pieces[_i]);
		free(b.p);
	}
}

/* A page alone is not kept until the next comes: somebody waits for it. */
TEST(a_whole_page_comes_at_once)
{
	const struct bytes b = recorded();
	struct run t;

	begin(&t, &layout, bytes_copy(b.p, b.n));
	for (size_t at = 0; at < b.n; at += SIZE) {
		page_align_bytes(&t.a, b.p + at, SIZE);
		ck_assert_uint_eq(t.n, at + SIZE);
	}
	end(&t);
}

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
check_cut(const struct run *out, struct bytes b, size_t cut, size_t n)
{
	const uint8_t *page = b.p + cut * SIZE;
	const uint32_t data = page_data_bytes(&layout, page);
	const unsigned all = events_of(page);
	size_t at = cut * SIZE;
	const bool is_lossy = n < HEAD + data;

	ck_assert_mem_eq(out->p, b.p, at);
	ck_assert_uint_eq(out->a.cuts, is_lossy);
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
TEST_ROWS(a_page_may_stop_anywhere, ARRAY_LEN(other_pieces))
{
	const struct bytes b = recorded();
	const size_t cut = 5;
	const uint32_t data = page_data_bytes(&layout, b.p + cut * SIZE);

	for (size_t n = 1; n < SIZE; n++) {
		struct bytes in = without(b, cut * SIZE + n, (cut + 1) * SIZE);
		struct run t;

		if (n >= HEAD + data && other_pieces[_i] != SIZE_MAX) {
			free(in.p);
			break;
		}
		align(&t, in, other_pieces[_i]);
		check_cut(&t, b, cut, n);
		end(&t);
	}
}

/* OUT has CUT whole pages of B, and the whole events of the N bytes after them.
 */
static void
check_last(const struct run *out, struct bytes b, size_t cut, size_t n)
{
	const uint8_t *page = b.p + cut * SIZE, *last = out->p + cut * SIZE;
	const bool is_lossy = n < HEAD + page_data_bytes(&layout, page);

	ck_assert_mem_eq(out->p, b.p, cut * SIZE);
	ck_assert_uint_eq(out->a.cuts, is_lossy);
	if (out->n == cut * SIZE) {
		/* No event is longer here. */
		ck_assert_uint_lt(n, 200);
		return;
	}
	ck_assert_uint_eq(out->n, (cut + 1) * SIZE);
	ck_assert_uint_gt(events_of(last), 0);
	if (is_lossy)
		ck_assert_uint_lt(events_of(last), events_of(page));
	else
		ck_assert_uint_eq(events_of(last), events_of(page));
	ck_assert_mem_eq(last, page, 8);
	ck_assert_mem_eq(
	    last + HEAD, page + HEAD, page_data_bytes(&layout, last));
}

/* In the first page, too. */
TEST_ROWS(a_stream_may_end_anywhere, ARRAY_LEN(other_pieces))
{
	const struct bytes b = recorded();

	for (size_t cut = 0; cut <= 5; cut += 5)
		for (size_t n = 1; n < SIZE; n++) {
			struct run t;

			align(&t, bytes_copy(b.p, cut * SIZE + n),
			    other_pieces[_i]);
			check_last(&t, b, cut, n);
			end(&t);
		}
}

/* An idle CPU's last page is hours newer; and a page in front of it was cut. */
TEST(a_last_page_may_be_late_and_behind_a_gap)
{
	struct bytes b = vector_part("v6-tcp-missed", "cpu0");
	uint8_t *last = b.p + 8 * SIZE;
	const uint64_t late = order_u64(false, last) +
			      UINT64_C(3600) * 1000000000;
	struct bytes in = without(b, 5 * SIZE + 1000, 6 * SIZE);
	struct run t;

	(void)order_store_u64(false, last, late);
	in.n = 8 * SIZE - (SIZE - 1000) + 2000;
	memcpy(in.p + in.n - 2000, last, 2000);
	align(&t, in, SIZE_MAX);
	ck_assert_uint_eq(t.n, 9 * SIZE);
	ck_assert_uint_eq(t.a.cuts, 2);
	ck_assert_uint_gt(events_of(t.p + 8 * SIZE), 0);
	ck_assert_mem_eq(t.p + 8 * SIZE, &late, 8);
	end(&t);
	free(b.p);
}

/* A page loses its rest, and the one after it is incomplete at the end: no
 * event is made of bytes of both. */
TEST_ROWS(a_last_page_may_be_inside_of_another, ARRAY_LEN(other_pieces))
{
	const struct bytes b = recorded();
	const uint8_t *page = b.p + 5 * SIZE;

	for (size_t n = 1; n < 2000; n++) {
		struct bytes in = without(b, 5 * SIZE + n, 6 * SIZE);
		struct run t;

		in.n = 5 * SIZE + n + 2000;
		align(&t, in, other_pieces[_i]);
		ck_assert_uint_eq(t.a.cuts, 2);
		ck_assert_mem_eq(t.p, b.p, 5 * SIZE);
		if (t.n > 5 * SIZE) {
			const uint8_t *last = t.p + 5 * SIZE;
			const uint32_t data = page_data_bytes(&layout, last);

			ck_assert_uint_eq(t.n, 6 * SIZE);
			ck_assert_uint_gt(events_of(last), 0);
			ck_assert_uint_le(HEAD + data, n);
			ck_assert_mem_eq(last + HEAD, page + HEAD, data);
		} else {
			/* No event is longer here. */
			ck_assert_uint_lt(n, 200);
		}
		end(&t);
	}
}

/* Junk at the end, or nothing but junk, becomes no page. */
TEST_ROWS(what_is_no_page_at_the_end_is_none, ARRAY_LEN(pieces))
{
	const struct bytes b = recorded();
	uint32_t chance = 1;

	for (size_t pages = 0; pages <= 3; pages++)
		for (size_t n = 1; n < SIZE; n += 1 + n / 9) {
			struct bytes in = { malloc(pages * SIZE + n),
				pages * SIZE + n };
			struct run t;

			memcpy(in.p, b.p, pages * SIZE);
			for (size_t i = pages * SIZE; i < in.n; i++)
				in.p[i] = (uint8_t)next_random(&chance);
			align(&t, in, pieces[_i]);
			ck_assert_uint_eq(t.n, pages * SIZE);
			ck_assert_mem_eq(t.p, b.p, t.n);
			end(&t);
		}
}

static bool
is_malformed(const uint8_t *bytes)
{
	struct page_event e;
	struct page p;

	if (page_open(&p, &layout, bytes) != OK)
		return true;
	while (page_next(&p, &e))
		;
	return p.is_malformed;
}

/* A page comes before the rest of one that is under way. */
TEST_ROWS(a_page_may_be_inside_of_another, ARRAY_LEN(other_pieces))
{
	const struct bytes b = recorded();

	for (size_t n = 8; n < 3500; n += 13) {
		struct bytes in = bytes_copy(b.p, b.n);
		uint8_t *at = in.p + 3 * SIZE;
		struct run t;

		memcpy(at + n, b.p + 4 * SIZE, SIZE);
		memcpy(at + n + SIZE, b.p + 3 * SIZE + n, SIZE - n);
		/* By chance it can be read. */
		if (!is_malformed(at)) {
			free(in.p);
			continue;
		}
		align(&t, in, other_pieces[_i]);
		ck_assert_uint_ge(t.n, in.n - SIZE);
		ck_assert_msg(
		    t.a.cuts == 2, "%u cuts at %zu", (unsigned)t.a.cuts, n);
		ck_assert_mem_eq(t.p, b.p, 3 * SIZE);
		/* The last ones are those that they were. */
		ck_assert_mem_eq(
		    t.p + t.n - 6 * SIZE, b.p + b.n - 6 * SIZE, 6 * SIZE);
		for (size_t i = 0; i < t.n; i += SIZE)
			ck_assert_uint_gt(events_of(t.p + i), 0);
		ck_assert(has_gap(t.p + t.n - 7 * SIZE));
		end(&t);
	}
}

/* Heads that begin in each other, with one event each: few bytes that must not
 * become many pages. */
TEST_ROWS(few_bytes_do_not_become_many, ARRAY_LEN(pieces))
{
	const struct bytes good = recorded();
	struct bytes in = { malloc(50 * SIZE), 50 * SIZE };
	uint64_t time = order_u64(false, good.p);
	struct run t;

	memcpy(in.p, good.p, SIZE);
	for (size_t at = SIZE; at < in.n; at += 24) {
		uint8_t *p = order_store_u64(false, in.p + at, ++time);

		if (in.n - at < 24)
			break;
		p = order_store_u64(false, p, 8);
		(void)order_store_u64(false, p, 1);
	}
	align(&t, in, pieces[_i]);
	ck_assert_uint_le(t.n, in.n + PAGE_ALIGN_MISSES_MAX * SIZE);
	end(&t);
}

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#define LARGE ((size_t)1 << 20)

/* A page of events of 8 bytes each. */
static void
put_large(uint8_t *p, uint64_t time)
{
	p = order_store_u64(false, p, time);
	p = order_store_u64(false, p, LARGE - HEAD);
	for (size_t i = HEAD; i < LARGE; i += 8)
		p = order_store_u64(false, p, 1);
}

/* A page whose last event is none waits for the page after it, which comes
 * byte by byte. Each byte once cost 0.5 ms. */
TEST(bytes_that_change_nothing_cost_nothing)
{
	const struct page_layout large = {
		.size = LARGE, .commit_at = 8, .commit_size = 8, .data_at = HEAD
	};
	const size_t n = 2 * LARGE + 24;
	struct bytes in = { calloc(1, 3 * LARGE), 3 * LARGE };
	struct run t;
	uint64_t began;

	put_large(in.p, 1000);
	put_large(in.p + LARGE, 2000);
	put_large(in.p + 2 * LARGE, UINT64_C(1) << 40);
	in.p[2 * LARGE - 8] = 20;
	begin(&t, &large, in);
	page_align_bytes(&t.a, in.p, n);
	ck_assert_uint_eq(t.n, LARGE);
	began = cpu_ns();
	for (size_t at = n; at < n + 2000; at++)
		page_align_bytes(&t.a, in.p + at, 1);
	ck_assert_uint_lt((cpu_ns() - began) / 2000, 50000);
	page_align_bytes(&t.a, in.p + n + 2000, in.n - n - 2000);
	page_align_end(&t.a);
	ck_assert_uint_eq(t.n, in.n);
	end(&t);
}

/* What is no page from the beginning, or for long, is as it came. */
TEST_ROWS(what_cannot_be_read_comes_out_as_it_is, ARRAY_LEN(pieces))
{
	const size_t n_pages = 3 * PAGE_ALIGN_MISSES_MAX;
	const struct bytes good = recorded();

	for (unsigned is_good = 0; is_good < 2; is_good++) {
		struct bytes in = { malloc(n_pages * SIZE), n_pages * SIZE };
		uint32_t chance = 1;
		struct run t;

		for (size_t i = 0; i < in.n; i++)
			in.p[i] = (uint8_t)next_random(&chance);
		memcpy(in.p, good.p, is_good * 2 * SIZE);
		align(&t, in, pieces[_i]);
		ck_assert_uint_eq(t.n, in.n);
		ck_assert_mem_eq(t.p, in.p, in.n);
		ck_assert(t.a.is_off);
		ck_assert_uint_eq(t.a.cuts, 0);
		end(&t);
	}
}

/* In each page is what looks like another of about zero, which is far from the
 * time of the first, and of 2 hours later. */
TEST(data_may_look_like_a_page)
{
	static const uint64_t looks[] = { 5, 4081 + 7200 };
	struct bytes b = vector_part("v6-tcp-missed", "cpu0");

	for (size_t i = 0; i < b.n; i += SIZE) {
		const uint64_t bytes = 8, events = 1;
		uint8_t *at = b.p + i + 16 + 68 + 8;

		for (size_t k = 0; k < ARRAY_LEN(looks); k++, at += 40) {
			const uint64_t time = looks[k] * 1000000000;

			memcpy(at, k == 0 ? &looks[k] : &time, 8);
			memcpy(at + 8, &bytes, 8);
			memcpy(at + 16, &events, 8);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
		(void)check_same(b, pieces[i]);
	free(b.p);
}

/* A clock that is set back is no cut. */
TEST_ROWS(time_may_jump, ARRAY_LEN(pieces))
{
	const struct bytes b = recorded();
	struct bytes in = { malloc(2 * b.n), 2 * b.n };

	memcpy(in.p, b.p, b.n);
	memcpy(in.p + b.n, b.p, b.n);
	ck_assert_uint_eq(check_same(in, pieces[_i]), 0);
	free(in.p);
}

/* Any stream that no recorder has cut. */
struct stream {
	struct page_layout layout;
	uint64_t time, step; /* between two pages */
	bool jumps;	     /* a clock that is set, or stood still for days */
	uint32_t chance;
};

static const struct {
	uint32_t size, long_size;
	bool is_big;
	uint64_t time, step;
} streams[] = {
	{ 4096, 8, false, UINT64_C(4081000000000), 1000000 },	  /* local */
	{ 4096, 8, false, 1, 300 },				  /* counter */
	{ 4096, 8, false, 360000, 1 },				  /* uptime */
	{ 4096, 8, false, UINT64_C(1) << 53, UINT64_C(1) << 33 }, /* TSC */
	{ 4096, 8, false, UINT64_C(1790000000) * 1000000000, 9 }, /* TAI */
	{ 4096, 8, false, 5, UINT64_C(1) << 40 }, /* an idle CPU */
	{ 4096, 8, true, UINT64_C(4081000000000), 1000000 },
	{ 4096, 4, false, UINT64_C(4081000000000), 1000000 },
	{ 4096, 4, true, 1, 300 },
	{ 512, 8, false, 1, 40 },
	{ 512, 4, true, UINT64_C(4081000000000), 1000000 },
	{ 65536, 8, false, UINT64_C(4081000000000), 1000000 },
	{ 1 << 20, 8, false, 1, 100000 },
};

static uint64_t
random_step(struct stream *s)
{
	if (s->jumps && next_random(&s->chance) % 3 == 0)
		return (uint64_t)next_random(&s->chance)
		       << next_random(&s->chance) % 40;
	return next_random(&s->chance) % s->step + 1;
}

#define EVENT 44
#define LOOK_AT 12 /* in it */

/* An event: numbers that are small, or, as arguments of a system call may be,
 * just what the head of a page has. Returns the address after it. */
static uint8_t *
put_event(struct stream *s, uint8_t *p, bool may_be_padding)
{
	const bool is_big = s->layout.is_big;
	const bool is_padding = may_be_padding &&
				next_random(&s->chance) % 16 == 0;
	const uint32_t delta = next_random(&s->chance) % 4;
	const uint32_t type = is_padding ? 29 : 0;

	p = order_store_u32(is_big, p,
	    is_big ? type << 27 | (delta + 1) : (delta + 1) << 5 | type);
	p = order_store_u32(is_big, p, EVENT - 4);
	p = order_store_u32(is_big, p, next_random(&s->chance) % 99);
	if (next_random(&s->chance) % 4 > 0) {
		for (unsigned i = 0; i < 4; i++)
			p = order_store_u64(
			    is_big, p, next_random(&s->chance) % 16);
		return p;
	}
	p = order_store_u64(
	    is_big, p, s->time + next_random(&s->chance) % 1000);
	if (s->layout.commit_size == 4)
		p = order_store_u32(is_big, p, 8);
	else
		p = order_store_u64(is_big, p, 8);
	p = order_store_u32(is_big, p, is_big ? 1 << 27 : 1);
	for (uint32_t i = 0; i < 4 - s->layout.commit_size / 4 + 1; i++)
		p = order_store_u32(is_big, p, 7);
	return p;
}

/* A page that is full or not, maybe without any event, of which events are lost
 * or not. */
static void
put_page(struct stream *s, uint8_t *page, bool needs_event)
{
	const struct page_layout *l = &s->layout;
	const uint32_t events = (l->size - l->data_at) / EVENT;
	const uint32_t chosen = next_random(&s->chance) % 8;
	const uint32_t n = chosen == 0 && !needs_event ? 0
			   : chosen < 3		       ? 1
			   : chosen < 5 ? 1 + next_random(&s->chance) % events
					: events;
	/* The other half of it may be its sign. */
	static const uint64_t losts[] = { 0, 0, UINT64_C(0xffffffff80000000),
		UINT64_C(0x80000000) };
	const uint64_t lost = losts[next_random(&s->chance) % ARRAY_LEN(losts)];
	uint8_t *p = page + l->data_at;

	(void)order_store_u64(l->is_big, page, s->time);
	for (uint32_t i = 0; i < n; i++)
		p = put_event(s, p, i > 0 || !needs_event);
	if (l->commit_size == 4)
		(void)order_store_u32(
		    l->is_big, page + 8, (uint32_t)lost | n * EVENT);
	else
		(void)order_store_u64(l->is_big, page + 8, lost | n * EVENT);
	s->time += random_step(s);
}

static struct stream
stream_of(unsigned i, bool jumps, uint32_t chance)
{
	return (struct stream){ .layout = { .size = streams[i].size,
				    .commit_at = 8,
				    .commit_size = streams[i].long_size,
				    .data_at = 8 + streams[i].long_size,
				    .is_big = streams[i].is_big },
		.time = streams[i].time,
		.step = streams[i].step,
		.jumps = jumps,
		.chance = chance };
}

/* Each page is given out when all of it is here, and as it is; whatever its
 * events look like, and at whatever time it comes. */
static void
check_valid(unsigned which, bool jumps, uint32_t chance)
{
	struct stream s = stream_of(which, jumps, chance);
	const size_t size = s.layout.size, pages = size > 9999 ? 12 : 60;
	struct bytes in = { calloc(pages, size), pages * size };
	struct run t;

	for (size_t i = 0; i < pages; i++)
		put_page(&s, in.p + i * size, i == 0 || jumps);
	begin(&t, &s.layout, in);
	for (size_t at = 0; at < in.n;) {
		const size_t left = in.n - at;
		const size_t some = next_random(&s.chance) % (3 * size) + 1;
		size_t n = some < left ? some : left;

		if (next_random(&s.chance) % 2 == 0)
			n -= (at + n) % size < n ? (at + n) % size : 0;
		page_align_bytes(&t.a, in.p + at, n);
		at += n;
		if (at % size == 0)
			ck_assert_msg(t.n == at,
			    "%zu of %zu bytes of stream %u, %u", t.n, at, which,
			    (unsigned)chance);
	}
	page_align_end(&t.a);
	ck_assert_uint_eq(t.n, in.n);
	ck_assert_mem_eq(t.p, in.p, in.n);
	ck_assert_uint_eq(t.a.cuts, 0);
	ck_assert(!t.a.is_off);
	end(&t);
}

TEST_ROWS(valid_streams_are_neither_changed_nor_late, ARRAY_LEN(streams))
{
	const unsigned times = streams[_i].size > 99999 ? 3 : 40;

	for (uint32_t chance = 1; chance <= times; chance++) {
		check_valid((unsigned)_i, false, chance);
		check_valid((unsigned)_i, true, chance);
	}
}

/* How much is left of a page. Two events of these that are a page from each
 * other would be pages, and one after such a page would be its next. */
static size_t
cut_of(struct stream *s)
{
	const uint32_t size = s->layout.size;
	uint32_t n;

	do
		n = next_random(&s->chance) % (size - 1) + 1;
	while (n % EVENT == size % EVENT ||
	       (size - n) % EVENT == (s->layout.data_at + LOOK_AT) % EVENT);
	return n;
}

/* A page loses its rest in a stream in which each fourth event looks like a
 * page: that may cost one more, no other. */
static void
check_cut_among_looks(unsigned which, uint32_t chance)
{
	struct stream s = stream_of(which, false, chance);
	const size_t size = s.layout.size, pages = 12, cut = 5, behind = 5;
	struct bytes all = { calloc(pages, size), pages * size }, in;
	const size_t n = cut_of(&s);
	struct run t;

	for (size_t i = 0; i < pages; i++)
		put_page(&s, all.p + i * size, true);
	in = without(all, cut * size + n, (cut + 1) * size);
	begin(&t, &s.layout, in);
	page_align_bytes(&t.a, in.p, in.n);
	page_align_end(&t.a);
	ck_assert_mem_eq(t.p, all.p, cut * size);
	ck_assert_uint_ge(t.n, (cut + behind) * size);
	ck_assert_mem_eq(t.p + t.n - (behind - 1) * size,
	    all.p + all.n - (behind - 1) * size, (behind - 1) * size);
	end(&t);
	free(all.p);
}

TEST_ROWS(a_cut_is_found_among_what_looks_like_pages, ARRAY_LEN(streams))
{
	const unsigned times = streams[_i].size > 9999 ? 3 : 100;

	/* The times of a counter look like any number; who is idle for long
	 * enough has no page that is likely. */
	for (uint32_t chance = 1; chance <= times; chance++)
		if (streams[_i].step < UINT64_C(1) << 36 &&
		    streams[_i].time > UINT32_MAX)
			check_cut_among_looks((unsigned)_i, chance);
}

/* Bytes are missing, doubled and changed. */
TEST_ROWS(any_bytes_become_pages, ARRAY_LEN(pieces))
{
	const struct bytes b = recorded();
	uint32_t chance = (uint32_t)_i + 1;

	for (unsigned times = 0; times < 300; times++) {
		struct bytes in = bytes_copy(b.p, b.n);
		struct run t;

		for (unsigned i = next_random(&chance) % 9; i > 0; i--) {
			const size_t from = next_random(&chance) % in.n;
			const size_t to = next_random(&chance) % in.n;
			const size_t most = in.n - (from > to ? from : to);
			const size_t n = next_random(&chance) % 5000;

			memmove(in.p + to, in.p + from, n < most ? n : most);
			in.p[from] = (uint8_t)next_random(&chance);
		}
		align(&t, in, pieces[_i]);
		ck_assert_uint_le(t.n, in.n + t.a.cuts * SIZE);
		end(&t);
	}
}
