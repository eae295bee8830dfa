/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "store/arrivals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/packet.h"
#include "tests/lib/fault.h"
#include "tests/lib/script.h"
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

/* Milliseconds until something is due; nothing is due now. */
static void
say_due(void)
{
	uint64_t to, at = arrivals_due(&arrivals, now, &to);

	if (to != reorder.next)
		script_fail("packets below %" PRIu64 " are due", to);
	if (at == UINT64_MAX)
		script_say("never");
	else
		script_say("%" PRIu64, (at - now) / MS);
}

/* Each as PACKET:FIRST+COUNT; without what is missing of it if it is all. */
static void
say_holes(uint32_t max)
{
	struct arrivals_hole h[8];
	uint32_t looks = UINT32_MAX;
	const uint32_t n = arrivals_holes(&arrivals, h, max, &looks);

	for (uint32_t i = 0; i < n; i++) {
		script_say("%s%" PRIu64, i == 0 ? "" : " ", h[i].net_seq);
		if (h[i].count != UINT32_MAX)
			script_say(
			    ":%" PRIu32 "+%" PRIu32, h[i].first, h[i].count);
	}
}

/* A number, or "none". */
static void
say_number(bool is_any, uint64_t n)
{
	if (is_any)
		script_say("%" PRIu64, n);
	else
		script_say("none");
}

static bool
step(char **w)
{
	static const char *const outcomes[] = { [ARRIVED] = "ARRIVED",
		[ARRIVED_WHOLE] = "WHOLE",
		[ARRIVED_TWICE] = "TWICE",
		[ARRIVED_LATE] = "LATE",
		[ARRIVED_FALSE] = "FALSE",
		[ARRIVED_NOMEM] = "NOMEM" };
	const uint64_t n = script_number(w[1]);
	uint64_t to = 0;
	bool is_any;

	if (script_is(w[0], "piece")) { /* PACKET PIECE BYTES of the packet */
		script_say(
		    "%s", outcomes[piece(n, (uint32_t)script_number(w[2]),
			      (uint32_t)script_number(w[3]))]);
	} else if (script_is(w[0], "record")) {
		record(n);
	} else if (script_is(w[0], "wait")) { /* MS */
		now += n * MS;
	} else if (script_is(w[0], "window")) {
		arrivals.config.window = (uint32_t)n;
	} else if (script_is(w[0], "ask")) { /* the sender did */
		arrivals_ask(&arrivals, n, now);
	} else if (script_is(w[0], "last")) {
		arrivals_last(&arrivals, n, now);
	} else if (script_is(w[0], "next")) { /* when what is due is lost */
		script_say("%" PRIu64, due());
	} else if (script_is(w[0], "due")) {
		say_due();
	} else if (script_is(w[0], "lost")) { /* LOST of which ANNOUNCED */
		script_say("%" PRIu64 " %" PRIu64, n_lost, n_announced);
	} else if (script_is(w[0], "gap")) {
		script_say("%d", arrivals_has_gap(&arrivals));
	} else if (script_is(w[0], "full")) {
		script_say("%d", arrivals_window_is_full(&arrivals));
	} else if (script_is(w[0], "partial")) { /* bytes of what lacks some */
		script_say("%" PRIu64, arrivals.partial_bytes);
	} else if (script_is(w[0], "holes")) { /* at most so many */
		say_holes((uint32_t)n);
	} else if (script_is(w[0], "pop")) {
		to = pop();
		say_number(to != NOTHING, to);
	} else if (script_is(w[0], "lowest")) {
		is_any = reorder_lowest(&reorder, &to);
		say_number(is_any, to);
	} else if (script_is(w[0], "victim")) {
		is_any = arrivals_victim(&arrivals, &to);
		say_number(is_any, to);
	} else if (script_is(w[0], "give-up")) {
		give_up(n);
	} else {
		return false;
	}
	return true;
}

