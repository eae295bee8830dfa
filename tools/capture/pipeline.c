/* SPDX-License-Identifier: MIT */
#include "tools/capture/pipeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/thread.h"
#include "tools/capture/ctf.h"
#include "tools/capture/pipeline_internal.h"
#include "tools/capture/sink.h"

static void
deliver(struct pipeline_worker *w, struct batch *b)
{
	b->input = (uint16_t)w->input;
	b->worker = (uint16_t)w->number;
	queue_put(&w->pipeline->results, b);
}

/* Deliver the events so far as one CTF packet. */
static void
close_packet(struct pipeline_worker *w, uint64_t round, bool is_round_end)
{
	struct batch *b = w->open;

	if (b == NULL)
		return;
	b->round = round;
	b->is_round_end = is_round_end;
	b->discarded = w->discarded;
	w->discarded = 0;
	w->open = NULL;
	deliver(w, b);
}

/* Open a batch with space for the event of a record. Without memory for a large
 * packet it is cut. */
static uint8_t *
event_space(struct pipeline_worker *w, struct record *r, uint64_t round)
{
	const size_t size = EVENT_SIZE_MAX(r->len);

	if (w->open != NULL && w->open->used + size > w->open->size)
		close_packet(w, round, false);
	if (w->open == NULL) {
		w->open = queue_wait(&w->pool.free, -1);
		batch_reset(w->open);
		w->open->used = CTF_HEADER_LEN;
	}
	if (w->open->used + size > w->open->size &&
	    !batch_enlarge(
		w->open, w->open->used + size, &w->reader->n_large)) {
		r->len = r->cap_len = RECORD_LEN_MAX;
		published_add(&w->reader->cut, 1);
	}
	return w->open->mem + w->open->used;
}

static void
add_event(struct pipeline_worker *w, struct record *r, uint64_t round)
{
	const enum payload payload = w->pipeline->config.payload;
	uint8_t *out = event_space(w, r, round);
	struct batch *b = w->open;
	struct headers h;

	if (r->kind == RECORD_STATS) {
		b->used += (uint32_t)event_encode_stats(out, r);
	} else {
		if (payload != PAYLOAD_NONE)
			headers_find(&h, r->link_type, record_bytes(r), r->len);
		b->used += (uint32_t)event_encode(out, r, &h, payload);
		b->packets++;
	}
	if (b->n++ == 0)
		b->begin_ns = r->ns;
	b->end_ns = r->ns;
}

/* A packet that is not understood loses its bytes, if they would be passed on.
 */
static void
anonymise(struct pipeline_worker *w, struct record *r)
{
	const struct pipeline_config *config = &w->pipeline->config;

	if (w->anon == NULL || r->kind != RECORD_PACKET ||
	    anon_packet(w->anon, r->link_type, record_bytes(r), r->len,
		config->checksums) ||
	    (!config->has_records && config->payload != PAYLOAD_FULL))
		return;
	r->len = 0;
	published_add(&w->withheld, 1);
}

/* Process a batch of records. A sink that takes records gets them in their
 * batch. */
static void
take_records(struct pipeline_worker *w, struct batch *b)
{
	const struct pipeline_config *config = &w->pipeline->config;
	struct record *r = (struct record *)b->mem, *to = r, *next;

	if (!config->has_records)
		w->discarded += b->discarded;
	for (uint32_t i = 0; i < b->n; i++, r = next) {
		next = record_next(r);
		anonymise(w, r);
		if (!config->has_records) {
			add_event(w, r, b->round);
			continue;
		}
		/* Behind one that has lost its bytes. */
		if (to != r)
			memmove(to, r, record_size(r->len));
		to = record_next(to);
	}
	if (config->has_records) {
		b->used = (uint32_t)((uint8_t *)to - b->mem);
		b->packets = b->n;
		deliver(w, b);
		return;
	}
	/* The combiner needs the end of each round to order them; a large
	 * packet goes at once, as the next one waits for its memory. */
	if (config->is_strict || b->is_flush || w->open->size > BATCH_SIZE)
		close_packet(w, b->round, true);
	batch_done(b);
}

