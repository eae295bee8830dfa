/* SPDX-License-Identifier: MIT */
/* The pipeline between a source and a sink of the test's own. */
#include "tools/capture/pipeline.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "tests/lib/unit.h"
#include "tools/capture/sink.h"

#define PACKETS 200000
#define BEGIN UINT64_C(1700000000000000000)

/* In place of tools/capture/source.c: packet N has the time BEGIN + N. */
struct source {
	bool is_live;
	unsigned n_threads; /* of its own */
	unsigned silence;   /* ms at the end, about */
	uint64_t n;
	unsigned seed;
	uint8_t bytes[2000];
};

bool
source_is_live(const struct source *s)
{
	return s->is_live;
}

const char *
source_error(const struct source *s)
{
	(void)s;
	return "";
}

uint64_t
source_dropped(struct source *s)
{
	(void)s;
	return 0;
}

unsigned
source_threads(const struct source *s)
{
	return s->n_threads;
}

/* Packet N is of one thread, by turns. A thread has them in order. */
struct own_thread {
	pthread_t id;
	struct source *source;
	const struct source_calls *calls;
	unsigned number;
};

static void *
call(void *own_thread)
{
	struct own_thread *t = own_thread;
	const struct source_calls *calls = t->calls;
	struct source own = { .is_live = true,
		.n = t->number,
		.seed = t->source->seed + t->number };
	struct record r = { 0 };
	struct source_wait wait;
	const uint8_t *bytes;
	bool goes_on = true;

	memcpy(own.bytes, t->source->bytes, sizeof(own.bytes));
	while (goes_on && own.n < PACKETS) {
		if (source_next(&own, &r, &bytes, &wait) == SOURCE_NOTHING) {
			calls->tick(calls->arg, t->number);
			continue;
		}
		own.n += t->source->n_threads - 1;
		goes_on = calls->packet(calls->arg, t->number, &r, bytes);
	}
	return NULL;
}

enum source_got
source_run(struct source *s, const struct source_calls *calls, int stop)
{
	struct own_thread threads[PIPELINE_THREADS_MAX];

	(void)stop;
	for (unsigned i = 0; i < s->n_threads; i++) {
		threads[i] = (struct own_thread){
			.source = s, .calls = calls, .number = i
		};
		ck_assert_int_eq(
		    pthread_create(&threads[i].id, NULL, call, &threads[i]), 0);
	}
	for (unsigned i = 0; i < s->n_threads; i++)
		pthread_join(threads[i].id, NULL);
	return SOURCE_END;
}

enum source_got
source_next(struct source *s, struct record *r, const uint8_t **bytes,
    struct source_wait *wait)
{
	if (s->n >= PACKETS) {
		if (s->silence == 0)
			return SOURCE_END;
		s->silence--;
		*wait = (struct source_wait){ .fd = -1, .timeout_ms = 1 };
		return SOURCE_NOTHING;
	}
	if (s->is_live && rand_r(&s->seed) % 1000 == 0) {
		*wait = (struct source_wait){ .fd = -1, .timeout_ms = 0 };
		return SOURCE_NOTHING;
	}
	r->ns = BEGIN + s->n;
	r->wire_len = (uint32_t)s->n++;
	r->cap_len = (uint32_t)rand_r(&s->seed) % sizeof(s->bytes);
	r->link_type = LINKTYPE_ETHERNET;
	r->direction = DIRECTION_UNKNOWN;
	r->kind = RECORD_PACKET;
	s->bytes[29] = (uint8_t)rand_r(&s->seed); /* a flow, if it is IPv4 */
	*bytes = s->bytes;
	return SOURCE_PACKET;
}

struct fake_sink {
	struct sink sink;
	unsigned pause_us, fails_after;
	uint64_t last_ns, discarded[PIPELINE_THREADS_MAX];
	uint64_t ends[PIPELINE_THREADS_MAX];
	bool is_ordered;
};

static enum status
look(struct fake_sink *f)
{
	const struct timespec pause = { .tv_nsec = (long)f->pause_us * 1000 };

	if (f->pause_us > 0)
		nanosleep(&pause, NULL);
	if (f->fails_after > 0 && --f->fails_after == 0)
		return E_IO;
	return OK;
}

static enum status
put_packet(struct sink *sink, unsigned stream, struct batch *b)
{
	struct fake_sink *f = (struct fake_sink *)sink;

	ck_assert_uint_ge(b->begin_ns, f->ends[stream]);
	ck_assert_uint_ge(b->discarded, f->discarded[stream]);
	f->ends[stream] = b->end_ns;
	f->discarded[stream] = b->discarded;
	sink_count(sink, b->packets, b->n, b->used);
	batch_done(b);
	return look(f);
}

static enum status
put_record(struct sink *sink, const struct record *r, const uint8_t *bytes)
{
	struct fake_sink *f = (struct fake_sink *)sink;

	(void)bytes;
	if (r->kind != RECORD_PACKET)
		return OK;
	if (f->is_ordered)
		ck_assert_uint_gt(r->ns, f->last_ns);
	f->last_ns = r->ns;
	sink->written++;
	return sink->written % 1000 == 0 ? look(f) : OK;
}

static const struct sink_ops ops = {
	.packet = put_packet,
	.record = put_record,
};