/* The timeout is 100 ms, a piece has 512 bytes, the window 64 packets. */
static const struct {
	const char *name, *steps;
} rows[] = {
	{ "a gap starts when a later packet is known",
	    "gap = 0; due = never; piece 2 0 100 = WHOLE; gap = 1; due = 100;"
	    "wait 99; next = 0; wait 1; next = 2; lost = 2 0; gap = 0;"
	    "record 2; pop = 2; piece 1 0 100 = LATE; piece 2 0 100 = LATE" },
	{ "only what is known for long is lost",
	    "record 0; wait 50; record 1; record 2; wait 50; next = 1;"
	    "due = 50; piece 1 0 100 = WHOLE; pop = 1; wait 50; next = 3;"
	    "lost = 2 2" },
	{ "a packet that grows is not lost; one that is only known is",
	    "record 0; record 1; piece 0 0 2048 = ARRIVED; wait 99; next = 0;"
	    "piece 0 1 2048 = ARRIVED; wait 99; next = 0;"
	    "piece 0 2 2048 = ARRIVED; wait 99; next = 0;"
	    "piece 0 3 2048 = WHOLE; wait 99; next = 0; pop = 0; next = 2" },
	{ "a packet that stops growing is lost",
	    "record 0; piece 0 3 4096 = ARRIVED; wait 99;"
	    "piece 0 4 4096 = ARRIVED; piece 0 4 4096 = TWICE; wait 99;"
	    "next = 0; wait 1; next = 1; partial = 0" },
	/* A slow sender may pause in the midst of a packet. */
	{ "a packet that is being sent is no gap, until the next one begins",
	    "piece 0 0 2048 = ARRIVED; gap = 0; due = never; wait 10000;"
	    "next = 0; piece 1 0 2048 = ARRIVED; gap = 1; due = 100; wait 100;"
	    "next = 1; gap = 0; wait 10000; next = 1; record 1; due = 100;"
	    "piece 1 1 2048 = ARRIVED; piece 1 2 2048 = ARRIVED;"
	    "piece 1 3 2048 = WHOLE; pop = 1; lost = 1 0" },
	{ "patience with what grows has an end",
	    "record 0; piece 0 0 32768 = ARRIVED; wait 90; next = 0;"
	    "piece 0 1 32768 = ARRIVED; wait 90; piece 0 2 32768 = ARRIVED;"
	    "wait 90; piece 0 3 32768 = ARRIVED; wait 90;"
	    "piece 0 4 32768 = ARRIVED; wait 90; piece 0 5 32768 = ARRIVED;"
	    "wait 90; piece 0 6 32768 = ARRIVED; wait 90;"
	    "piece 0 7 32768 = ARRIVED; wait 90; piece 0 8 32768 = ARRIVED;"
	    "wait 90; piece 0 9 32768 = ARRIVED; wait 90;"
	    "piece 0 10 32768 = ARRIVED; wait 90;"
	    "piece 0 11 32768 = ARRIVED; wait 9; next = 0; wait 1; next = 1;"
	    "lost = 1 1" },
	{ "a packet without its record is no gap",
	    "window 1; piece 0 0 100 = WHOLE; piece 1 0 100 = WHOLE;"
	    "wait 1000; next = 0; full = 0; record 0; pop = 0; pop = none" },
	{ "questions and the last number start gaps",
	    "ask 1; wait 50; ask 3; due = 50; wait 50; next = 2; due = never;"
	    "last 5; due = 100; wait 100; next = 6" },
	{ "a full window is a loss",
	    "window 3; piece 1 0 100 = WHOLE; piece 2 0 100 = WHOLE; full = 0;"
	    "piece 3 0 100 = WHOLE; full = 1; lowest = 1" },
	{ "unless the sender sends again",
	    "window 0; piece 1 0 100 = WHOLE; piece 2 0 100 = WHOLE; full = 0;"
	    "piece 3 0 100 = WHOLE; full = 0; lowest = 1" },
	{ "what comes later counts at the same time",
	    "window 0; piece 1 0 100 = WHOLE; record 1; piece 3 0 100 = WHOLE;"
	    "record 3; wait 100; next = 1; pop = 1; piece 2 0 2048 = ARRIVED;"
	    "next = 2; due = 100" },
	{ "holes are named lowest first",
	    "holes 8; piece 1 0 100 = WHOLE; piece 2 1 2048 = ARRIVED;"
	    "record 3; holes 8 = 0 2:0+1 2:2+2 3; holes 2 = 0 2:0+1" },
	/* At the end 2 waits for its record: giving it up frees no memory. */
	{ "victims are the oldest of what is missing",
	    "victim = none; piece 3 0 2048 = ARRIVED; victim = 4;"
	    "piece 2 0 100 = WHOLE; victim = 2; give-up 2; victim = none" },
};

TEST_ROWS(what_is_missing_is_lost_in_time, ARRAY_LEN(rows))
{
	begin(64);
	script_run(rows[_i].name, rows[_i].steps, step);
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
	/* 30,000 gaps: with a look at each packet after it was 10^9 steps. */
	ck_assert_int_lt((clock() - began) / CLOCKS_PER_SEC, 1);
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
	/* The lowest one is always named, so that it can be filled. */
	ck_assert_uint_eq(arrivals_holes(&arrivals, h, 8, &looks), 1);
	ck_assert_uint_eq(h[0].net_seq, 0);
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
