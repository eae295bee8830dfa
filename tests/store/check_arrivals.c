/* SPDX-License-Identifier: MIT */
#include "store/arrivals.h"

#include <stdlib.h>
#include <string.h>

#include "store/packet.h"
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

	fill(bytes, seq, at, len);
	what = arrivals_add(&arrivals, &f, now, &whole);
	MUST((what == ARRIVED_WHOLE) == (whole != NULL));
	if (whole != NULL)
		MUST(reorder_data(&reorder, whole) == OK);
	return what;
}

static void
record(uint64_t seq)
{
	const struct index_record rec = { .packet_seq_num = seq };

	reorder.now = now;
	MUST(reorder_record(&reorder, seq, &rec) ==
	     (seq < reorder.next ? E_NOENT : OK));
	arrivals_heard(&arrivals, seq);
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

static uint64_t
due_at(void)
{
	uint64_t to, at = arrivals_due(&arrivals, now, &to);

	ck_assert_uint_eq(to, reorder.next);
	return at;
}

START_TEST(a_gap_starts_when_a_later_packet_is_known)
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
	end();
}
END_TEST

START_TEST(only_what_is_known_for_long_is_lost)
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
	end();
}
END_TEST

START_TEST(a_packet_that_grows_is_not_lost)
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
	end();
}
END_TEST

START_TEST(a_packet_that_stops_growing_is_lost)
{
	begin(64);
	ck_assert_int_eq(piece(0, 3, 4096), ARRIVED);
	now += TIMEOUT - 1;
	ck_assert_int_eq(piece(0, 4, 4096), ARRIVED);
	ck_assert_int_eq(piece(0, 4, 4096), ARRIVED_TWICE);
	now += TIMEOUT - 1;
	ck_assert_uint_eq(due(), 0);
	now += 1;
	ck_assert_uint_eq(due(), 1);
	ck_assert_uint_eq(arrivals.partial_bytes, 0);
	end();
}
END_TEST

START_TEST(a_packet_without_its_record_is_no_gap)
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
	end();
}
END_TEST

START_TEST(questions_and_the_last_number_start_gaps)
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
	end();
}
END_TEST

START_TEST(a_full_window_is_a_loss_unless_the_sender_resends)
{
	uint64_t to;

	begin(_i == 0 ? 3 : 0);
	for (uint64_t seq = 1; seq <= 3; seq++) {
		ck_assert(!arrivals_window_is_full(&arrivals));
		ck_assert_int_eq(piece(seq, 0, 100), ARRIVED_WHOLE);
	}
	ck_assert(arrivals_window_is_full(&arrivals) == (_i == 0));
	ck_assert(arrivals_lowest_whole(&arrivals, &to));
	ck_assert_uint_eq(to, 1);
	end();
}
END_TEST

START_TEST(other_sizes_contradict)
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
	end();
}
END_TEST

START_TEST(holes_are_told_lowest_first)
{
	struct arrivals_hole h[8];

	begin(64);
	ck_assert_uint_eq(arrivals_holes(&arrivals, h, 8), 0);
	ck_assert_int_eq(piece(1, 0, 100), ARRIVED_WHOLE);
	ck_assert_int_eq(piece(2, 1, 2048), ARRIVED);
	record(3);
	ck_assert_uint_eq(arrivals_holes(&arrivals, h, 8), 4);
	ck_assert(h[0].net_seq == 0 && h[0].count == UINT32_MAX);
	ck_assert(h[1].net_seq == 2 && h[1].first == 0 && h[1].count == 1);
	ck_assert(h[2].net_seq == 2 && h[2].first == 2 && h[2].count == 2);
	ck_assert(h[3].net_seq == 3 && h[3].count == UINT32_MAX);
	ck_assert_uint_eq(arrivals_holes(&arrivals, h, 2), 2);
	end();
}
END_TEST

START_TEST(victims_are_the_oldest_of_what_is_missing)
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
	end();
}
END_TEST

/*
 * Seeded schedules against a model that keeps a set of pieces per packet. The
 * channel drops, repeats and delays by up to DEPTH pieces; records come in
 * order, at any distance; nothing is given up before it has lasted.
 */
#define PACKETS 4000
#define DEPTH 40
#define STEP (MS / 10)

struct model {
	uint32_t size[PACKETS];
	uint8_t got[PACKETS][8]; /* pieces that were delivered in time */
	bool dropped[PACKETS];	 /* one at least never comes */
	bool is_out[PACKETS];
};

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

static uint32_t
n_pieces(uint32_t size)
{
	return size == 0 ? 1 : (size - 1) / FRAGMENT + 1;
}

struct flight {
	uint64_t at; /* position in the schedule */
	uint32_t seq, piece;
};

