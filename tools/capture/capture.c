/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/capture.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/capture/pipeline.h"
#include "tools/capture/privileges.h"
#include "tools/capture/console.h"
#include "tools/capture/sink.h"

/* Those of the sink, results, signals. */
#define POLLFDS (SINK_POLLFDS + 2)
/* How long the loop sleeps when no timer is set. */
#define REST_MS 1000
/* How long threads have to end, once everything is delivered. */
#define DESTROY_MS 1000
/* A reader that is still in a file this long after a stop is taken to read one
 * without an end. */
#define HANGING_MS 300

struct capture {
	const struct capture_options *options;
	struct source *sources[CAPTURE_INPUTS_MAX];
	struct pipeline_config config;
	struct pipeline *pipeline;
	struct sink *sink;
	struct console console;
	uint8_t key[ANON_KEY_LEN];
	char hostname[HOST_NAME_MAX + 1];
	int signals;		 /* eventfd: readable after a signal */
	bool is_stopping;	 /* before end_by */
	uint64_t end_by;	 /* clock_now_ns(), then */
	uint64_t over_at;	 /* --duration; UINT64_MAX: none */
	uint64_t end_hanging_at; /* UINT64_MAX: not yet stopped */
	enum status failed;	 /* of the sink; E_STOPPED: it wants no more */
};

static enum status
open_sources(struct capture *c)
{
	const struct capture_options *o = c->options;
	char why[SOURCE_WHY_MAX];

	for (unsigned i = 0; i < o->n_uris; i++) {
		const struct source_config config = {
			.uri = o->uris[i],
			.is_file = o->is_file[i],
			.filter = o->filter,
			.snaplen = o->snaplen,
			.promiscuous = o->promiscuous,
			.buffer = (uint64_t)o->buffer_kib * 1024,
			/* Threads of libtrace have no common order. */
			.threads = o->order == ORDER_STRICT ? 1 : o->threads,
			.by_flow = o->hash == HASH_FLOW,
		};
		const enum status st = source_open(
		    &c->sources[i], &config, why);

		if (st != OK) {
			console_error(why);
			return st;
		}
		c->config.n_sources++;
		if (o->direction != CAPTURE_INOUT &&
		    !source_is_live(c->sources[i])) {
			console_error("--direction is for interfaces only");
			return E_REFUSED;
		}
	}
	return OK;
}

static enum status
load_key(struct capture *c)
{
	const char *why;

	if (c->options->anon_key == NULL)
		return OK;
	if (anon_read_key(c->options->anon_key, c->key, &why) != OK) {
		fprintf(stderr, "tracepulse-capture: %s: %s%s%s\n",
		    c->options->anon_key, why, errno != 0 ? ": " : "",
		    errno != 0 ? strerror(errno) : "");
		return E_REFUSED;
	}
	c->config.key = c->key;
	return OK;
}

/* Opening a FIFO, or a session of a relay that does not answer, blocks within a
 * call: a signal then ends the program at once. Threads that libtrace starts
 * take signals too. */
static volatile sig_atomic_t is_open, is_asked, is_ending;
static int signal_event = -1;

static void
on_signal(int number)
{
	static const char ended[] = "tracepulse-capture: stopped by a signal "
				    "before the capture started\n";
	const uint64_t one = 1;
	const int saved = errno;

	if (number == SIGUSR1)
		is_asked = 1;
	else
		is_ending = 1;
	if (!is_open && number != SIGUSR1) {
		(void)!write(STDERR_FILENO, ended, sizeof(ended) - 1);
		_exit(1);
	}
	(void)!write(signal_event, &one, sizeof(one));
	errno = saved;
}

static void
stop(struct capture *c)
{
	if (c->end_hanging_at == UINT64_MAX)
		c->end_hanging_at = clock_now_ns() + HANGING_MS * NS_PER_MS;
	if (c->pipeline != NULL)
		pipeline_stop(c->pipeline);
}

/* End, whatever the relay or a FIFO does. */
static void
end_soon(struct capture *c)
{
	c->is_stopping = true;
	c->end_by = clock_now_ns() + CAPTURE_END_MS * NS_PER_MS;
	stop(c);
}

/* Also called while waiting. */
static void
check_signals(struct capture *c)
{
	struct pipeline_stats stats;
	uint64_t n;

	if (read(c->signals, &n, sizeof(n)) != sizeof(n))
		return;
	if (is_asked && c->pipeline != NULL) {
		stats = pipeline_stats(c->pipeline);
		console_counts(&c->console, &stats, c->sink);
	}
	is_asked = 0;
	if (!is_ending || c->is_stopping)
		return;
	end_soon(c);
}

