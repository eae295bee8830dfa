/* SPDX-License-Identifier: MIT */
/* Threads that libtrace 4 would have, of the substitute for it. */
#include "tools/capture/parallel_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/publish.h"
#include "tests/capture/double/libtrace_double.h"
#include "tests/lib/unit.h"

#define PACKETS 20000
#define THREADS 3
#define LEN 60

/* Packet N has N in its addresses and its time. */
static void
write_file(const char *path)
{
	static const uint32_t head[] = { 0xa1b23c4d, 0x40002, 0, 0, 65535, 1 };
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(head, sizeof(head), 1, f), 1);
	for (uint32_t i = 0; i < PACKETS; i++) {
		const uint32_t record[] = { 1700000000, i, LEN, 1000 };
		uint8_t bytes[LEN] = { 0 };

		memcpy(bytes + 12, "\x08\x00\x45", 3);
		memcpy(bytes + 26, &i, sizeof(i));
		ck_assert_uint_eq(fwrite(record, sizeof(record), 1, f), 1);
		ck_assert_uint_eq(fwrite(bytes, sizeof(bytes), 1, f), 1);
	}
	ck_assert_int_eq(fclose(f), 0);
}

struct seen {
	struct published is_allowed, n, ticks[THREADS];
	uint64_t most;	      /* then no more */
	uint64_t of[THREADS]; /* packets */
	uint64_t last_ns[THREADS];
	uint8_t times[PACKETS]; /* each was seen */
	int pause_us;
	int stop; /* written to when nothing has come and ticks come; 0: not */
	struct published idle;
};

static bool
take(void *arg, unsigned thread, struct record *r, const uint8_t *bytes)
{
	struct seen *s = arg;
	const struct timespec pause = { .tv_nsec = s->pause_us * 1000L };
	uint32_t number;

	if (published(&s->is_allowed) == 0 || thread >= THREADS ||
	    r->cap_len != LEN || r->wire_len != 1000 ||
	    r->link_type != LINKTYPE_ETHERNET || r->kind != RECORD_PACKET ||
	    r->ns < s->last_ns[thread])
		abort();
	s->last_ns[thread] = r->ns;
	s->of[thread]++;
	memcpy(&number, bytes + 26, sizeof(number));
	s->times[number % PACKETS]++;
	if (s->pause_us > 0)
		nanosleep(&pause, NULL);
	return published_add(&s->n, 1) != s->most;
}

static void
tick(void *arg, unsigned thread)
{
	const uint64_t one = 1;
	struct seen *s = arg;

	if (published(&s->is_allowed) == 0 || thread >= THREADS)
		abort();
	published_add(&s->ticks[thread], 1);
	if (s->stop != 0 && published(&s->n) == PACKETS &&
	    published_add(&s->idle, 1) == 10L * THREADS)
		(void)!write(s->stop, &one, sizeof(one));
}

struct input {
	char path[32];
	libtrace_t *trace;
	struct parallel_input *in;
	int stop;
	struct seen *seen;
	struct source_calls calls;
};

