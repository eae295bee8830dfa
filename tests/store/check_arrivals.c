/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "store/arrivals.h"

#include <stdlib.h>
#include <string.h>

#include "store/packet.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

#define MS UINT64_C(1000000)
#define TIMEOUT (100 * MS)
#define FRAGMENT 512
#define NOTHING UINT64_MAX

static struct published account;
static struct packet_pool pool;
static struct reorder reorder;
static struct arrivals arrivals;
static uint64_t now;
static uint64_t n_lost, n_announced; /* by give_up() */

static void
begin(uint32_t window)
{
	const struct arrivals_config config = { FRAGMENT, window, TIMEOUT };

	packet_pool_init(&pool, 1 << 20, &account);
	reorder_init(&reorder, &pool, true);
	arrivals_init(&arrivals, &reorder, &config);
	now = 1000 * MS;
	n_lost = n_announced = 0;
}

static void
end(void)
{
	arrivals_free(&arrivals);
	ck_assert_uint_eq(arrivals.partial_bytes, 0);
	ck_assert_ptr_null(arrivals.lowest.items);
	reorder_free(&reorder);
	packet_pool_free(&pool);
	ck_assert_uint_eq(published(&account), 0);
}

/* Each 4 bytes are its number and their offset. */
static void
fill(uint8_t *out, uint64_t seq, uint32_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (uint8_t)(seq * 31 + (at + i) / 4 + (at + i) % 4);
}

static enum arrived
piece(uint64_t seq, uint32_t i, uint32_t size)
{
	uint8_t bytes[FRAGMENT];
	const uint32_t at = i * FRAGMENT;
	const uint32_t len = size - at < FRAGMENT ? size - at : FRAGMENT;
	const struct arrival f = { seq, size, 0, at, bytes, len };
	struct packet *whole;
	enum arrived what;
	enum status st;

	fill(bytes, seq, at, len);
	what = arrivals_add(&arrivals, &f, now, &whole);
	MUST((what == ARRIVED_WHOLE) == (whole != NULL));
	if (whole != NULL) {
		st = reorder_data(&reorder, whole);
		MUST(st == OK || st == E_NOMEM);
	}
	return what;
}

static void
record(uint64_t seq)
{
	const struct index_record rec = { .packet_seq_num = seq };

	reorder.now = now;
	MUST(reorder_record(&reorder, seq, &rec) ==
	     (seq < reorder.next ? E_NOENT : OK));
	arrivals_note_sent(&arrivals, seq);
}

/* The number of what leaves, its bytes looked at. */
static uint64_t
pop(void)
{
	struct packet *p = reorder_pop(&reorder);
	uint8_t want[4096];
	uint64_t seq;
	uint32_t at = 0;

	if (p == NULL)
		return NOTHING;
	for (const struct slab_block *b = p->blocks; b != NULL; b = b->next) {
		MUST(b->used <= sizeof(want));
		fill(want, p->net_seq, at, b->used);
		MUST(memcmp(b->mem, want, b->used) == 0);
		at += b->used;
	}
	MUST(at == p->size);
	seq = p->net_seq;
	packet_destroy(&pool, p);
	return seq;
}

static void
give_up(uint64_t to)
{
	struct reorder_loss loss;

	arrivals_skip(&arrivals, to, &loss);
	MUST(loss.first + loss.n == to);
	n_lost += loss.n;
	n_announced += loss.records;
}

static uint32_t
holes(struct arrivals_hole *out, uint32_t max)
{
	uint32_t looks = UINT32_MAX;

	return arrivals_holes(&arrivals, out, max, &looks);
}

/* What is due now: the new next number. */
static uint64_t
due(void)
{
	uint64_t to;

	(void)arrivals_due(&arrivals, now, &to);
	if (to > reorder.next)
		give_up(to);
	return reorder.next;
}

static uint64_t
due_at(void)
{
	uint64_t to, at = arrivals_due(&arrivals, now, &to);

	ck_assert_uint_eq(to, reorder.next);
	return at;
}

