/* SPDX-License-Identifier: MIT */
/*
 * A million packets over seeded channels, reassembled and put in order, against
 * a model that knows a bit per piece and nothing of heaps, lists and blocks
 * (udp 3). A failure prints its seed; TP_SCHEDULE_SEED repeats that schedule
 * alone, TP_TEST_LONG runs ten million.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/arrivals.h"
#include "store/packet.h"
#include "tests/lib/unit.h"
#include "tests/store/channel.h"

#define STEP UINT64_C(100000) /* ns from delivery to delivery */
#define BEGIN UINT64_C(1000000000)
#define DEPTH_BITS 12
#define HOLES 16

/* What makes the relay give up. */
enum reason {
	PATIENCE, /* time, and there is enough of it */
	HASTE,	  /* time, and there is not */
	WINDOW,	  /* packets beyond the gap */
	MEMORY,	  /* bytes held */
	N_REASONS
};

/* The control connection runs ahead, or late, or not at all. */
enum records { AHEAD, BEHIND, AT_THE_END, N_RECORDS };

static const unsigned drops[] = { 0, 1, 10, 100, 400 };

/* Each combination of the two is in a row of tests. */
#define SCHEDULES (N_REASONS * ARRAY_LEN(drops))
#define ROWS 10

static uint64_t seed;

#define HOLDS(condition)                                                       \
	do {                                                                   \
		if (!(condition))                                              \
			ck_abort_msg("TP_SCHEDULE_SEED=%" PRIu64 ": %s", seed, \
			    #condition);                                       \
	} while (0)

/* Of one packet. */
struct fate {
	uint8_t got; /* a bit per piece */
	bool has_record, is_lost;
	uint64_t known_ns; /* since when it must have been sent */
	uint64_t progress_ns;
};

static struct {
	struct fate fate[CHANNEL_PACKETS];
	uint64_t next, end, recorded;
	uint64_t sent; /* all below it must have been */
	uint64_t n_whole, n_lost, n_late, n_twice; /* whole: from next on */
} model;

static struct channel *channel;
static enum reason reason;
static enum records records;
static uint32_t spread; /* packets that records are away at most */
static uint64_t budget; /* bytes */
static uint64_t random_state, now;

static struct published account;
static struct packet_pool pool;
static struct reorder reorder;
static struct arrivals arrivals;

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(channel_random(&random_state) % n);
}

static bool
is_whole(uint64_t seq)
{
	return model.fate[seq].got == (1U << channel_pieces(channel, seq)) - 1;
}

/* A record came, or anything of a later one. */
static void
model_sent(uint64_t end)
{
	for (; model.sent < end; model.sent++)
		model.fate[model.sent].known_ns = now;
	if (end > model.end)
		model.end = end;
}

static void
model_heard_piece(uint64_t seq)
{
	model_sent(seq);
	if (seq >= model.end)
		model.end = seq + 1;
}

static enum arrived
model_piece(const struct delivery *d)
{
	struct fate *f = &model.fate[d->seq];
	const uint8_t bit = (uint8_t)(1U << d->piece);

	if (d->seq < model.next) {
		model.n_late++;
		return ARRIVED_LATE;
	}
	if ((f->got & bit) != 0) {
		model.n_twice++;
		return ARRIVED_TWICE;
	}
	model_heard_piece(d->seq);
	f->got |= bit;
	f->progress_ns = now;
	if (!is_whole(d->seq))
		return ARRIVED;
	model.n_whole++;
	return ARRIVED_WHOLE;
}

static bool
model_has_gap(void)
{
	return model.next < model.sent && !is_whole(model.next);
}

/* The lowest number of which there is anything, from next on. */
static uint64_t
model_lowest(void)
{
	uint64_t seq = model.next;

	while (seq < model.end && model.fate[seq].got == 0)
		seq++;
	return seq;
}

static void
model_give_up(uint64_t to, const struct reorder_loss *loss)
{
	unsigned n_records = 0;

	HOLDS(loss->first == model.next && loss->n == to - model.next);
	for (; model.next < to; model.next++) {
		HOLDS(!is_whole(model.next));
		n_records += model.fate[model.next].has_record;
		model.fate[model.next].is_lost = true;
		model.n_lost++;
	}
	HOLDS(loss->records == n_records);
	HOLDS(reorder.next == model.next);
}

/* The holes of packet SEQ, from N on; how many there are then. */
static uint32_t
model_holes(uint64_t seq, struct arrivals_hole *out, uint32_t n)
{
	const uint8_t got = model.fate[seq].got;
	const uint32_t pieces = channel_pieces(channel, seq);

	if (got == 0) {
		out[n] = (struct arrivals_hole){ seq, 0, UINT32_MAX };
		return n + 1;
	}
	for (uint32_t i = 0, first; i < pieces && n < HOLES; i++) {
		first = i;
		while (i < pieces && (got >> i & 1) == 0)
			i++;
		if (i > first)
			out[n++] = (struct arrivals_hole){ seq, first,
				i - first };
	}
	return n;
}

