/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "store/reorder.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

static struct published account;
static struct packet_pool pool;
static struct reorder reorder;

static void
begin(bool needs_record)
{
	packet_pool_init(&pool, 1 << 20, &account);
	reorder_init(&reorder, &pool, needs_record);
}

static void
end(void)
{
	reorder_free(&reorder);
	packet_pool_free(&pool);
	ck_assert_uint_eq(published(&account), 0);
}

static enum status
data(uint64_t seq)
{
	struct packet *p = packet_create(&pool, seq);

	p->size = 10;
	ck_assert_uint_eq(packet_copy(&pool, p, "0123456789", 10), 10);
	return reorder_data(&reorder, p);
}

static enum status
record(uint64_t seq)
{
	const struct index_record rec = { .packet_seq_num = seq * 3 };

	return reorder_record(&reorder, seq, &rec);
}

/* UINT64_MAX: nothing leaves. */
static uint64_t
pop(void)
{
	struct packet *p = reorder_pop(&reorder);
	uint64_t seq;

	if (p == NULL)
		return UINT64_MAX;
	seq = p->net_seq;
	ck_assert(packet_is_whole(p) && p->has_data);
	if (p->has_record)
		ck_assert_uint_eq(p->rec.packet_seq_num, seq * 3);
	packet_destroy(&pool, p);
	return seq;
}

/*
 * dN data, iN index record, each with what comes of it: nothing is OK, e
 * exists, p protocol, n no such. bN: a header only. =N: packet N leaves. -:
 * none does. g, G: there is a gap, there is none. sN/M: skipping passes N
 * numbers, M of them with a record. w: no records from here on. lN: the
 * highest number of which only the record is here. L: none.
 */
static const char *const stories[] = {
	"d0 - i0 =0 - d1 i1 =1 -",
	"i0 - d0 =0 i1 i2 d1 =1 d2 =2",
	"d0 d1 d2 - i0 =0 - i2 - i1 =1 =2 -",
	/* any first number, and any order of halves */
	"d7 i7 =7 i9 i8 d8 =8 d9 =9",
	"i5 d4 i4 =4 - d5 =5",
	/* twice */
	"d0 d0e i0 i0e =0 d0p i0n",
	"i3 i3e d3 d3e =3 d3p b3p i3n d2p i2n",
	"b5 b5 d5 b5e i5 =5 b5p b6",
	/* gaps */
	"d0 i0 =0 d2 g i2 - d1 G i1 =1 =2 -",
	"d0 i0 =0 d3 i3 g s2/0 G =3 d2p i2n",
	"d0 i0 =0 i1 i2 d3 i3 g s2/2 =3 L",
	"d0 i0 =0 i1 d2 g s1/1 - i2 =2",
	"G s0/0 d0 G s0/0 i0 =0 s0/0",
	/* a record is no gap */
	"d0 i0 =0 i1 G i2 G l2 d1 =1 d2 =2 L",
	/* closing */
	"d0 d1 - w =0 =1 d2 =2",
	"d0 d1 i1 - w =0 =1 i1n",
	/* the numbers wrap */
	("d18446744073709551615 i18446744073709551615 d0 i0 "
	 "=18446744073709551615 =0"),
};

static enum status
wanted(char c)
{
	return c == 'e'	  ? E_EXISTS
	       : c == 'p' ? E_PROTOCOL
	       : c == 'n' ? E_NOENT
			  : OK;
}

static void
step(const char *word)
{
	char *rest;
	uint64_t n = strtoull(word + 1, &rest, 10), last;
	unsigned dropped;
	bool has_last;

	switch (*word) {
	case 'd':
		ck_assert_int_eq(data(n), wanted(*rest));
		break;
	case 'i':
		ck_assert_int_eq(record(n), wanted(*rest));
		break;
	case 'b':
		ck_assert_int_eq(reorder_begin(&reorder, n), wanted(*rest));
		break;
	case '=':
		ck_assert_uint_eq(pop(), n);
		break;
	case '-':
		ck_assert_uint_eq(pop(), UINT64_MAX);
		break;
	case 'g':
	case 'G':
		ck_assert_int_eq(reorder_has_gap(&reorder), *word == 'g');
		break;
	case 's':
		ck_assert_uint_eq(reorder_skip(&reorder, &dropped), n);
		ck_assert_uint_eq(dropped, strtoul(rest + 1, NULL, 10));
		break;
	case 'w':
		reorder_without_records(&reorder);
		break;
	case 'l':
	case 'L':
		has_last = reorder_last_record(&reorder, &last);
		ck_assert_int_eq(has_last, *word == 'l');
		ck_assert(!has_last || last == n);
		break;
	default:
		ck_abort_msg("what is %s?", word);
	}
}