static enum status
start(struct input *i, bool by_flow)
{
	const struct source_config config = {
		.uri = "ring:lo", .threads = THREADS, .by_flow = by_flow
	};
	int fd;

	snprintf(i->path, sizeof(i->path), "/tmp/tracepulse-par-XXXXXX");
	fd = mkstemp(i->path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	write_file(i->path);
	setenv(DOUBLE_FILE, i->path, 1);
	i->trace = trace_create(config.uri);
	i->stop = eventfd(0, EFD_CLOEXEC);
	i->seen = calloc(1, sizeof(*i->seen));
	i->calls = (struct source_calls){ i->seen, take, tick };
	return parallel_input_start(&i->in, i->trace, &config, false);
}

static enum source_got
run(struct input *i)
{
	publish(&i->seen->is_allowed, 1);
	return parallel_input_run(i->in, &i->calls, i->stop);
}

static void
end(struct input *i)
{
	parallel_input_close(i->in);
	trace_destroy(i->trace);
	close(i->stop);
	unlink(i->path);
	free(i->seen);
}

TEST_ROWS(each_packet_comes_once_and_in_order, 2)
{
	struct input i;

	ck_assert(start(&i, _i == 1) == OK);
	ck_assert_uint_eq(parallel_input_threads(i.in), THREADS);
	ck_assert(run(&i) == SOURCE_END);
	ck_assert_uint_eq(published(&i.seen->n), PACKETS);
	for (unsigned k = 0; k < PACKETS; k++)
		ck_assert_uint_eq(i.seen->times[k], 1);
	for (unsigned k = 0; k < THREADS; k++)
		ck_assert_uint_gt(i.seen->of[k], PACKETS / THREADS / 2);
	end(&i);
}

TEST_ROWS(no_call_is_made_before_it_runs, 2)
{
	const struct timespec pause = { .tv_nsec = 200 * (long)NS_PER_MS };
	struct input i;

	ck_assert(start(&i, false) == OK);
	nanosleep(&pause, NULL); /* take() and tick() would abort */
	if (_i == 1)
		ck_assert(run(&i) == SOURCE_END);
	end(&i);
}

TEST_ROWS(it_stops_at_once, 3)
{
	const uint64_t one = 1, began = clock_now_ns();
	struct input i;

	setenv(DOUBLE_REPEATS, "1", 1);
	ck_assert(start(&i, false) == OK);
	if (_i == 0) {
		ck_assert_int_eq(write(i.stop, &one, sizeof(one)), sizeof(one));
	} else {
		i.seen->most = 4000;
		i.seen->pause_us = _i == 1 ? 0 : 10;
	}
	ck_assert(run(&i) == SOURCE_END);
	if (_i > 0) {
		ck_assert_uint_ge(published(&i.seen->n), 4000);
		ck_assert_uint_lt(published(&i.seen->n), 4000 + THREADS);
	}
	ck_assert_uint_lt(clock_now_ns() - began, 10 * NS_PER_S);
	end(&i);
}

TEST(idle_threads_have_ticks)
{
	struct input i;
	uint64_t n;

	/* After the packets, ticks go on; the tenth round of them stops it. */
	setenv(DOUBLE_STAYS, "1", 1);
	ck_assert(start(&i, false) == OK);
	i.seen->stop = i.stop;
	ck_assert(run(&i) == SOURCE_END);
	ck_assert_uint_eq(published(&i.seen->n), PACKETS);
	for (unsigned k = 0; k < THREADS; k++)
		ck_assert_uint_gt(published(&i.seen->ticks[k]), 0);
	ck_assert_int_eq(read(i.stop, &n, sizeof(n)), sizeof(n));
	end(&i);
}

TEST(drops_are_told)
{
	struct input i;

	setenv(DOUBLE_DROPPED, "77", 1);
	ck_assert(start(&i, false) == OK);
	i.seen->pause_us = 20;
	ck_assert(run(&i) == SOURCE_END);
	ck_assert_uint_eq(parallel_input_dropped(i.in), 77);
	end(&i);
}

TEST_ROWS(other_numbers_of_threads, 2)
{
	struct input i;

	setenv(DOUBLE_THREADS, _i == 0 ? "1" : "4", 1);
	ck_assert(start(&i, false) == OK);
	ck_assert(run(&i) == (_i == 0 ? SOURCE_END : SOURCE_FAILED));
	if (_i == 0)
		ck_assert_uint_eq(published(&i.seen->n), PACKETS);
	end(&i);
}

TEST(what_does_not_start_is_refused)
{
	struct input i;

	setenv(DOUBLE_FAILS, "1", 1);
	ck_assert(start(&i, false) == E_REFUSED);
	ck_assert_ptr_null(i.in);
	end(&i);
}

TEST_ROWS(other_sources_are_read_serially, 6)
{
	static const struct source_config serial[] = {
		{ .uri = "int:lo", .threads = 4 },
		{ .uri = "ring:lo", .threads = 1 },
		{ .uri = "ring:lo", .threads = 0 },
		{ .uri = "pcapfile:ring:lo", .threads = 4 },
		{ .uri = "ring", .threads = 4 },
		{ .uri = "rt:host", .threads = 4 },
	};
	struct parallel_input *in;

	ck_assert(parallel_input_start(&in, NULL, &serial[_i], false) == OK);
	ck_assert_ptr_null(in);
	ck_assert_uint_eq(parallel_input_threads(in), 0);
	parallel_input_close(in);
}
