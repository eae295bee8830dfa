/* SPDX-License-Identifier: MIT */
/*
 * What is documented of libtrace 4's parallel interface, on libtrace 3: one
 * thread reads, serially, and gives packets to those that make the calls, each
 * of which has a queue. So it is with a source that cannot divide its packets;
 * who is called cannot tell the difference.
 */
#include "tests/capture/double/libtrace_double.h"

#include <assert.h>
#include <dlfcn.h>
#include <libtrace.h>
#include <libtrace_parallel.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/capture/libtrace_packet.h"

#define TRACES 16
#define THREADS 32
#define QUEUE 1024
#define NS_PER_S 1000000000

struct callback_set {
	fn_cb_starting starting;
	fn_cb_dataless stopping;
	fn_cb_packet packet;
	fn_cb_tick tick;
};

struct libtrace_thread_t {
	struct parallel *parallel;
	pthread_t id;
	libtrace_packet_t *queue[QUEUE];
	unsigned first, n;
};

struct parallel {
	libtrace_t *trace;  /* the caller's */
	libtrace_t *source; /* that packets are read from; it may be the same */
	unsigned n_threads, tick_ms, turn;
	enum hasher_types hasher;
	struct callback_set callbacks;
	void *global;
	pthread_t reader;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_stopped, is_over;
	unsigned n_out; /* packets that are given and not yet destroyed */
	struct libtrace_thread_t threads[THREADS];
};

static struct parallel parallels[TRACES];

static struct parallel *
find(libtrace_t *trace)
{
	for (unsigned i = 0; i < TRACES; i++)
		if (parallels[i].trace == trace)
			return &parallels[i];
	for (unsigned i = 0; i < TRACES; i++)
		if (parallels[i].trace == NULL) {
			parallels[i] = (struct parallel){ .trace = trace };
			pthread_mutex_init(&parallels[i].lock, NULL);
			pthread_cond_init(&parallels[i].changed, NULL);
			return &parallels[i];
		}
	abort();
}

libtrace_callback_set_t *
trace_create_callback_set(void)
{
	return calloc(1, sizeof(struct callback_set));
}

void
trace_destroy_callback_set(libtrace_callback_set_t *set)
{
	free(set);
}

int
trace_set_starting_cb(libtrace_callback_set_t *set, fn_cb_starting f)
{
	set->starting = f;
	return 0;
}

int
trace_set_stopping_cb(libtrace_callback_set_t *set, fn_cb_dataless f)
{
	set->stopping = f;
	return 0;
}

int
trace_set_packet_cb(libtrace_callback_set_t *set, fn_cb_packet f)
{
	set->packet = f;
	return 0;
}

int
trace_set_tick_interval_cb(libtrace_callback_set_t *set, fn_cb_tick f)
{
	set->tick = f;
	return 0;
}

int
trace_set_perpkt_threads(libtrace_t *trace, int n)
{
	const char *other = getenv(DOUBLE_THREADS);

	find(trace)->n_threads = (unsigned)(other != NULL ? atoi(other) : n);
	return n <= THREADS ? 0 : -1;
}

int
trace_set_tick_interval(libtrace_t *trace, size_t ms)
{
	find(trace)->tick_ms = (unsigned)ms;
	return 0;
}

int
trace_set_hasher(
    libtrace_t *trace, enum hasher_types type, fn_hasher f, void *data)
{
	(void)f;
	(void)data;
	find(trace)->hasher = type;
	return 0;
}

/* libtrace 4 frees a compiled filter with each of its copies. */
static libtrace_filter_t *compiled[TRACES];
static unsigned n_compiled;

int
trace_apply_filter(libtrace_filter_t *filter, const libtrace_packet_t *packet)
{
	int (*real)(libtrace_filter_t *, const libtrace_packet_t *);
	void *f = dlsym(RTLD_NEXT, "trace_apply_filter");

	memcpy(&real, &f, sizeof(f));
	if (n_compiled < TRACES)
		compiled[n_compiled++] = filter;
	return real(filter, packet);
}

void
trace_destroy_filter(libtrace_filter_t *filter)
{
	void (*real)(libtrace_filter_t *);
	void *f = dlsym(RTLD_NEXT, "trace_destroy_filter");

	memcpy(&real, &f, sizeof(f));
	for (unsigned i = 0; i < n_compiled; i++)
		if (compiled[i] == filter)
			compiled[i] = NULL;
	real(filter);
}

