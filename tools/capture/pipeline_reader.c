/* SPDX-License-Identifier: MIT */
/* The threads that read sources: ours, and those of libtrace 4. */
#include <assert.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "tools/capture/link_layer.h"
#include "tools/capture/pipeline_internal.h"

/* A packet is in the socket this long after its time stamp, or never. */
#define CAPTURE_DELAY_NS (60 * NS_PER_MS)
/* The interval of statistics. */
#define STATS_NS NS_PER_S
/* The longest time that a live source is read after a stop. */
#define REST_NS (400 * NS_PER_MS)
#define REST_POLL_MS 5
/* How often a wait for a batch checks for a stop. */
#define STOP_MS 50
/* Packets between two checks of the clock while they arrive without a pause. */
#define CLOCK_PACKETS 64

static bool
is_stopped(const struct source_reader *r)
{
	return published(&r->pipeline->is_stopped) != 0;
}

/* The worker whose last time counts for worker W. */
static unsigned
time_of(const struct source_reader *r, unsigned w)
{
	return r->pipeline->config.is_strict ? 0 : w;
}

/* Give worker W an open batch, if it has none. False: no batch is free. */
static bool
open_batch(struct source_reader *r, unsigned w)
{
	struct batch *b = r->open[w];

	if (b != NULL)
		return true;
	b = queue_take(&r->pool.free);
	while (b == NULL &&
	       (r->is_ending || (!source_is_live(r->source) && !is_stopped(r))))
		b = queue_wait(&r->pool.free, STOP_MS);
	if (b == NULL)
		return false;
	batch_reset(b);
	b->input = (uint16_t)r->input;
	r->open[w] = b;
	return true;
}

/* Pass all open batches to their workers, which ends the round. */
static void
pass_batches(struct source_reader *r, bool is_flush)
{
	bool has_any = false;

	for (unsigned w = 0; w < r->n_workers; w++) {
		struct batch *b = r->open[w];

		if (b == NULL)
			continue;
		has_any = true;
		b->worker = (uint16_t)(r->first_worker + w);
		b->round = r->round;
		b->is_round_end = true;
		b->is_flush = is_flush;
		if (b->n == 0) {
			b->kind = BATCH_BEACON;
			b->end_ns = r->last_ns[time_of(r, w)];
		}
		b->discarded = r->lost[w];
		r->lost[w] = 0;
		r->open[w] = NULL;
		queue_put(&r->workers[w].in, b);
	}
	r->round += has_any;
}

/* Time never goes back in a stream. */
static uint64_t
in_order(struct source_reader *r, unsigned w, uint64_t ns)
{
	/* A file of packets may have any times. */
	if (ns < r->last_ns[w] && r->pipeline->config.has_records)
		return ns;
	if (ns < r->last_ns[w]) {
		published_add(&r->clamped, 1);
		return r->last_ns[w];
	}
	r->last_ns[w] = ns;
	return ns;
}

static void
put(struct source_reader *r, unsigned w, const struct record *from,
    const uint8_t *bytes)
{
	struct batch *b = r->open[w];
	struct record *to = (struct record *)(b->mem + b->used);

	assert(b->used % RECORD_ALIGN == 0);
	assert(b->used + record_size(from->len) <= b->size);
	*to = *from;
	if (from->len > 0) /* else BYTES may be NULL */
		memcpy(record_bytes(to), bytes, from->len);
	memset(record_bytes(to) + from->len, 0,
	    record_size(from->len) - sizeof(*to) - from->len);
	if (b->n++ == 0)
		b->begin_ns = to->ns;
	b->end_ns = to->ns;
	b->used += record_size(from->len);
}

/* The worker for a packet in this round. */
static unsigned
choose_worker(
    struct source_reader *r, const struct record *record, const uint8_t *bytes)
{
	const struct pipeline_config *config = &r->pipeline->config;
	struct headers h;