static int
by_time(const void *a, const void *b)
{
	const struct flight *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* What the channel delivers, in order; the caller frees it. */
static struct flight *
schedule(struct model *m, uint64_t *state, unsigned drop, size_t *n)
{
	struct flight *f = calloc(PACKETS * 16, sizeof(*f));
	uint64_t sent = 0;

	*n = 0;
	for (uint32_t seq = 0; seq < PACKETS; seq++) {
		m->size[seq] = (uint32_t)(next_random(state) % 4096);
		for (uint32_t i = 0; i < n_pieces(m->size[seq]); i++, sent++) {
			if (next_random(state) % 1000 < drop) {
				m->dropped[seq] = true;
				continue;
			}
			for (int k = next_random(state) % 50 == 0 ? 2 : 1;
			     k > 0; k--)
				f[(*n)++] = (struct flight){
					(sent + next_random(state) % DEPTH) *
						1000 +
					    next_random(state) % 1000,
					seq, i
				};
		}
	}
	qsort(f, *n, sizeof(*f), by_time);
	return f;
}

/* What the model says of a delivery; it is taken note of. */
static enum arrived
expect(struct model *m, const struct flight *f)
{
	uint8_t *got = m->got[f->seq];
	uint32_t have = 0;

	if (f->seq < reorder.next)
		return ARRIVED_LATE;
	if (got[f->piece])
		return ARRIVED_TWICE;
	got[f->piece] = 1;
	for (uint32_t i = 0; i < n_pieces(m->size[f->seq]); i++)
		have += got[i];
	return have == n_pieces(m->size[f->seq]) ? ARRIVED_WHOLE : ARRIVED;
}

static void
drain(struct model *m, uint64_t *last)
{
	uint64_t seq;

	while ((seq = pop()) != NOTHING) {
		MUST(*last == NOTHING || seq > *last);
		*last = seq;
		for (uint32_t i = 0; i < n_pieces(m->size[seq]); i++)
			MUST(m->got[seq][i]);
		m->is_out[seq] = true;
	}
}

static uint64_t
run_schedule(uint64_t seed, unsigned drop)
{
	struct model *m = calloc(1, sizeof(*m));
	uint64_t state = seed, last = NOTHING, recorded = 0, before, to, at;
	struct flight *f;
	enum arrived want;
	size_t n;

	MUST(m != NULL);
	f = schedule(m, &state, drop, &n);
	begin(0);
	for (size_t k = 0; k < n; k++, now += STEP) {
		/* The control connection runs ahead, or behind. */
		while (recorded < PACKETS &&
		       recorded < f[k].seq + next_random(&state) % 8)
			record(recorded++);
		want = expect(m, &f[k]);
		MUST(piece(f[k].seq, f[k].piece, m->size[f[k].seq]) == want);
		drain(m, &last);
		before = reorder.next;
		(void)due();
		/* Only what the channel dropped is given up. */
		for (uint64_t seq = before; seq < reorder.next; seq++)
			MUST(m->dropped[seq]);
		drain(m, &last);
	}
	while (recorded < PACKETS)
		record(recorded++);
	arrivals_last(&arrivals, PACKETS - 1, now);
	while ((at = arrivals_due(&arrivals, now, &to)) != UINT64_MAX) {
		if (to > reorder.next)
			give_up(to);
		else
			now = at;
		drain(m, &last);
	}
	drain(m, &last);
	for (uint32_t seq = 0; seq < PACKETS; seq++) {
		n_lost -= m->dropped[seq];
		ck_assert(m->is_out[seq] != m->dropped[seq]);
	}
	ck_assert_uint_eq(n_lost, 0);
	ck_assert_uint_eq(reorder.next, PACKETS);
	ck_assert_uint_eq(arrivals.n_partial, 0);
	end();
	free(f);
	free(m);
	return n;
}

static const unsigned drops[] = { 0, 1, 10, 100, 400 };

START_TEST(seeded_schedules_do_as_the_model_says)
{
	uint64_t pieces = 0;

	for (uint64_t seed = 1; seed <= 6; seed++)
		pieces += run_schedule(
		    seed * UINT64_C(0x9e3779b97f4a7c15), drops[_i]);
	ck_assert_uint_gt(pieces, 50000);
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ a_gap_starts_when_a_later_packet_is_known, 0, 0 },
		{ only_what_is_known_for_long_is_lost, 0, 0 },
		{ a_packet_that_grows_is_not_lost, 0, 0 },
		{ a_packet_that_stops_growing_is_lost, 0, 0 },
		{ a_packet_without_its_record_is_no_gap, 0, 0 },
		{ questions_and_the_last_number_start_gaps, 0, 0 },
		{ a_full_window_is_a_loss_unless_the_sender_resends, 2, 0 },
		{ other_sizes_contradict, 0, 0 },
		{ holes_are_told_lowest_first, 0, 0 },
		{ victims_are_the_oldest_of_what_is_missing, 0, 0 },
		{ seeded_schedules_do_as_the_model_says, ARRAY_LEN(drops), 0 },
	};

	return unit_run("arrivals", units, ARRAY_LEN(units));
}