int
trace_config(libtrace_t *trace, trace_option_t option, void *value)
{
	int (*real)(libtrace_t *, trace_option_t, void *);
	void *f = dlsym(RTLD_NEXT, "trace_config");

	memcpy(&real, &f, sizeof(f));
	for (unsigned i = 0; i < n_compiled; i++)
		if (option == TRACE_OPTION_FILTER && compiled[i] == value)
			abort();
	return real(trace, option, value);
}

uint64_t
trace_get_dropped_packets(libtrace_t *trace)
{
	uint64_t (*real)(libtrace_t *);
	const char *n = getenv(DOUBLE_DROPPED);
	static _Atomic unsigned asked;
	void *f;

	if (n != NULL)
		return strtoull(n, NULL, 10) / (asked++ == 0 ? 2 : 1);
	f = dlsym(RTLD_NEXT, "trace_get_dropped_packets");
	memcpy(&real, &f, sizeof(f));
	return real(trace);
}

/* The same for both directions. */
static unsigned
flow(libtrace_packet_t *p)
{
	uint32_t left = 0, sum = 0;
	libtrace_linktype_t type;
	const uint8_t *b;

	if (IS_LIBTRACE_META_PACKET(p))
		return 0;
	type = trace_get_link_type(p);
	(void)wire_length(p, type); /* which libtrace 3 ends the program at */
	b = trace_get_packet_buffer(p, &type, &left);
	if (b == NULL || left < 34 || b[12] != 8 || b[13] != 0)
		return 0;
	for (unsigned i = 26; i < 34; i++)
		sum += b[i];
	return sum;
}

/* False: it is to end. Takes P, or the caller keeps it. */
static bool
give(struct parallel *p, libtrace_packet_t *packet)
{
	const unsigned n = p->hasher == HASHER_BALANCE ? p->turn++
						       : flow(packet);
	struct libtrace_thread_t *t = &p->threads[n % p->n_threads];
	bool is_given = false;

	pthread_mutex_lock(&p->lock);
	while (t->n == QUEUE && !p->is_stopped)
		pthread_cond_wait(&p->changed, &p->lock);
	if (!p->is_stopped) {
		t->queue[(t->first + t->n++) % QUEUE] = packet;
		p->n_out++;
		if (t->n == 1)
			pthread_cond_broadcast(&p->changed);
		is_given = true;
	}
	pthread_mutex_unlock(&p->lock);
	return is_given;
}

static bool
is_stopped(struct parallel *p)
{
	bool is;

	pthread_mutex_lock(&p->lock);
	is = p->is_stopped;
	pthread_mutex_unlock(&p->lock);
	return is;
}

/* 1: a packet; 0: nothing now; -1: no more. */
static int
read_one(struct parallel *p, libtrace_packet_t *packet)
{
	struct pollfd fd = { .events = POLLIN };
	libtrace_eventobj_t e;

	if (p->source != p->trace)
		return trace_read_packet(p->source, packet) > 0 ? 1 : -1;
	e = trace_event(p->source, packet);
	if (e.type == TRACE_EVENT_PACKET)
		return e.size > 0 ? 1 : -1;
	if (e.type == TRACE_EVENT_TERMINATE)
		return -1;
	fd.fd = e.type == TRACE_EVENT_IOWAIT ? e.fd : -1;
	(void)poll(&fd, 1, 1);
	return 0;
}

static bool
open_source(struct parallel *p)
{
	const char *file = getenv(DOUBLE_FILE);

	p->source = file != NULL ? trace_create(file) : p->trace;
	return trace_start(p->source) == 0;
}

/* Packets know the source that they came from. */
static bool
again(struct parallel *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->n_out > 0)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
	trace_destroy(p->source);
	return open_source(p);
}