	if (r->n_workers == 1)
		return 0;
	if (config->hash == HASH_BALANCE)
		return (unsigned)(r->round % r->n_workers);
	headers_find(&h, record->link_type, bytes, record->cap_len);
	return headers_flow_hash(&h) % r->n_workers;
}

static bool
is_wanted(const struct pipeline_config *config, const struct record *record)
{
	return config->direction == CAPTURE_INOUT ||
	       (config->direction == CAPTURE_OUT) ==
		   (record->direction == DIRECTION_OUTGOING);
}

/* A packet that is larger than a batch gets one with memory of its own, when
 * the one before it has gone. Without memory it is cut. */
static void
make_room(struct source_reader *r, struct batch *b, struct record *record)
{
	const struct timespec pause = { .tv_nsec = NS_PER_MS };
	const size_t size = record_size(record->len);

	if (size <= b->size)
		return;
	while (published(&r->n_large) > 0)
		nanosleep(&pause, NULL);
	if (batch_enlarge(b, size, &r->n_large))
		return;
	record->len = record->cap_len = RECORD_LEN_MAX;
	published_add(&r->cut, 1);
}

static void
take_packet(
    struct source_reader *r, struct record *record, const uint8_t *bytes)
{
	const struct pipeline *p = r->pipeline;
	const uint32_t snaplen = p->config.snaplen;
	unsigned w;

	if (!is_wanted(&p->config, record))
		return;
	w = choose_worker(r, record, bytes);
	if (snaplen != 0 && record->cap_len > snaplen)
		record->cap_len = snaplen;
	record->len = record->cap_len < p->copy_len ? record->cap_len
						    : p->copy_len;
	if (p->config.key != NULL && !link_layer_is_known(record->link_type))
		record->len = 0;
	if (r->open[w] != NULL &&
	    r->open[w]->used + record_size(record->len) > r->open[w]->size) {
		pass_batches(r, false);
		w = choose_worker(r, record, bytes);
	}
	if (!open_batch(r, w)) {
		/* A packet of a file has no batch only after a stop. */
		if (!source_is_live(r->source))
			return;
		published_add(&r->dropped_local, 1);
		r->lost[w]++;
	}
	publish(&r->received, ++r->n_received);
	r->n_bytes += record->cap_len;
	publish(&r->bytes, r->n_bytes);
	if (r->open[w] == NULL)
		return;
	if (record->len == 0 && record->cap_len > 0 && p->copy_len > 0)
		published_add(&r->withheld, 1);
	record->ns = in_order(r, time_of(r, w), record->ns);
	if (record->ns > r->read_ns)
		r->read_ns = record->ns;
	make_room(r, r->open[w], record);
	put(r, w, record, bytes);
	if (r->open[w]->size > BATCH_SIZE)
		pass_batches(r, false);
}

/* Drops of the kernel belong to all streams: the first one reports them. */
static void
count_kernel_drops(struct source_reader *r)
{
	const uint64_t now = r == r->first ? source_dropped(r->source) : 0;

	if (now <= r->kernel_seen)
		return;
	r->lost[0] += now - r->kernel_seen;
	publish(&r->dropped_kernel, now);
	r->kernel_seen = now;
}

static void
put_stats(struct source_reader *r, unsigned w, uint64_t ns)
{
	struct record_stats stats = { 0 };
	struct record record = {
		.ns = ns, .kind = RECORD_STATS, .len = sizeof(stats)
	};

	for (const struct source_reader *of = r->first;
	     of < r->first + r->n_readers; of++) {
		stats.received += published(&of->received);
		stats.dropped_kernel += published(&of->dropped_kernel);
		stats.dropped_local += published(&of->dropped_local);
	}
	if (r->open[w]->used + record_size(record.len) <= r->open[w]->size)
		put(r, w, &record, (const uint8_t *)&stats);
}

/* Pass on what waits. No later packet is older than NS. Each stream gets
 * something: packets, statistics, or a batch with a time only. */