static void *
worker_run(void *worker)
{
	struct pipeline_worker *w = worker;
	enum batch_kind kind;

	do {
		struct batch *b = queue_wait(&w->in, -1);

		kind = b->kind;
		/* A time or the end goes after the waiting events. Its losses
		 * are reported with the next events of its stream, which
		 * another worker may have. */
		if (kind != BATCH_DATA) {
			close_packet(w, b->round, false);
			deliver(w, b);
		} else {
			take_records(w, b);
		}
	} while (kind != BATCH_END);
	return NULL;
}

static void
append(struct combiner *c, struct batch *b)
{
	b->next = NULL;
	if (c->lists[b->worker].first == NULL)
		c->lists[b->worker].first = b;
	else
		c->lists[b->worker].last->next = b;
	c->lists[b->worker].last = b;
}

static enum status
deliver_records(struct sink *sink, struct batch *b)
{
	struct record *r = (struct record *)b->mem;
	enum status st = OK;

	for (uint32_t i = 0; i < b->n && st == OK; i++, r = record_next(r))
		st = sink->ops->record(sink, r, record_bytes(r));
	batch_done(b);
	return st;
}

/* Without a sink the batch is dropped. */
static enum status
deliver_batch(struct pipeline *p, struct sink *sink, struct batch *b)
{
	/* With is_strict, all workers of a source have one stream. */
	const unsigned worker = p->config.is_strict ? 0 : b->worker;
	const unsigned stream = p->config.is_strict
				    ? b->input
				    : b->input * p->config.n_workers + worker;
	uint64_t *sum = &p->combiners[b->input].discarded[worker];
	enum status st = OK;

	assert(b->input < p->config.n_sources);
	assert(b->worker < p->config.n_workers);
	b->discarded = *sum += b->discarded;
	if (sink != NULL && b->kind == BATCH_DATA && p->config.has_records)
		return deliver_records(sink, b);
	if (sink != NULL && b->kind == BATCH_DATA)
		return sink->ops->packet(sink, stream, b);
	if (sink != NULL && b->kind == BATCH_BEACON &&
	    sink->ops->beacon != NULL && b->end_ns > 0)
		st = sink->ops->beacon(sink, stream, b->end_ns);
	batch_done(b);
	return st;
}

/* Pass on the rounds of a source that have arrived, without a gap. */
static enum status
deliver_rounds(struct pipeline *p, struct combiner *c, struct sink *sink)
{
	enum status st = OK;

	while (st == OK) {
		const unsigned w = (unsigned)(c->round % p->config.n_workers);
		struct batch *b = c->lists[w].first;

		if (b == NULL)
			break;
		c->lists[w].first = b->next;
		c->round += b->is_round_end;
		st = deliver_batch(p, sink, b);
	}
	return st;
}

static enum status
take(struct pipeline *p, struct sink *sink, struct batch *b)
{
	struct combiner *c = &p->combiners[b->input];
	enum status st = OK;
	bool is_empty = true;

	if (b->kind == BATCH_END) {
		c->n_ended++;
		assert(c->n_ended <= p->config.n_workers);
		batch_done(b);
	} else if (!p->config.is_strict) {
		return deliver_batch(p, sink, b);
	} else {
		append(c, b);
		st = deliver_rounds(p, c, sink);
	}
	for (unsigned i = 0; i < p->config.n_workers; i++)
		is_empty &= c->lists[i].first == NULL;
	if (c->n_ended == p->config.n_workers && is_empty) {
		c->n_ended = 0;
		p->n_done++;
	}
	return st;
}

enum status
pipeline_deliver(struct pipeline *p, struct sink *sink)
{
	enum status st = OK;
	struct batch *b;

	queue_woken(&p->results);
	while ((b = queue_take(&p->results)) != NULL) {
		/* After a failure the rest is still returned to its pool. */
		const enum status one = take(p, st == OK ? sink : NULL, b);

		if (st == OK)
			st = one;
	}
	return st;
}