TEST_ROWS(each_story_ends_as_written, ARRAY_LEN(stories))
{
	char *text = strdup(stories[_i]), *save, *word;

	begin(true);
	for (word = strtok_r(text, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save))
		step(word);
	free(text);
	end();
}

TEST(without_records_bytes_are_enough)
{
	begin(false);
	ck_assert_int_eq(data(4), OK);
	ck_assert_int_eq(data(6), OK);
	ck_assert_uint_eq(pop(), 4);
	ck_assert_uint_eq(pop(), UINT64_MAX);
	ck_assert_int_eq(data(5), OK);
	ck_assert_uint_eq(pop(), 5);
	ck_assert_uint_eq(pop(), 6);
	end();
}

/* A peer chooses its numbers: each of these is accepted, and the distance
 * between some of them is more than a signed number holds. */
TEST(numbers_may_jump_across_half_of_their_range)
{
	static const uint64_t jumps[][2] = { { 16, 16 },
		{ 0x800000000000000f, 0x800000000000000f }, { 8, 8 },
		{ 12, 20 } };
	unsigned records;

	begin(false);
	for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
		for (unsigned k = 0; k <= (jumps[i][1] != jumps[i][0]); k++)
			ck_assert_int_eq(data(jumps[i][k]), OK);
		do
			(void)reorder_skip(&reorder, &records);
		while (pop() != UINT64_MAX);
	}
	end();
}

TEST(records_that_wait_are_limited)
{
	begin(true);
	for (uint64_t i = 0; i < REORDER_RECORDS_MAX; i++)
		ck_assert_int_eq(record(i), OK);
	ck_assert_int_eq(record(REORDER_RECORDS_MAX), E_LIMIT);
	ck_assert_int_eq(data(0), OK);
	ck_assert_uint_eq(pop(), 0);
	ck_assert_int_eq(record(REORDER_RECORDS_MAX), OK);
	end();
}

/* Half of all records that may wait are after each of many gaps. */
TEST(the_cost_of_a_gap_does_not_grow_with_what_waits_after_it)
{
	const uint64_t n = REORDER_RECORDS_MAX / 2;
	clock_t began;
	unsigned records;

	begin(true);
	ck_assert_int_eq(data(0), OK);
	ck_assert_int_eq(record(0), OK);
	ck_assert_uint_eq(pop(), 0);
	for (uint64_t i = 1; i <= REORDER_RECORDS_MAX; i++)
		ck_assert_int_eq(record(i), OK);
	began = clock();
	for (uint64_t i = 2; i < n; i += 2) {
		ck_assert_int_eq(data(i), OK);
		ck_assert_uint_eq(reorder_skip(&reorder, &records), 1);
		ck_assert_uint_eq(records, 1);
		ck_assert_uint_eq(pop(), i);
	}
	/* 16,000 gaps: with a look at each record it was many seconds. */
	ck_assert_int_lt((clock() - began) / CLOCKS_PER_SEC, 1);
	end();
}

TEST(held_bytes_are_those_of_whole_packets_that_wait)
{
	begin(true);
	ck_assert_int_eq(record(1), OK);
	ck_assert_uint_eq(reorder.held_bytes, 0);
	ck_assert_int_eq(data(0), OK);
	ck_assert_int_eq(data(1), OK);
	ck_assert_uint_eq(reorder.held_bytes, 20);
	ck_assert_int_eq(record(0), OK);
	ck_assert_uint_eq(pop(), 0);
	ck_assert_uint_eq(reorder.held_bytes, 10);
	reorder_free(&reorder);
	ck_assert_uint_eq(reorder.held_bytes, 0);
	packet_pool_free(&pool);
}

/* UINT64_MAX: none has waited since then. */
static uint64_t
pop_unrecorded(uint64_t since)
{
	struct packet *p = reorder_pop_unrecorded(&reorder, since);
	const uint64_t seq = p == NULL ? UINT64_MAX : p->net_seq;

	packet_destroy(&pool, p);
	return seq;
}