static void
wait_for_stop(struct parallel *p)
{
	pthread_mutex_lock(&p->lock);
	while (!p->is_stopped)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

/* A message looks like the packet that it is a copy of, but for its type. */
static void
give_message(struct parallel *p, const libtrace_packet_t *packet)
{
	libtrace_packet_t *message;

	if (getenv(DOUBLE_META) == NULL)
		return;
	message = trace_copy_packet(packet);
	message->type = TRACE_RT_STATUS;
	if (!give(p, message))
		trace_destroy_packet(message);
}

static void *
reader(void *parallel)
{
	struct parallel *p = parallel;
	int got = 0;

	while (got >= 0 && !is_stopped(p)) {
		libtrace_packet_t *packet = trace_create_packet(), *own = NULL;

		got = read_one(p, packet);
		if (got > 0) {
			give_message(p, packet);
			own = trace_copy_packet(packet);
		}
		trace_destroy_packet(packet);
		if (own != NULL && !give(p, own))
			trace_destroy_packet(own);
		if (got < 0 && getenv(DOUBLE_REPEATS) != NULL && again(p))
			got = 0;
	}
	if (getenv(DOUBLE_STAYS) != NULL)
		wait_for_stop(p);
	pthread_mutex_lock(&p->lock);
	p->is_over = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static struct timespec
later(struct timespec t, unsigned ms)
{
	t.tv_nsec += (long)ms * 1000000;
	t.tv_sec += t.tv_nsec / NS_PER_S;
	t.tv_nsec %= NS_PER_S;
	return t;
}

static bool
is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* NULL: a tick is due, or, with *IS_OVER, all has come. */
static libtrace_packet_t *
next(struct libtrace_thread_t *t, const struct timespec *tick, bool *is_over)
{
	struct parallel *p = t->parallel;
	libtrace_packet_t *packet = NULL;
	int result = 0;

	pthread_mutex_lock(&p->lock);
	while (t->n == 0 && !p->is_over && result == 0)
		result = pthread_cond_timedwait(&p->changed, &p->lock, tick);
	*is_over = t->n == 0 && p->is_over;
	if (t->n > 0) {
		packet = t->queue[t->first++ % QUEUE];
		if (t->n-- == QUEUE)
			pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return packet;
}

static void
destroy(struct parallel *p, libtrace_packet_t *packet)
{
	trace_destroy_packet(packet);
	pthread_mutex_lock(&p->lock);
	if (--p->n_out == 0)
		pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void *
process(void *thread)
{
	struct libtrace_thread_t *t = thread;
	struct parallel *p = t->parallel;
	void *local = p->callbacks.starting(p->trace, t, p->global);
	struct timespec now, tick;
	libtrace_packet_t *packet;
	bool is_over = false;

	clock_gettime(CLOCK_REALTIME, &tick);
	tick = later(tick, p->tick_ms);
	while (!is_over) {
		packet = next(t, &tick, &is_over);
		if (packet != NULL)
			packet = p->callbacks.packet(
			    p->trace, t, p->global, local, packet);
		if (packet != NULL)
			destroy(p, packet);
		clock_gettime(CLOCK_REALTIME, &now);
		if (is_before(&now, &tick))
			continue;
		p->callbacks.tick(p->trace, t, p->global, local, 0);
		tick = later(now, p->tick_ms);
	}
	p->callbacks.stopping(p->trace, t, p->global, local);
	return NULL;
}

int
trace_pstart(libtrace_t *trace, void *global, libtrace_callback_set_t *set,
    libtrace_callback_set_t *reporting)
{
	struct parallel *p = find(trace);

	assert(reporting == NULL);
	p->callbacks = *set;
	p->global = global;
	if (getenv(DOUBLE_FAILS) != NULL || !open_source(p)) {
		if (p->source != NULL && p->source != trace)
			trace_destroy(p->source);
		p->trace = NULL;
		return -1;
	}
	for (unsigned i = 0; i < p->n_threads; i++) {
		p->threads[i].parallel = p;
		if (pthread_create(
			&p->threads[i].id, NULL, process, &p->threads[i]) != 0)
			abort();
	}
	if (pthread_create(&p->reader, NULL, reader, p) != 0)
		abort();
	return 0;
}

int
trace_pstop(libtrace_t *trace)
{
	struct parallel *p = find(trace);

	pthread_mutex_lock(&p->lock);
	p->is_stopped = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

void
trace_join(libtrace_t *trace)
{
	struct parallel *p = find(trace);

	pthread_join(p->reader, NULL);
	for (unsigned i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i].id, NULL);
	if (p->source != trace)
		trace_destroy(p->source);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
	p->trace = NULL;
}