static void
check_holes(void)
{
	struct arrivals_hole want[HOLES], got[HOLES];
	uint32_t n = 0, looks = UINT32_MAX;

	for (uint64_t seq = model.next; seq < model.end && n < HOLES; seq++)
		n = model_holes(seq, want, n);
	HOLDS(arrivals_holes(&arrivals, got, HOLES, &looks) == n);
	for (uint32_t i = 0; i < n; i++)
		HOLDS(got[i].net_seq == want[i].net_seq &&
		      got[i].first == want[i].first &&
		      got[i].count == want[i].count);
}

static void
check_bytes(const struct packet *p)
{
	const uint8_t *want = channel_bytes(p->net_seq);
	uint32_t at = 0;

	HOLDS(p->size == channel->size[p->net_seq]);
	for (const struct slab_block *b = p->blocks; b != NULL; b = b->next) {
		HOLDS(b->used <= p->size - at);
		HOLDS(memcmp(b->mem, want + at, b->used) == 0);
		at += b->used;
	}
	HOLDS(at == p->size);
	HOLDS(p->rec.packet_seq_num == p->net_seq);
}

/* All that can leave does, and is what the model says. */
static void
drain(void)
{
	struct packet *p;

	while ((p = reorder_pop(&reorder)) != NULL) {
		HOLDS(p->net_seq == model.next);
		HOLDS(is_whole(model.next));
		HOLDS(model.fate[model.next].has_record);
		check_bytes(p);
		packet_destroy(&pool, p);
		model.next++;
		model.n_whole--;
	}
	HOLDS(model.next == CHANNEL_PACKETS || !is_whole(model.next) ||
	      !model.fate[model.next].has_record);
	HOLDS(arrivals_has_gap(&arrivals) == model_has_gap());
}

static void
give_up(uint64_t to)
{
	struct reorder_loss loss;

	arrivals_skip(&arrivals, to, &loss);
	model_give_up(to, &loss);
	drain();
}

static void
pass_full_windows(void)
{
	const uint32_t window = arrivals.config.window;
	bool is_full;
	uint64_t to;

	for (;;) {
		is_full = window > 0 && model.n_whole >= window &&
			  model_has_gap();
		HOLDS(arrivals_window_is_full(&arrivals) == is_full);
		if (!is_full)
			return;
		HOLDS(reorder_lowest(&reorder, &to));
		give_up(to);
	}
}

static uint64_t
held_bytes(void)
{
	return reorder.held_bytes + arrivals.partial_bytes;
}

static void
pass_memory(void)
{
	uint64_t to, lowest;

	while (held_bytes() > budget && arrivals_victim(&arrivals, &to)) {
		lowest = model_lowest();
		HOLDS(lowest < model.end && !is_whole(model.next));
		HOLDS(to == (is_whole(lowest) ? lowest : lowest + 1));
		give_up(to);
	}
	lowest = model_lowest();
	HOLDS(held_bytes() <= budget || lowest == model.end ||
	      (lowest == model.next && is_whole(lowest)));
}

/* Since when nothing was heard of packet SEQ. */
static uint64_t
silent_since(uint64_t seq)
{
	const struct fate *f = &model.fate[seq];

	return f->known_ns > f->progress_ns ? f->known_ns : f->progress_ns;
}

/* A later packet is known, as far as it goes here, since it is whole. */
static uint64_t
assembly_ns(void)
{
	return (channel->rules.depth + (spread + 4) * CHANNEL_PIECES) * 2 *
	       STEP;
}

/* What time takes: neither too early nor too late. When to ask again. */
static uint64_t
pass_time(void)
{
	const uint64_t timeout = arrivals.config.timeout_ns;
	uint64_t to, at;

	for (;;) {
		at = arrivals_due(&arrivals, now, &to);
		if (to == model.next)
			break;
		HOLDS(to > model.next && to <= model.end);
		for (uint64_t seq = model.next; seq < to; seq++)
			HOLDS(now >= silent_since(seq) + timeout ||
			      now >= model.fate[seq].known_ns +
					 ARRIVALS_PATIENCE * timeout);
		give_up(to);
	}
	HOLDS((at != UINT64_MAX) == model_has_gap());
	if (model_has_gap())
		HOLDS(now < silent_since(model.next) + timeout + assembly_ns());
	return at;
}

static uint64_t
settle(void)
{
	drain();
	pass_full_windows();
	pass_memory();
	return pass_time();
}

static void
record(void)
{
	const uint64_t seq = model.recorded++;
	const struct index_record rec = { .packet_seq_num = seq };
	const bool is_late = seq < model.next;