/* Also called while waiting. */
static void
check_timers(struct capture *c)
{
	struct pipeline_stats stats;

	if (clock_now_ns() >= c->over_at) {
		c->over_at = UINT64_MAX;
		/* The relay may not come back. */
		if (c->options->retry)
			end_soon(c);
		else
			stop(c);
	}
	if (c->options->stats && c->pipeline != NULL) {
		stats = pipeline_stats(c->pipeline);
		console_line(&c->console, &stats, c->sink);
	}
}

static bool
may_wait(void *capture)
{
	struct capture *c = capture;

	check_signals(c);
	check_timers(c);
	return !c->is_stopping || clock_now_ns() < c->end_by;
}

static enum status
catch_signals(struct capture *c)
{
	struct sigaction act = { .sa_handler = on_signal,
		.sa_flags = SA_RESTART },
			 old;

	c->signals = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (c->signals < 0)
		return E_IO;
	signal_event = c->signals;
	is_open = is_asked = is_ending = 0;
	signal(SIGPIPE, SIG_IGN);
	/* nohup(1) has it ignored. */
	if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		(void)sigaction(SIGHUP, &act, NULL);
	if (sigaction(SIGUSR1, &act, NULL) != 0)
		return E_IO;
	/* The second one kills, also while the output blocks. */
	act.sa_flags |= (int)SA_RESETHAND;
	return sigaction(SIGINT, &act, NULL) == 0 &&
		       sigaction(SIGTERM, &act, NULL) == 0
		   ? OK
		   : E_IO;
}

/* The options that name an output; one of them was given. */
static const struct {
	size_t at; /* in struct capture_options */
	sink_create *create;
} outputs[] = {
	{ offsetof(struct capture_options, relay), sink_ctf_create },
	{ offsetof(struct capture_options, output), sink_ctf_create },
	{ offsetof(struct capture_options, write), sink_file_create },
};

static sink_create *
create_of(const struct capture_options *o)
{
	for (size_t i = 0; i < ARRAY_LEN(outputs); i++)
		if (*(const char *const *)(const void *)((const char *)o +
							 outputs[i].at) != NULL)
			return outputs[i].create;
	abort();
}

static enum status
open_sink(struct capture *c)
{
	const struct capture_options *o = c->options;
	struct sink_config config = {
		.trace = { .hostname = c->hostname,
		    .uris = o->uris,
		    .n_uris = o->n_uris,
		    .snaplen = o->snaplen,
		    .payload = o->payload,
		    .is_anonymised = o->anon_key != NULL },
		.n_streams = pipeline_streams(&c->config),
		.may_wait = may_wait,
		.arg = c,
	};
	char why[SINK_ERROR_MAX];
	enum status st;

	if (getrandom(config.trace.uuid, CTF_UUID_LEN, 0) != CTF_UUID_LEN)
		return E_IO;
	st = create_of(o)(&c->sink, &config, o, why);
	if (st == OK)
		c->config.has_records = c->sink->ops->record != NULL;
	if (st != OK)
		console_error(why);
	return st;
}

static enum status
drop_privileges(void)
{
	const enum status st = privileges_drop();

	if (st != OK)
		console_error(strerror(errno));
	return st;
}

static enum status
prepare(struct capture *c)
{
	const struct capture_options *o = c->options;
	enum status st;

	c->config = (struct pipeline_config){ .sources = c->sources,
		.n_workers = o->threads,
		.hash = o->hash,
		.is_strict = o->order == ORDER_STRICT,
		.payload = o->payload,
		.snaplen = o->snaplen,
		.checksums = o->checksums,
		.flush_ns = o->flush_ns,
		.count = o->count,
		.direction = o->direction };
	if (o->hostname != NULL)
		snprintf(c->hostname, sizeof(c->hostname), "%s", o->hostname);
	else if (gethostname(c->hostname, sizeof(c->hostname) - 1) != 0)
		snprintf(c->hostname, sizeof(c->hostname), "localhost");
	if (privileges_keep_capture() != OK || catch_signals(c) != OK) {
		console_error(strerror(errno));
		return E_IO;
	}
	st = open_sources(c);
	/* The processes that read files do not have the key. */
	if (st == OK)
		st = load_key(c);
	/* librdkafka starts threads that take no signal. */
	if (st == OK && o->target.target == SEND_TOPIC)
		st = drop_privileges();
	if (st == OK)
		st = open_sink(c);
	if (st == OK && o->target.target != SEND_TOPIC)
		st = drop_privileges();
	if (st != OK)
		return st;
	is_open = 1;
	st = pipeline_create(&c->pipeline, &c->config);
	if (st == OK)
		st = pipeline_start(c->pipeline);
	if (st != OK)
		console_error(status_text(st));
	return st;
}

static void
fail_by_sink(struct capture *c, enum status st)
{
	if (st == OK || c->failed != OK)
		return;
	c->failed = st;
	stop(c);
	if (st == E_STOPPED)
		return;
	console_end_line(&c->console);
	console_error(c->sink->error);
}