#define LARGEST 300000

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

static uint8_t content[LARGEST];

/* Add piece I of packet SEQ, which has the first SIZE bytes of CONTENT. */
static struct packet *
add_content(uint64_t seq, uint32_t i, uint32_t size, enum arrived want)
{
	const uint32_t fragment = arrivals.config.fragment_size;
	const uint32_t at = i * fragment;
	const struct arrival f = { seq, size, 5, at, content + at,
		size - at < fragment ? size - at : fragment };
	struct packet *whole;

	ck_assert_int_eq(arrivals_add(&arrivals, &f, now, &whole), want);
	return whole;
}

EACH_TEST(NULL, end)

/* STRIDE is prime, and so no divisor of the number of pieces. */
TEST_ROWS(pieces_in_any_order_make_the_packet, ARRAY_LEN(shapes))
{
	static const uint32_t strides[] = { 1, 7919, 104729 };
	const uint32_t size = shapes[_i].size;
	const uint32_t n = (size - 1) / shapes[_i].fragment + 1;
	struct packet *p = NULL;

	begin(64);
	arrivals.config.fragment_size = shapes[_i].fragment;
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7 + i / 251);
	for (unsigned s = 0; s < ARRAY_LEN(strides); s++) {
		for (uint64_t k = 0; k < n; k++) {
			const uint32_t i = (uint32_t)(k * strides[s] % n);

			p = add_content(
			    s, i, size, k < n - 1 ? ARRIVED : ARRIVED_WHOLE);
			if (p == NULL)
				add_content(s, i, size, ARRIVED_TWICE);
		}
		ck_assert_uint_eq(p->net_seq, s);
		ck_assert_uint_eq(p->padding, 5);
		ck_assert_uint_eq(p->size, size);
		ck_assert(packet_is_whole(p));
		size_t at = 0;
		for (const struct slab_block *b = p->blocks; b != NULL;
		     b = b->next) {
			ck_assert_uint_le(at + b->used, size);
			ck_assert_mem_eq(b->mem, content + at, b->used);
			at += b->used;
		}
		ck_assert_uint_eq(at, size);
		packet_destroy(&pool, p);
	}
}

TEST(the_size_in_a_header_costs_bits_and_pointers)
{
	const uint32_t size = UINT32_C(64) << 20;
	const uint8_t bytes[FRAGMENT] = { 0 };
	const struct arrival f = { 0, size, 0, size - FRAGMENT, bytes,
		FRAGMENT };
	struct packet *whole;

	begin(64);
	ck_assert_int_eq(arrivals_add(&arrivals, &f, now, &whole), ARRIVED);
	ck_assert_uint_eq(published(&account), 65536);
	ck_assert_uint_le(arrivals.partial_bytes, 65536 + 32 * 1024);
}

TEST(a_gap_starts_when_a_later_packet_is_known)
{
	begin(64);
	ck_assert(!arrivals_has_gap(&arrivals));
	ck_assert_uint_eq(due_at(), UINT64_MAX);
	ck_assert_int_eq(piece(2, 0, 100), ARRIVED_WHOLE);
	ck_assert(arrivals_has_gap(&arrivals));
	ck_assert_uint_eq(due_at(), now + TIMEOUT);
	now += TIMEOUT - 1;
	ck_assert_uint_eq(due(), 0);
	now += 1;
	ck_assert_uint_eq(due(), 2);
	ck_assert_uint_eq(n_lost, 2);
	ck_assert(!arrivals_has_gap(&arrivals));
	record(2);
	ck_assert_uint_eq(pop(), 2);
	ck_assert_int_eq(piece(1, 0, 100), ARRIVED_LATE);
	ck_assert_int_eq(piece(2, 0, 100), ARRIVED_LATE);
}