	reorder.now = now;
	HOLDS(reorder_record(&reorder, seq, &rec) == (is_late ? E_NOENT : OK));
	arrivals_note_sent(&arrivals, seq);
	model.fate[seq].has_record = true;
	if (!is_late)
		model_sent(seq + 1);
}

/* The records that come before a piece of packet SEQ. */
static void
records_before(uint64_t seq)
{
	uint64_t to = 0;

	if (records == AHEAD)
		to = seq + below(spread + 1);
	else if (records == BEHIND && seq > spread)
		to = seq - below(spread + 1);
	while (model.recorded < to && model.recorded < CHANNEL_PACKETS)
		record();
}

static void
take(const struct delivery *d)
{
	const uint32_t at = d->piece * channel->rules.fragment;
	const uint32_t size = channel->size[d->seq];
	const uint32_t left = size - at, fragment = channel->rules.fragment;
	const struct arrival f = { d->seq, size, 0, at,
		channel_bytes(d->seq) + at, left < fragment ? left : fragment };
	const enum arrived want = model_piece(d);
	struct packet *whole;

	HOLDS(arrivals_add(&arrivals, &f, now, &whole) == want);
	HOLDS((whole != NULL) == (want == ARRIVED_WHOLE));
	if (whole != NULL)
		HOLDS(reorder_data(&reorder, whole) == OK);
}

/* The rules of this schedule; the channel's, and when to give up. */
static void
begin(uint64_t this_seed)
{
	static const uint32_t fragments[] = { 512, 1392, 8192, 65000 };
	struct channel_rules rules;
	struct arrivals_config config = { 0 };

	seed = this_seed;
	random_state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	memset(&model, 0, sizeof(model));
	reason = (enum reason)(seed % N_REASONS);
	rules.drop = drops[seed / N_REASONS % ARRAY_LEN(drops)];
	rules.repeat = below(2) == 0 ? 20 : 200;
	rules.fragment = fragments[below(ARRAY_LEN(fragments))];
	rules.depth = 1U << below(DEPTH_BITS + 1);
	records = (enum records)below(N_RECORDS);
	spread = 1U << below(7);
	channel = channel_create(&rules, &random_state);

	now = BEGIN;
	budget = reason == MEMORY ? UINT64_C(65536) << below(5) : UINT64_MAX;
	config.fragment_size = rules.fragment;
	config.window = reason == WINDOW ? 1U << below(10) : 0;
	config.timeout_ns = reason == HASTE ? (1 + below(rules.depth)) * STEP
					    : assembly_ns();
	packet_pool_init(&pool, 1 << 20, &account);
	reorder_init(&reorder, &pool, true);
	arrivals_init(&arrivals, &reorder, &config);
}

static void
check_end(void)
{
	HOLDS(model.next == CHANNEL_PACKETS);
	HOLDS(arrivals.n_partial == 0 && arrivals.partial_bytes == 0);
	HOLDS(reorder.held_bytes == 0 && reorder.n_records == 0);
	for (uint64_t seq = 0; seq < CHANNEL_PACKETS; seq++) {
		HOLDS(!channel->dropped[seq] || model.fate[seq].is_lost);
		if (reason == PATIENCE)
			HOLDS(channel->dropped[seq] == model.fate[seq].is_lost);
	}
}

static void
end(void)
{
	arrivals_free(&arrivals);
	reorder_free(&reorder);
	packet_pool_free(&pool);
	HOLDS(published(&account) == 0);
	channel_destroy(channel);
}

static void
run(uint64_t this_seed)
{
	uint64_t at;

	begin(this_seed);
	for (size_t k = 0; k < channel->n; k++, now += STEP) {
		records_before(channel->deliveries[k].seq);
		take(&channel->deliveries[k]);
		(void)settle();
		if (k % 61 == 0)
			check_holes();
	}
	while (model.recorded < CHANNEL_PACKETS)
		record();
	arrivals_last(&arrivals, CHANNEL_PACKETS - 1, now);
	model_sent(CHANNEL_PACKETS);
	while ((at = settle()) != UINT64_MAX)
		now = at;
	check_end();
	end();
}

TEST_ROWS(a_million_packets_do_as_the_model_says,
    getenv("TP_TEST_LONG") != NULL ? 10 * ROWS : ROWS)
{
	const char *one = getenv("TP_SCHEDULE_SEED");
	uint64_t lost = 0, late = 0, twice = 0;

	if (one != NULL) {
		run(strtoull(one, NULL, 10));
		return;
	}
	for (uint64_t n = 0; n < SCHEDULES; n++) {
		run((uint64_t)_i * SCHEDULES + n);
		lost += model.n_lost;
		late += model.n_late;
		twice += model.n_twice;
	}
	ck_assert_uint_gt(lost, CHANNEL_PACKETS);
	ck_assert_uint_lt(lost, SCHEDULES * CHANNEL_PACKETS);
	ck_assert_uint_gt(late, 1000);
	ck_assert_uint_gt(twice, 1000);
}
