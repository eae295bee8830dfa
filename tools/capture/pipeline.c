/* SPDX-License-Identifier: MIT */
#include "tools/capture/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/thread.h"
#include "tools/capture/pipeline_internal.h"

/* So that a reader and a worker each have one to fill, and one is under way. */
#define POOL_MIN 4
/* Of the memory, a worker's events get one part of so many. */
#define EVENTS_PART 3

unsigned
pipeline_streams(const struct pipeline_config *config)
{
	return config->is_strict ? config->n_sources
				 : config->n_sources * config->n_workers;
}

unsigned
pipeline_stream(const struct pipeline_config *config, const struct chunk *c)
{
	return config->is_strict ? c->input
				 : c->input * config->n_workers + c->worker;
}

unsigned
pipeline_round(const struct pipeline *p, unsigned n_workers, uint64_t round,
    unsigned *first)
{
	if (p->config.hash == HASH_FLOW) {
		*first = 0;
		return n_workers;
	}
	*first = (unsigned)(round % n_workers);
	return 1;
}

static unsigned
at_least(unsigned n, unsigned least)
{
	return n < least ? least : n;
}

static enum status
make_worker(struct pipeline *p, struct reader *r, unsigned number)
{
	const unsigned threads = p->config.n_sources * p->config.n_workers;
	struct worker *w = &r->workers[number];
	enum status st = queue_init(&w->in);

	w->pipeline = p;
	w->input = r->input;
	w->number = r->first_worker + number;
	if (st == OK && !p->config.has_records)
		st = pool_init(&w->pool,
		    at_least(
			PIPELINE_MEMORY / EVENTS_PART / CHUNK_SIZE / threads,
			POOL_MIN));
	if (st == OK && p->config.key != NULL)
		st = anon_create(&w->anon, p->config.key);
	return st;
}

static enum status
make_reader(struct pipeline *p, struct reader *r)
{
	enum status st;

	r->pipeline = p;
	r->workers = calloc(r->n_workers, sizeof(*r->workers));
	if (r->workers == NULL)
		return E_NOMEM;
	st = pool_init(&r->pool,
	    at_least(PIPELINE_MEMORY / EVENTS_PART * (EVENTS_PART - 1) /
			 CHUNK_SIZE / p->n_readers,
		POOL_MIN * r->n_workers));
	for (unsigned i = 0; i < r->n_workers && st == OK; i++)
		st = make_worker(p, r, i);
	return st;
}

/* How many threads read a source. */
static unsigned
readers_of(const struct source *s)
{
	const unsigned n = source_threads(s);

	return n > 0 ? n : 1;
}

static enum status
make_readers(struct pipeline *p)
{
	struct reader *r;
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

/* Bytes of a packet that workers look at. */
static uint32_t
copy_len(const struct pipeline_config *config)
{
	if (config->has_records || config->payload == PAYLOAD_FULL)
		return RECORD_LEN_MAX;
	return config->payload == PAYLOAD_HEADERS ? EVENT_HEADERS_LEN : 0;
}

static enum status
make(struct pipeline *p)
{
	enum status st = queue_init(&p->results);

	p->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	p->combining = calloc(p->config.n_sources, sizeof(*p->combining));
	if (p->combining == NULL)
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
		struct reader *r = &p->readers[i];

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
		struct reader *r = &p->readers[i];

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
		const struct reader *r = &p->readers[i];

		s.received += published(&r->received);
		s.dropped_kernel += published(&r->dropped_kernel);
		s.dropped_local += published(&r->dropped_local);
		s.withheld += published(&r->withheld);
		s.clamped += published(&r->clamped);
		s.bytes += published(&r->bytes);
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
join_reader(struct reader *r, uint64_t until_ns)
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
free_worker(struct worker *w)
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
		struct reader *r = &p->readers[i];

		for (unsigned k = 0; r->workers != NULL && k < r->n_workers;
		     k++)
			free_worker(&r->workers[k]);
		free(r->workers);
		pool_free(&r->pool);
	}
	free(p->readers);
	free(p->combining);
	queue_free(&p->results);
	if (p->stop >= 0)
		close(p->stop);
	free(p);
	return true;
}