TEST(only_what_is_known_for_long_is_lost)
{
	begin(64);
	record(0);
	now += TIMEOUT / 2;
	record(1);
	record(2);
	now += TIMEOUT / 2;
	ck_assert_uint_eq(due(), 1);
	ck_assert_uint_eq(due_at(), now + TIMEOUT / 2);
	ck_assert_int_eq(piece(1, 0, 100), ARRIVED_WHOLE);
	ck_assert_uint_eq(pop(), 1);
	now += TIMEOUT / 2;
	ck_assert_uint_eq(due(), 3);
	ck_assert_uint_eq(n_lost, 2);
	ck_assert_uint_eq(n_announced, 2);
}

TEST(a_packet_that_grows_is_not_lost)
{
	begin(64);
	record(0);
	record(1);
	for (uint32_t i = 0; i < 8; i++) {
		ck_assert_int_eq(
		    piece(0, i, 4096), i < 7 ? ARRIVED : ARRIVED_WHOLE);
		now += TIMEOUT - 1;
		ck_assert_uint_eq(due(), 0);
	}
	ck_assert_uint_eq(pop(), 0);
	/* the other has been known all the time */
	ck_assert_uint_eq(due(), 2);
}

TEST(a_packet_that_stops_growing_is_lost)
{
	begin(64);
	record(0);
	ck_assert_int_eq(piece(0, 3, 4096), ARRIVED);
	now += TIMEOUT - 1;
	ck_assert_int_eq(piece(0, 4, 4096), ARRIVED);
	ck_assert_int_eq(piece(0, 4, 4096), ARRIVED_TWICE);
	now += TIMEOUT - 1;
	ck_assert_uint_eq(due(), 0);
	now += 1;
	ck_assert_uint_eq(due(), 1);
	ck_assert_uint_eq(arrivals.partial_bytes, 0);
}

/* A slow sender may pause in the midst of a packet. */
TEST(a_packet_that_is_being_sent_is_no_gap)
{
	begin(64);
	ck_assert_int_eq(piece(0, 0, 2048), ARRIVED);
	ck_assert(!arrivals_has_gap(&arrivals));
	ck_assert_uint_eq(due_at(), UINT64_MAX);
	now += 100 * TIMEOUT;
	ck_assert_uint_eq(due(), 0);
	/* the next one: all of the first were sent */
	ck_assert_int_eq(piece(1, 0, 2048), ARRIVED);
	ck_assert(arrivals_has_gap(&arrivals));
	ck_assert_uint_eq(due_at(), now + TIMEOUT);
	now += TIMEOUT;
	ck_assert_uint_eq(due(), 1);
	ck_assert(!arrivals_has_gap(&arrivals));
	now += 100 * TIMEOUT;
	ck_assert_uint_eq(due(), 1);
	record(1);
	ck_assert_uint_eq(due_at(), now + TIMEOUT);
	for (uint32_t i = 1; i < 4; i++)
		ck_assert_int_eq(
		    piece(1, i, 2048), i < 3 ? ARRIVED : ARRIVED_WHOLE);
	ck_assert_uint_eq(pop(), 1);
	ck_assert_uint_eq(n_lost, 1);
}

TEST(patience_with_what_grows_has_an_end)
{
	uint32_t i = 0;

	begin(64);
	record(0);
	for (; due() == 0 && i < 100; i++) {
		ck_assert_int_eq(piece(0, i, 64 * FRAGMENT), ARRIVED);
		now += TIMEOUT / 2;
	}
	ck_assert_uint_eq(i, 2 * ARRIVALS_PATIENCE);
	ck_assert_uint_eq(n_lost, 1);
}

TEST(a_packet_without_its_record_is_no_gap)
{
	begin(1);
	ck_assert_int_eq(piece(0, 0, 100), ARRIVED_WHOLE);
	ck_assert_int_eq(piece(1, 0, 100), ARRIVED_WHOLE);
	now += 10 * TIMEOUT;
	ck_assert_uint_eq(due(), 0);
	ck_assert(!arrivals_window_is_full(&arrivals));
	record(0);
	ck_assert_uint_eq(pop(), 0);
	ck_assert_uint_eq(pop(), NOTHING);
}