/* Enough for a reader and a worker to fill one each while others are under way.
 */
#define POOL_MIN 4
/* Events of workers get one part in this many of the memory. */
#define EVENTS_PART 3

unsigned
pipeline_streams(const struct pipeline_config *config)
{
	return config->is_strict ? config->n_sources
				 : config->n_sources * config->n_workers;
}

static unsigned
at_least(unsigned n, unsigned least)
{
	return n < least ? least : n;
}

static enum status
make_worker(struct pipeline *p, struct source_reader *r, unsigned number)
{
	const unsigned threads = p->config.n_sources * p->config.n_workers;
	struct pipeline_worker *w = &r->workers[number];
	enum status st = queue_init(&w->in);

	w->pipeline = p;
	w->reader = r;
	w->input = r->input;
	w->number = r->first_worker + number;
	if (st == OK && !p->config.has_records)
		st = pool_init(&w->pool,
		    at_least(
			PIPELINE_MEMORY / EVENTS_PART / BATCH_SIZE / threads,
			POOL_MIN));
	if (st == OK && p->config.key != NULL)
		st = anon_create(&w->anon, p->config.key);
	return st;
}

static enum status
make_reader(struct pipeline *p, struct source_reader *r)
{
	enum status st;

	r->pipeline = p;
	r->workers = calloc(r->n_workers, sizeof(*r->workers));
	if (r->workers == NULL)
		return E_NOMEM;
	st = pool_init(&r->pool,
	    at_least(PIPELINE_MEMORY / EVENTS_PART * (EVENTS_PART - 1) /
			 BATCH_SIZE / p->n_readers,
		POOL_MIN * r->n_workers));
	for (unsigned i = 0; i < r->n_workers && st == OK; i++)
		st = make_worker(p, r, i);
	return st;
}

/* The number of threads that read a source. */
static unsigned
readers_of(const struct source *s)
{
	const unsigned n = source_threads(s);

	return n > 0 ? n : 1;
}

static enum status
make_readers(struct pipeline *p)
{
	struct source_reader *r;
	enum status st = OK;

	for (unsigned i = 0; i < p->config.n_sources; i++)
		p->n_readers += readers_of(p->config.sources[i]);
	p->readers = r = calloc(p->n_readers, sizeof(*p->readers));
	if (r == NULL)
		return E_NOMEM;
	for (unsigned i = 0; i < p->config.n_sources; i++) {
		const unsigned n = readers_of(p->config.sources[i]);

		for (unsigned k = 0; k < n && st == OK; k++) {
			r[k].source = p->config.sources[i];
			r[k].input = i;
			r[k].first = r;
			r[k].n_readers = n;
			r[k].n_workers = p->config.n_workers / n;
			r[k].first_worker = k;
			st = make_reader(p, &r[k]);
		}
		r += n;
	}
	return st;
}

/* Bytes of a packet that workers need. */
static uint32_t
copy_len(const struct pipeline_config *config)
{
	if (config->has_records || config->payload == PAYLOAD_FULL)
		return LARGE_RECORD_LEN_MAX;
	return config->payload == PAYLOAD_NONE ? 0 : EVENT_HEADERS_LEN;
}

static enum status
make(struct pipeline *p)
{
	enum status st = queue_init(&p->results);

	p->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	p->combiners = calloc(p->config.n_sources, sizeof(*p->combiners));
	if (p->combiners == NULL)
		return E_NOMEM;
	if (p->stop < 0)
		return E_IO;
	return st == OK ? make_readers(p) : st;
}

enum status
pipeline_create(struct pipeline **out, const struct pipeline_config *config)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	enum status st;

	*out = NULL;
	if (p == NULL)
		return E_NOMEM;
	p->config = *config;
	/* There is one stream for all flows. */
	if (config->is_strict)
		p->config.hash = HASH_BALANCE;
	p->copy_len = copy_len(config);
	p->stop = -1;
	st = make(p);
	if (st != OK) {
		(void)pipeline_destroy(p, 0);
		return st;
	}
	*out = p;
	return OK;
}