static void
flush(struct source_reader *r, uint64_t ns, bool has_stats)
{
	const struct pipeline_config *config = &r->pipeline->config;

	for (unsigned w = 0; w < r->n_workers; w++) {
		uint64_t *last = &r->last_ns[time_of(r, w)];

		/* A round of one stream is one batch. */
		if ((config->is_strict && w != r->round % r->n_workers) ||
		    !open_batch(r, w))
			continue;
		if (ns > *last)
			*last = ns;
		if (has_stats && !config->has_records && *last > 0)
			put_stats(r, w, *last);
	}
	pass_batches(r, true);
}

/* Flush a live source if it is time. IS_IDLE: everything before wall clock NS
 * was read. */
static void
flush_if_due(struct source_reader *r, bool is_idle, uint64_t ns)
{
	const uint64_t now = clock_now_ns();

	if (now < r->flush_at)
		return;
	r->flush_at = now + r->pipeline->config.flush_ns;
	count_kernel_drops(r);
	flush(r, is_idle ? ns - CAPTURE_DELAY_NS : r->read_ns,
	    now >= r->stats_at);
	if (now >= r->stats_at)
		r->stats_at = now + STATS_NS;
}

static void
wait_for_packets(struct source_reader *r, const struct source_wait *wait)
{
	struct pollfd fds[2] = {
		{ .fd = r->pipeline->stop, .events = POLLIN },
		{ .fd = wait->fd, .events = POLLIN },
	};
	int ms = clock_ms_until(r->flush_at);

	if (wait->timeout_ms >= 0 && wait->timeout_ms < ms)
		ms = wait->timeout_ms;
	(void)poll(fds, wait->fd >= 0 ? 2 : 1, ms);
}

/* When it is time to flush, ask the source once more: what it does not have
 * then was not captured before *BEFORE. True: read again. */
static bool
flush_idle_source(struct source_reader *r, uint64_t *before)
{
	if (clock_now_ns() < r->flush_at)
		return false;
	if (*before == 0) {
		*before = clock_wall_ns();
		return true;
	}
	flush_if_due(r, true, *before);
	*before = 0;
	return false;
}

static bool
goes_on(const struct source_reader *r)
{
	const uint64_t count = r->pipeline->config.count;

	return !is_stopped(r) && (count == 0 || r->n_received < count);
}

static void
start_timers(struct source_reader *r)
{
	r->flush_at = clock_now_ns() + r->pipeline->config.flush_ns;
	r->stats_at = clock_now_ns() + STATS_NS;
}

/* Read what was captured before a stop and waits in the source. */
static enum source_got
read_rest(struct source_reader *r, struct record *record)
{
	const uint64_t count = r->pipeline->config.count;
	const uint64_t stopped = clock_wall_ns();
	const uint64_t until = clock_now_ns() + REST_NS;
	enum source_got got = SOURCE_PACKET;
	struct pollfd fds = { .events = POLLIN };
	struct source_wait wait;
	const uint8_t *bytes;

	while ((count == 0 || r->n_received < count) && record->ns <= stopped &&
	       clock_now_ns() < until) {
		got = source_next(r->source, record, &bytes, &wait);
		if (got == SOURCE_PACKET) {
			take_packet(r, record, bytes);
		} else if (got == SOURCE_NOTHING &&
			   clock_wall_ns() - stopped < CAPTURE_DELAY_NS) {
			/* What came before the stop may still be hidden. */
			fds.fd = wait.fd;
			(void)poll(&fds, 1, REST_POLL_MS);
		} else {
			break;
		}
	}
	return got;
}

static void
read_live(struct source_reader *r)
{
	struct source_wait wait = { .fd = -1, .timeout_ms = -1 };
	enum source_got got = SOURCE_NOTHING;
	struct record record = { 0 };
	const uint8_t *bytes;
	uint64_t before = 0;
	unsigned n = 0;

	start_timers(r);
	while (goes_on(r)) {
		got = source_next(r->source, &record, &bytes, &wait);
		if (got == SOURCE_PACKET) {
			before = 0;
			take_packet(r, &record, bytes);
			if (++n % CLOCK_PACKETS == 0)
				flush_if_due(r, false, 0);
		} else if (got != SOURCE_NOTHING) {
			break;
		} else if (!flush_idle_source(r, &before)) {
			wait_for_packets(r, &wait);
		}
	}
	if (got == SOURCE_PACKET || got == SOURCE_NOTHING)
		got = read_rest(r, &record);
	if (got == SOURCE_FAILED)
		r->failed = E_IO;
}