TEST(questions_and_the_last_number_start_gaps)
{
	begin(64);
	arrivals_ask(&arrivals, 1, now);
	now += TIMEOUT / 2;
	arrivals_ask(&arrivals, 3, now); /* one at a time */
	ck_assert_uint_eq(due_at(), now + TIMEOUT / 2);
	now += TIMEOUT / 2;
	ck_assert_uint_eq(due(), 2);
	ck_assert_uint_eq(due_at(), UINT64_MAX);
	arrivals_last(&arrivals, 5, now);
	ck_assert_uint_eq(due_at(), now + TIMEOUT);
	now += TIMEOUT;
	ck_assert_uint_eq(due(), 6);
}

TEST_ROWS(a_full_window_is_a_loss_unless_the_sender_resends, 2)
{
	uint64_t to;

	begin(_i == 0 ? 3 : 0);
	for (uint64_t seq = 1; seq <= 3; seq++) {
		ck_assert(!arrivals_window_is_full(&arrivals));
		ck_assert_int_eq(piece(seq, 0, 100), ARRIVED_WHOLE);
	}
	ck_assert(arrivals_window_is_full(&arrivals) == (_i == 0));
	ck_assert(reorder_lowest(&reorder, &to));
	ck_assert_uint_eq(to, 1);
}

TEST(other_sizes_contradict)
{
	const uint8_t bytes[FRAGMENT] = { 0 };
	struct arrival f = { 0, 2000, 7, 0, bytes, FRAGMENT };
	struct packet *whole;

	begin(64);
	ck_assert_int_eq(arrivals_add(&arrivals, &f, now, &whole), ARRIVED);
	f.offset = FRAGMENT;
	f.size = 2001;
	ck_assert_int_eq(
	    arrivals_add(&arrivals, &f, now, &whole), ARRIVED_FALSE);
	f.size = 2000;
	f.padding = 8;
	ck_assert_int_eq(
	    arrivals_add(&arrivals, &f, now, &whole), ARRIVED_FALSE);
	f.padding = 7;
	ck_assert_int_eq(arrivals_add(&arrivals, &f, now, &whole), ARRIVED);
}

/* Packets of one piece with their records, and of each other number nothing. */
static void
every_other(uint64_t from, uint64_t to)
{
	for (; from < to; from += 2) {
		ck_assert_int_eq(piece(from, 0, 100), ARRIVED_WHOLE);
		record(from);
	}
}

TEST(gaps_that_are_due_together_cost_one_look)
{
	const uint64_t n = 60000;
	uint64_t left = 0;
	clock_t began;

	begin(0);
	every_other(1, n);
	now += ARRIVALS_PATIENCE * TIMEOUT;
	began = clock();
	for (uint64_t next = 0; next < n; next += 2) {
		ck_assert_uint_eq(due(), next + 1);
		while (pop() != NOTHING)
			left++;
	}
	ck_assert_uint_eq(left, n / 2);
	ck_assert_uint_eq(n_lost, n / 2);
	/* 30,000 gaps: with a look at each packet behind it was 10^9 steps. */
	ck_assert_int_lt((clock() - began) / CLOCKS_PER_SEC, 1);
}

TEST(what_comes_later_counts_at_the_same_time)
{
	begin(0);
	every_other(1, 4);
	now += TIMEOUT;
	ck_assert_uint_eq(due(), 1);
	ck_assert_uint_eq(pop(), 1);
	ck_assert_int_eq(piece(2, 0, 2048), ARRIVED);
	/* A piece of it came just now. */
	ck_assert_uint_eq(due(), 2);
	ck_assert_uint_eq(due_at(), now + TIMEOUT);
}

TEST(a_question_looks_at_few_numbers)
{
	struct arrivals_hole h[8];
	uint32_t looks = 4;

	begin(0);
	every_other(1, 20);
	ck_assert_uint_eq(arrivals_holes(&arrivals, h, 8, &looks), 3);
	ck_assert_uint_eq(h[2].net_seq, 4);
	ck_assert_uint_eq(looks, 0);
	/* The lowest one is always told, so that it can be filled. */
	ck_assert_uint_eq(arrivals_holes(&arrivals, h, 8, &looks), 1);
	ck_assert_uint_eq(h[0].net_seq, 0);
}

