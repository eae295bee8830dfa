/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/parallel_input.h"

#ifdef HAVE_LIBTRACE_PARALLEL
/* After libtrace.h. */
#include <libtrace_parallel.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/publish.h"
#include "tools/capture/libtrace_packet.h"
#include "tools/capture/privileges.h"

/* The interval between two ticks of a thread. */
#define TICK_MS 20
/* How often drops and the end are checked. */
#define LOOK_MS 50

/*
 * Formats of which libtrace reads a queue in each thread. For any other source
 * its threads take turns, with a lock, or one thread hands out packets one by
 * one: batches of our own reader are faster (doc/performance.md). int: is read
 * by interface.h.
 */
static const char *const formats[] = {
	"ring:",     /* sockets among which the kernel shares packets out */
	"xdp:",	     /* a socket for each queue of the network card */
	"dpdk:",     /* the card's queues */
	"dpdkvdev:", /* queues of a virtual card */
	"dpdkndag:", /* the same, with nDAG's records in the packets */
	"pfring:",   /* channels of the card */
	"dag:",	     /* streams of an Endace card */
	"ndag:",     /* multicast groups, one for each stream */
};

struct input_thread {
	struct parallel_input *input;
	unsigned number;
	bool is_open; /* it may make calls */
};

struct parallel_input {
	libtrace_t *trace;
	libtrace_callback_set_t *callbacks;
	bool drops_outgoing;
	bool is_running; /* libtrace's threads are running */
	const struct source_calls *calls;
	int opening; /* eventfd: readable once calls may be made */
	int waking;  /* eventfd: wakes parallel_input_run() */
	struct published is_open;
	struct published is_over;	   /* packets are returned unread */
	struct published started, stopped; /* threads, so far */
	struct published is_surprised;	   /* more threads than requested */
	struct published dropped;
	unsigned n;
	struct input_thread threads[];
};

static void
set_event(int event)
{
	const uint64_t one = 1;

	(void)!write(event, &one, sizeof(one));
}

/* Let all threads make calls, now and later. */
static void
open_gate(struct parallel_input *in)
{
	publish(&in->is_open, 1);
	set_event(in->opening);
}

static void
want_no_more(struct parallel_input *in)
{
	publish(&in->is_over, 1);
	set_event(in->waking);
}

/* May calls be made? */
static bool
may_call(struct input_thread *t, int timeout_ms)
{
	struct parallel_input *in = t->input;
	struct pollfd p = { .fd = in->opening, .events = POLLIN };

	while (!t->is_open) {
		if (published(&in->is_open) == 0 &&
		    poll(&p, 1, timeout_ms) == 0)
			return false;
		if (published(&in->is_open) == 0)
			continue;
		t->is_open = true;
	}
	return published(&in->is_over) == 0;
}

static void *
starting(libtrace_t *trace, libtrace_thread_t *thread, void *global)
{
	struct parallel_input *in = global;
	const uint64_t number = published_add(&in->started, 1) - 1;
	sigset_t all;

	(void)trace;
	(void)thread;
	/* Signals are for the main thread, but for what it asks us. */
	sigfillset(&all);
	sigdelset(&all, PRIVILEGES_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	return number < in->n ? &in->threads[number] : NULL;
}

static void
stopping(
    libtrace_t *trace, libtrace_thread_t *thread, void *global, void *local)
{
	struct parallel_input *in = global;

	(void)trace;
	(void)thread;
	(void)local;
	published_add(&in->stopped, 1);
	set_event(in->waking);
}

/* The packet is returned at once: until then it keeps its place in the ring. */
static libtrace_packet_t *
packet(libtrace_t *trace, libtrace_thread_t *thread, void *global, void *local,
    libtrace_packet_t *p)
{
	struct parallel_input *in = global;
	struct input_thread *t = local;
	struct record record = { 0 };
	const uint8_t *bytes;

	(void)trace;
	(void)thread;
	if (t == NULL) {
		publish(&in->is_surprised, 1);
		want_no_more(in);
		return p;
	}
	if (!may_call(t, -1) || !packet_describe(p, &record, &bytes) ||
	    (in->drops_outgoing && record.direction == DIRECTION_OUTGOING))
		return p;
	if (!in->calls->packet(in->calls->arg, t->number, &record, bytes))
		want_no_more(in);
	return p;
}

static void
ticking(libtrace_t *trace, libtrace_thread_t *thread, void *global, void *local,
    uint64_t time)
{
	struct parallel_input *in = global;
	struct input_thread *t = local;

	(void)trace;
	(void)thread;
	(void)time;
	if (t != NULL && may_call(t, 0))
		in->calls->tick(in->calls->arg, t->number);
}

static bool
has_queues(const char *uri)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (strncmp(uri, formats[i], strlen(formats[i])) == 0)
			return true;
	return false;
}

static struct parallel_input *
make_input(libtrace_t *trace, unsigned n, bool drops_outgoing)
{
	struct parallel_input *in = calloc(
	    1, sizeof(*in) + n * sizeof(*in->threads));

	if (in == NULL)
		return NULL;
	in->trace = trace;
	in->n = n;
	in->drops_outgoing = drops_outgoing;
	for (unsigned i = 0; i < n; i++)
		in->threads[i] = (struct input_thread){ .input = in,
			.number = i };
	in->opening = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	in->waking = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	in->callbacks = trace_create_callback_set();
	if (in->callbacks != NULL && in->opening >= 0 && in->waking >= 0)
		return in;
	parallel_input_close(in);
	return NULL;
}