/* False: the thread was too long in a read, and the caller took its place. */
static bool
read_file(struct source_reader *r)
{
	enum source_got got = SOURCE_PACKET;
	struct record record = { 0 };
	struct source_wait wait;
	const uint8_t *bytes;

	while (goes_on(r)) {
		published_add_bits(&r->reading, 1);
		got = source_next(r->source, &record, &bytes, &wait);
		if (published_take_bits(&r->reading) == 0)
			return false;
		if (got != SOURCE_PACKET)
			break;
		take_packet(r, &record, bytes);
	}
	if (got == SOURCE_FAILED)
		r->failed = E_IO;
	return true;
}

/* Wait for a batch, whatever the source: the end must arrive. */
static void
send_end(struct source_reader *r, unsigned w)
{
	struct batch *b = queue_wait(&r->pool.free, -1);

	batch_reset(b);
	b->input = (uint16_t)r->input;
	b->worker = (uint16_t)(r->first_worker + w);
	b->kind = BATCH_END;
	queue_put(&r->workers[w].in, b);
}

void
reader_end(struct source_reader *r)
{
	r->is_ending = true; /* the last losses must be reported too */
	flush(r, r->read_ns, source_is_live(r->source));
	for (unsigned w = 0; w < r->n_workers; w++)
		send_end(r, w);
}

void *
reader_run(void *reader)
{
	struct source_reader *r = reader;

	if (source_is_live(r->source)) {
		read_live(r);
		count_kernel_drops(r);
	} else if (!read_file(r)) {
		return NULL;
	}
	reader_end(r);
	publish(&r->is_over, 1);
	return NULL;
}

/* The kernel or a card hands over the packets of a queue in blocks, at most
 * this long after their time stamps. A packet that comes later gets the
 * stream's last time, and is counted as clamped. */
#define QUEUE_DELAY_NS (100 * NS_PER_MS)

static bool
packet_came(
    void *first, unsigned number, struct record *record, const uint8_t *bytes)
{
	struct source_reader *r = (struct source_reader *)first + number;
	const uint64_t count = r->pipeline->config.count;
	uint64_t nth = 0;

	if (is_stopped(r))
		return false;
	if (count != 0 && (nth = published_add(&r->first->taken, 1)) > count)
		return false;
	take_packet(r, record, bytes);
	if (r->n_received % CLOCK_PACKETS == 0)
		flush_if_due(r, false, 0);
	return count == 0 || nth < count;
}

static void
time_went_by(void *first, unsigned number)
{
	struct source_reader *r = (struct source_reader *)first + number;
	const uint64_t now = clock_wall_ns();

	if (is_stopped(r))
		return;
	if (r->n_received != r->seen || r->idle_since_ns == 0) {
		r->seen = r->n_received;
		r->idle_since_ns = now;
	}
	flush_if_due(
	    r, now - r->idle_since_ns >= QUEUE_DELAY_NS, now - QUEUE_DELAY_NS);
}

void *
reader_run_parallel(void *first)
{
	struct source_reader *f = first;
	const struct source_calls calls = {
		.arg = first, .packet = packet_came, .tick = time_went_by
	};

	for (unsigned i = 0; i < f->n_readers; i++)
		start_timers(&f[i]);
	if (source_run(f->source, &calls, f->pipeline->stop) == SOURCE_FAILED)
		f->failed = E_IO;
	count_kernel_drops(f);
	for (unsigned i = 0; i < f->n_readers; i++)
		reader_end(&f[i]);
	publish(&f->is_over, 1);
	return NULL;
}