static enum status
start_thread(
    pthread_t *thread, bool *is_started, void *(*run)(void *), void *arg)
{
	*is_started = thread_start(thread, run, arg) == 0;
	return *is_started ? OK : E_IO;
}

enum status
pipeline_start(struct pipeline *p)
{
	enum status st = OK;

	for (unsigned i = 0; i < p->n_readers && st == OK; i++) {
		struct source_reader *r = &p->readers[i];

		for (unsigned k = 0; k < r->n_workers && st == OK; k++)
			st = start_thread(&r->workers[k].thread,
			    &r->workers[k].is_started, worker_run,
			    &r->workers[k]);
		if (st == OK && r == r->first)
			st = start_thread(&r->thread, &r->is_started,
			    source_threads(r->source) > 0 ? reader_run_parallel
							  : reader_run,
			    r);
	}
	return st;
}

void
pipeline_stop(struct pipeline *p)
{
	const uint64_t one = 1;

	publish(&p->is_stopped, 1);
	(void)!write(p->stop, &one, sizeof(one));
}

void
pipeline_end_hanging(struct pipeline *p)
{
	for (unsigned i = 0; i < p->n_readers; i++) {
		struct source_reader *r = &p->readers[i];

		if (r->is_taken || source_is_live(r->source) ||
		    published_take_bits(&r->reading) == 0)
			continue;
		r->is_taken = true;
		reader_end(r);
	}
}

int
pipeline_event(const struct pipeline *p)
{
	return p->results.event;
}

bool
pipeline_is_done(const struct pipeline *p)
{
	return p->n_done == p->config.n_sources;
}

struct pipeline_stats
pipeline_stats(const struct pipeline *p)
{
	struct pipeline_stats s = { 0 };

	for (unsigned i = 0; i < p->n_readers; i++) {
		const struct source_reader *r = &p->readers[i];

		/* A packet is counted as received last. */
		s.dropped_local += published(&r->dropped_local);
		s.received += published(&r->received);
		s.dropped_kernel += published(&r->dropped_kernel);
		s.withheld += published(&r->withheld);
		s.clamped += published(&r->clamped);
		s.cut += published(&r->cut);
		s.bytes += published(&r->bytes);
		for (unsigned w = 0; w < r->n_workers; w++)
			s.withheld += published(&r->workers[w].withheld);
	}
	return s;
}

const char *
pipeline_error(const struct pipeline *p)
{
	for (unsigned i = 0; i < p->n_readers; i++)
		if (p->readers[i].failed != OK)
			return source_error(p->readers[i].source);
	return NULL;
}

static bool
join_reader(struct source_reader *r, uint64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = NS_PER_MS };

	if (!r->is_started)
		return true;
	if (r->is_taken)
		return false;
	while (published(&r->is_over) == 0) {
		if (clock_now_ns() > until_ns)
			return false;
		nanosleep(&pause, NULL);
	}
	pthread_join(r->thread, NULL);
	r->is_started = false;
	return true;
}

static void
free_worker(struct pipeline_worker *w)
{
	if (w->is_started)
		pthread_join(w->thread, NULL);
	queue_free(&w->in);
	pool_free(&w->pool);
	anon_destroy(w->anon);
}

bool
pipeline_destroy(struct pipeline *p, int wait_ms)
{
	const uint64_t until = clock_now_ns() + (uint64_t)wait_ms * NS_PER_MS;

	for (unsigned i = 0; p->readers != NULL && i < p->n_readers; i++)
		if (!join_reader(&p->readers[i], until))
			return false;
	for (unsigned i = 0; p->readers != NULL && i < p->n_readers; i++) {
		struct source_reader *r = &p->readers[i];

		for (unsigned k = 0; r->workers != NULL && k < r->n_workers;
		     k++)
			free_worker(&r->workers[k]);
		free(r->workers);
		pool_free(&r->pool);
	}
	free(p->readers);
	free(p->combiners);
	queue_free(&p->results);
	if (p->stop >= 0)
		close(p->stop);
	free(p);
	return true;
}