static struct pipeline_stats
run(struct pipeline_config config, struct source *s, struct fake_sink *f)
{
	struct source *sources[] = { s };
	struct pipeline_stats stats;
	struct pipeline *p;
	bool has_failed = false;

	f->sink.ops = &ops;
	config.sources = sources;
	config.n_sources = 1;
	config.flush_ns = 10 * NS_PER_MS;
	memcpy(s->bytes + 12, "\x08\x00\x45", 3);
	ck_assert(pipeline_create(&p, &config) == OK);
	ck_assert(pipeline_start(p) == OK);
	while (!pipeline_is_done(p)) {
		struct pollfd fd = { .fd = pipeline_event(p),
			.events = POLLIN };

		ck_assert_int_eq(poll(&fd, 1, 20000), 1);
		if (pipeline_deliver(p, has_failed ? NULL : &f->sink) != OK)
			has_failed = true;
	}
	stats = pipeline_stats(p);
	ck_assert(pipeline_destroy(p, 30000));
	return stats;
}

static const struct {
	unsigned workers;
	enum pipeline_hash hash;
	bool is_strict, has_records;
} ways[] = {
	{ 1, HASH_BALANCE, false, false },
	{ 3, HASH_BALANCE, false, false },
	{ 3, HASH_FLOW, false, false },
	{ 3, HASH_BALANCE, true, false },
	{ 1, HASH_BALANCE, true, true },
	{ 3, HASH_BALANCE, true, true },
	{ 3, HASH_FLOW, true, true },
	{ 3, HASH_FLOW, false, true },
};

static struct pipeline_config
way(int i)
{
	return (struct pipeline_config){ .n_workers = ways[i].workers,
		.hash = ways[i].hash,
		.is_strict = ways[i].is_strict,
		.has_records = ways[i].has_records,
		.payload = PAYLOAD_FULL };
}

TEST_ROWS(a_file_waits_for_a_slow_sink, ARRAY_LEN(ways))
{
	struct source s = { .seed = (unsigned)_i };
	struct fake_sink f = { .pause_us = 300,
		.is_ordered = ways[_i].is_strict };
	const struct pipeline_stats stats = run(way(_i), &s, &f);

	ck_assert_uint_eq(stats.received, PACKETS);
	ck_assert_uint_eq(stats.dropped_local, 0);
	ck_assert_uint_eq(f.sink.written, PACKETS);
}

static void
check_losses(int number, unsigned silence)
{
	struct source s = {
		.is_live = true, .seed = (unsigned)number, .silence = silence
	};
	struct fake_sink f = { .pause_us = 5000,
		.is_ordered = ways[number].is_strict };
	const struct pipeline_stats stats = run(way(number), &s, &f);
	uint64_t told = 0;

	for (unsigned i = 0; i < PIPELINE_THREADS_MAX; i++)
		told += f.discarded[i];
	ck_assert_uint_eq(stats.received, PACKETS);
	ck_assert_uint_eq(stats.received, f.sink.written + stats.dropped_local);
	if (ways[number].has_records)
		return;
	ck_assert_uint_gt(stats.dropped_local, 0);
	ck_assert_uint_eq(told, stats.dropped_local);
}

TEST_ROWS(what_a_live_source_loses_is_counted, ARRAY_LEN(ways))
{
	check_losses(_i, 0);
}

/* Three streams, and one of three threads. */
static const int ways_of_silence[] = { 1, 3 };

/* Behind the losses only times come, to one worker after the other. Which of
 * them is told the end is different each time. */
TEST_ROWS(a_silence_hides_no_loss, ARRAY_LEN(ways_of_silence))
{
	for (unsigned i = 0; i < 4; i++)
		check_losses(ways_of_silence[_i], 100 + 11 * i);
}

/* Each thread of the source is a reader with a stream. */
TEST_ROWS(threads_of_the_source_lose_nothing_uncounted, 8)
{
	struct source s = {
		.is_live = true, .n_threads = 3, .seed = (unsigned)_i
	};
	struct fake_sink f = { .pause_us = _i % 2 == 0 ? 0 : 5000 };
	struct pipeline_config config = { .n_workers = 3,
		.hash = _i < 4 ? HASH_BALANCE : HASH_FLOW,
		.has_records = _i % 4 > 1,
		.payload = PAYLOAD_FULL };
	const struct pipeline_stats stats = run(config, &s, &f);
	uint64_t told = 0;

	for (unsigned i = 0; i < 3; i++) {
		told += f.discarded[i];
		if (!config.has_records)
			ck_assert_uint_gt(f.ends[i], 0);
	}
	ck_assert_uint_eq(stats.received, PACKETS);
	ck_assert_uint_eq(stats.received, f.sink.written + stats.dropped_local);
	ck_assert_uint_eq(stats.clamped, 0);
	if (!config.has_records)
		ck_assert_uint_eq(told, stats.dropped_local);
}

TEST(threads_of_the_source_share_the_count)
{
	struct source s = { .is_live = true, .n_threads = 4 };
	struct fake_sink f = { 0 };
	const struct pipeline_stats stats = run(
	    (struct pipeline_config){ .n_workers = 4, .count = 1234 }, &s, &f);

	ck_assert_uint_eq(stats.received, 1234);
	ck_assert_uint_eq(f.sink.written + stats.dropped_local, 1234);
}

TEST_ROWS(a_sink_that_fails_does_not_hold_the_threads, ARRAY_LEN(ways))
{
	struct source s = { .seed = (unsigned)_i };
	struct fake_sink f = { .fails_after = 10 };
	const struct pipeline_stats stats = run(way(_i), &s, &f);

	ck_assert_uint_eq(stats.received, PACKETS);
	ck_assert_uint_lt(f.sink.written, PACKETS);
}