TEST(holes_are_told_lowest_first)
{
	struct arrivals_hole h[8];

	begin(64);
	ck_assert_uint_eq(holes(h, 8), 0);
	ck_assert_int_eq(piece(1, 0, 100), ARRIVED_WHOLE);
	ck_assert_int_eq(piece(2, 1, 2048), ARRIVED);
	record(3);
	ck_assert_uint_eq(holes(h, 8), 4);
	ck_assert(h[0].net_seq == 0 && h[0].count == UINT32_MAX);
	ck_assert(h[1].net_seq == 2 && h[1].first == 0 && h[1].count == 1);
	ck_assert(h[2].net_seq == 2 && h[2].first == 2 && h[2].count == 2);
	ck_assert(h[3].net_seq == 3 && h[3].count == UINT32_MAX);
	ck_assert_uint_eq(holes(h, 2), 2);
}

TEST(victims_are_the_oldest_of_what_is_missing)
{
	uint64_t to;

	begin(64);
	ck_assert(!arrivals_victim(&arrivals, &to));
	ck_assert_int_eq(piece(3, 0, 2048), ARRIVED);
	ck_assert(arrivals_victim(&arrivals, &to));
	ck_assert_uint_eq(to, 4);
	ck_assert_int_eq(piece(2, 0, 100), ARRIVED_WHOLE);
	ck_assert(arrivals_victim(&arrivals, &to));
	ck_assert_uint_eq(to, 2);
	give_up(to);
	/* 2 waits for its record: nothing to be gained beyond it */
	ck_assert(!arrivals_victim(&arrivals, &to));
}

/* By looking at all that lack something. */
static uint64_t
lowest_partial_seq(void)
{
	uint64_t lowest = NOTHING, seq;

	for (const struct list *n = arrivals.partial.next;
	     n != &arrivals.partial; n = n->next) {
		seq = list_entry(n, struct fragments, node)->net_seq;
		if (seq < lowest)
			lowest = seq;
	}
	return lowest;
}

static void
expect_victim(void)
{
	const uint64_t partial = lowest_partial_seq();
	uint64_t to = NOTHING, whole = NOTHING;
	const bool has_whole = reorder_lowest(&reorder, &whole);
	const bool found = arrivals_victim(&arrivals, &to);

	if (has_whole && whole == reorder.next) {
		MUST(!found);
		return;
	}
	MUST(found == (has_whole || partial != NOTHING));
	if (found)
		MUST(to == (partial < whole ? partial + 1 : whole));
}

/* Pieces of packets that begin, become whole, leave and are given up in any
 * order, short of memory at times: the number of the victim is that of a search
 * through all. */
TEST_ROWS(victims_are_found_among_many, 4)
{
	unsigned victims = 0, faults = 0;
	uint64_t to, seq, announced = 0;
	enum arrived what;

	srandom((unsigned)_i);
	begin(0);
	for (int i = 0; i < 20000; i++) {
		seq = reorder.next + (uint64_t)random() % 40;
		if (random() % 16 == 0) {
			/* What follows has to grow. */
			arrivals.lowest.cap = arrivals.lowest.n;
			fault_arm(1 + (unsigned)random() % 4);
		}
		what = piece(seq, (uint32_t)random() % 3, 3 * FRAGMENT);
		if (fault_disarm())
			faults++;
		else
			MUST(what != ARRIVED_NOMEM);
		expect_victim();
		if (announced < reorder.next)
			announced = reorder.next;
		if (random() % 4 == 0 && announced < reorder.next + 8)
			record(announced++);
		while (random() % 8 != 0 && pop() != NOTHING)
			;
		expect_victim();
		if (random() % 64 == 0 && arrivals_victim(&arrivals, &to)) {
			give_up(to);
			victims++;
			expect_victim();
		}
	}
	MUST(victims > 100 && faults > 100);
}