TEST(a_packet_that_waits_long_for_its_record_can_be_given_up)
{
	begin(true);
	for (reorder.now = 10; reorder.now < 14; reorder.now++)
		ck_assert_int_eq(data(reorder.now - 10), OK);
	ck_assert_int_eq(record(2), OK);
	ck_assert_uint_eq(pop_unrecorded(9), UINT64_MAX);
	ck_assert_uint_eq(pop_unrecorded(10), 0);
	ck_assert_uint_eq(pop_unrecorded(10), UINT64_MAX);
	ck_assert_uint_eq(reorder.held_bytes, 30);
	ck_assert_int_eq(record(0), E_NOENT); /* too late */
	ck_assert_uint_eq(pop_unrecorded(20), 1);
	ck_assert_uint_eq(pop_unrecorded(20), UINT64_MAX); /* 2 is whole */
	ck_assert_uint_eq(pop(), 2);
	ck_assert_uint_eq(pop_unrecorded(20), 3);
	end();
}

TEST(without_memory_nothing_is_lost_but_the_half_at_hand)
{
	enum status st;

	for (unsigned n = 1;; n++) {
		bool failed;

		begin(true);
		fault_arm(n);
		st = record(0);
		failed = fault_disarm();
		ck_assert_int_eq(st, failed ? E_NOMEM : OK);
		end();
		if (!failed)
			break;
	}
	for (unsigned n = 1;; n++) {
		struct packet *p;
		bool failed;

		begin(true);
		p = packet_create(&pool, 0);
		p->size = 1;
		ck_assert_uint_eq(packet_copy(&pool, p, "x", 1), 1);
		fault_arm(n);
		st = reorder_data(&reorder, p);
		failed = fault_disarm();
		ck_assert_int_eq(st, failed ? E_NOMEM : OK);
		ck_assert_uint_eq(reorder.held_bytes, failed ? 0 : 1);
		end();
		if (!failed)
			break;
	}
}

/* The same by arrays of flags. */
#define NUMBERS 64
static struct {
	bool data[NUMBERS], record[NUMBERS], has_next;
	uint64_t next;
} model;

static enum status
model_data(uint64_t n)
{
	if (!model.has_next)
		model.next = n;
	model.has_next = true;
	if (n < model.next)
		return E_PROTOCOL;
	if (model.data[n])
		return E_EXISTS;
	model.data[n] = true;
	return OK;
}

static enum status
model_record(uint64_t n)
{
	if (model.record[n])
		return E_EXISTS;
	if (model.has_next && n < model.next)
		return E_NOENT;
	model.record[n] = true;
	return OK;
}

static uint64_t
model_pop(void)
{
	const uint64_t n = model.next;

	if (!model.has_next || n == NUMBERS || !model.data[n] ||
	    !model.record[n])
		return UINT64_MAX;
	model.data[n] = model.record[n] = false;
	model.next++;
	return n;
}

static uint64_t
model_skip(unsigned *dropped)
{
	uint64_t from = model.next, n;

	*dropped = 0;
	for (n = from; n < NUMBERS && !model.data[n]; n++)
		;
	if (!model.has_next || n == NUMBERS)
		return 0;
	/* also those below the first number that came */
	for (uint64_t i = 0; i < n; i++) {
		*dropped += model.record[i];
		model.record[i] = false;
	}
	model.next = n;
	return n - from;
}

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void
random_step(uint64_t *state)
{
	/* near to what is next, mostly */
	uint64_t n = model.next + next_random(state) % 12;
	unsigned want_dropped, dropped;

	n = n < 4 ? n : n - 4;
	if (n >= NUMBERS)
		n = NUMBERS - 1;
	switch (next_random(state) % 16) {
	case 0:
		ck_assert_uint_eq(reorder_skip(&reorder, &dropped),
		    model_skip(&want_dropped));
		ck_assert_uint_eq(dropped, want_dropped);
		break;
	case 1:
	case 2:
	case 3:
	case 4:
		ck_assert_uint_eq(pop(), model_pop());
		break;
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
		ck_assert_int_eq(data(n), model_data(n));
		break;
	default:
		ck_assert_int_eq(record(n), model_record(n));
	}
}

TEST(any_schedule_does_what_a_simple_model_does)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);

		memset(&model, 0, sizeof(model));
		begin(true);
		for (int i = 0; i < 400; i++)
			random_step(&state);
		end();
	}
}