/* Both directions of a flow go to one thread, by the source itself if it can do
 * that; otherwise libtrace puts a thread in front. */
static bool
set_up_threads(struct parallel_input *in, bool by_flow)
{
	return trace_set_starting_cb(in->callbacks, starting) == 0 &&
	       trace_set_stopping_cb(in->callbacks, stopping) == 0 &&
	       trace_set_packet_cb(in->callbacks, packet) == 0 &&
	       trace_set_tick_interval_cb(in->callbacks, ticking) == 0 &&
	       trace_set_perpkt_threads(in->trace, (int)in->n) == 0 &&
	       trace_set_tick_interval(in->trace, TICK_MS) == 0 &&
	       trace_set_hasher(in->trace,
		   by_flow ? HASHER_BIDIRECTIONAL : HASHER_BALANCE, NULL,
		   NULL) == 0;
}

enum status
parallel_input_start(struct parallel_input **out, libtrace_t *trace,
    const struct source_config *config, bool drops_outgoing)
{
	struct parallel_input *in;

	*out = NULL;
	if (config->threads < 2 || !has_queues(config->uri))
		return OK;
	in = make_input(trace, config->threads, drops_outgoing);
	if (in == NULL)
		return E_NOMEM;
	/* No reporter: the threads deliver their results themselves. */
	if (!set_up_threads(in, config->by_flow) ||
	    trace_pstart(trace, in, in->callbacks, NULL) != 0) {
		parallel_input_close(in);
		return E_REFUSED;
	}
	in->is_running = true;
	*out = in;
	return OK;
}

/* End all of libtrace's threads: no calls are made afterwards. */
static void
stop_threads(struct parallel_input *in)
{
	publish(&in->is_over, 1);
	open_gate(in); /* for threads that wait */
	(void)trace_pstop(in->trace);
	trace_join(in->trace);
	in->is_running = false;
}

void
parallel_input_close(struct parallel_input *in)
{
	if (in == NULL)
		return;
	if (in->is_running)
		stop_threads(in);
	if (in->callbacks != NULL)
		trace_destroy_callback_set(in->callbacks);
	if (in->opening >= 0)
		close(in->opening);
	if (in->waking >= 0)
		close(in->waking);
	free(in);
}

unsigned
parallel_input_threads(const struct parallel_input *in)
{
	return in != NULL ? in->n : 0;
}

/* libtrace forgets the count when its threads pause. */
static void
count_drops(struct parallel_input *in)
{
	const uint64_t n = trace_get_dropped_packets(in->trace);

	if (n != UINT64_MAX && n > published(&in->dropped)) /* it is known */
		publish(&in->dropped, n);
}

/* Have all threads ended by themselves? There may be fewer than requested, and
 * one may begin after another ends: so it must be true twice. */
static bool
has_ended(const struct parallel_input *in, unsigned *looks)
{
	const uint64_t n = published(&in->stopped);

	if (n == 0 || n != published(&in->started))
		*looks = 0;
	else if (n == in->n || ++*looks > 1)
		return true;
	return false;
}

enum source_got
parallel_input_run(
    struct parallel_input *in, const struct source_calls *calls, int stop)
{
	struct pollfd fds[] = { { .fd = stop, .events = POLLIN },
		{ .fd = in->waking, .events = POLLIN } };
	bool has_failed = false;
	unsigned looks = 0;
	uint64_t n;

	in->calls = calls;
	open_gate(in);
	do {
		(void)poll(fds, 2, LOOK_MS);
		(void)!read(in->waking, &n, sizeof(n));
		count_drops(in);
		has_failed = trace_is_err(in->trace);
	} while (!has_failed && fds[0].revents == 0 &&
		 published(&in->is_over) == 0 && !has_ended(in, &looks));
	/* Count what was dropped since the last time; afterwards it is lost. */
	count_drops(in);
	has_failed = has_failed || trace_is_err(in->trace) ||
		     published(&in->is_surprised) != 0;
	stop_threads(in);
	return has_failed ? SOURCE_FAILED : SOURCE_END;
}

uint64_t
parallel_input_dropped(const struct parallel_input *in)
{
	return published(&in->dropped);
}

#else /* libtrace 3: every source is read serially */

enum status
parallel_input_start(struct parallel_input **out, libtrace_t *trace,
    const struct source_config *config, bool drops_outgoing)
{
	(void)trace;
	(void)config;
	(void)drops_outgoing;
	*out = NULL;
	return OK;
}

void
parallel_input_close(struct parallel_input *in)
{
	(void)in;
}

unsigned
parallel_input_threads(const struct parallel_input *in)
{
	(void)in;
	return 0;
}

enum source_got
parallel_input_run(
    struct parallel_input *in, const struct source_calls *calls, int stop)
{
	(void)in;
	(void)calls;
	(void)stop;
	return SOURCE_FAILED;
}

uint64_t
parallel_input_dropped(const struct parallel_input *in)
{
	(void)in;
	return 0;
}

#endif