/* Milliseconds until something is due. */
static int
rest_ms(const struct capture *c, uint64_t sink_at)
{
	uint64_t at = clock_earlier(
	    sink_at, clock_earlier(c->over_at, c->end_hanging_at));
	int ms;

	if (c->options->stats)
		at = clock_earlier(at, c->console.shown_ns + CONSOLE_NS);
	ms = clock_ms_until(at);
	return ms < REST_MS ? ms : REST_MS;
}

static void
wait_for_work(struct capture *c)
{
	struct pollfd fds[POLLFDS] = {
		{ .fd = pipeline_event(c->pipeline), .events = POLLIN },
		{ .fd = c->signals, .events = POLLIN },
	};
	uint64_t at = UINT64_MAX;
	unsigned n = 2;

	if (c->sink->ops->pollfds != NULL && c->failed == OK)
		n += c->sink->ops->pollfds(c->sink, fds + 2, &at);
	(void)poll(fds, n, rest_ms(c, at));
}

static void
run_cycle(struct capture *c)
{
	check_signals(c);
	check_timers(c);
	if (clock_now_ns() >= c->end_hanging_at) {
		c->end_hanging_at = UINT64_MAX - 1; /* once */
		pipeline_end_hanging(c->pipeline);
	}
	if (c->failed == OK)
		fail_by_sink(c, pipeline_deliver(c->pipeline, c->sink));
	else
		(void)!pipeline_deliver(c->pipeline, NULL);
	if (c->failed == OK && c->sink->ops->work != NULL)
		fail_by_sink(c, c->sink->ops->work(c->sink));
}

static void
print_view(const struct capture *c)
{
	const struct capture_options *o = c->options;
	const char *host = o->target.url.host;
	const bool is_six = strchr(host, ':') != NULL;
	char of_host[URL_HOST_MAX + HOST_NAME_MAX + 32];

	if (!o->live || o->target.target != SEND_RELAY || o->quiet || o->json)
		return;
	(void)snprintf(of_host, sizeof(of_host), "net://%s%s%s/host/%s",
	    is_six ? "[" : "", host, is_six ? "]" : "", c->hostname);
	fprintf(stderr,
	    "tracepulse-capture: watch it: babeltrace2 %s/%s\n"
	    "(to see a session of LTTng beside it, add %s/NAME)\n",
	    of_host, o->session, of_host);
}

static void
run(struct capture *c)
{
	const struct capture_options *o = c->options;

	print_view(c);
	console_begin(&c->console);
	if (o->duration_ns > 0)
		c->over_at = clock_now_ns() + o->duration_ns;
	while (!pipeline_is_done(c->pipeline) &&
	       (!c->is_stopping || clock_now_ns() < c->end_by)) {
		wait_for_work(c);
		run_cycle(c);
	}
	if (c->failed == E_STOPPED)
		c->failed = OK;
	if (c->failed == OK)
		fail_by_sink(c, sink_finish(c->sink));
	console_end_line(&c->console);
}

static int
print_end(struct capture *c)
{
	const struct pipeline_stats s = pipeline_stats(c->pipeline);
	const char *error = pipeline_is_done(c->pipeline)
				? pipeline_error(c->pipeline)
				: NULL;

	if (error != NULL)
		console_error(error);
	if (c->options->json)
		console_json(&c->console, &s, c->sink);
	else if (!c->options->quiet)
		console_summary(&c->console, &s, c->sink);
	return c->failed == OK && error == NULL && pipeline_is_done(c->pipeline)
		   ? 0
		   : 1;
}

/* False: a thread is stuck in a read that cannot be interrupted. */
static bool
release(struct capture *c)
{
	if (c->pipeline != NULL) {
		pipeline_stop(c->pipeline);
		sink_destroy(c->sink); /* this returns the batches */
		c->sink = NULL;
		if (!pipeline_is_done(c->pipeline) ||
		    !pipeline_destroy(c->pipeline, DESTROY_MS))
			return false;
	}
	sink_destroy(c->sink);
	for (unsigned i = 0; i < CAPTURE_INPUTS_MAX; i++)
		source_close(c->sources[i]);
	if (c->signals >= 0)
		close(c->signals);
	explicit_bzero(c->key, sizeof(c->key));
	return true;
}

int
capture_run(const struct capture_options *o)
{
	struct capture c = {
		.options = o,
		.signals = -1,
		.over_at = UINT64_MAX,
		.end_hanging_at = UINT64_MAX,
	};
	int status = 1;

	if (prepare(&c) == OK) {
		run(&c);
		status = print_end(&c);
	}
	if (fflush(stdout) != 0)
		status = 1;
	if (!release(&c))
		_exit(status);
	return status;
}
