/* SPDX-License-Identifier: MIT */
/* tracepulse-send sends traces from where they are to somewhere else. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/send/follow.h"
#include "tools/send/from_kafka.h"
#include "tools/send/from_live.h"
#include "tools/send/options.h"
#include "tools/send/report.h"
#include "tools/send/sender.h"
#include "tools/sink/sink.h"
#include "tools/send/trace.h"

#define EXIT_USAGE 2

static volatile sig_atomic_t stop;

static void
on_signal(int number)
{
	stop = number;
	/* A second signal of either kind ends the program at once. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

/* A mapped file was cut short. */
static void
on_bus_error(int number)
{
	static const char text[] =
	    "tracepulse-send: a file was cut short while it was sent\n";

	(void)number;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

static void
catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	signal(SIGBUS, on_bus_error);
	signal(SIGPIPE, SIG_IGN); /* sendfile(2) has no MSG_NOSIGNAL */
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

/* Counts what traces have, from number FIRST on. */
static void
count(const struct traces *t, unsigned first, struct report *r)
{
	for (unsigned i = first; i < t->n; i++) {
		r->streams += t->traces[i]->n_streams;
		for (unsigned k = 0; k < t->traces[i]->n_streams; k++)
			r->progress.total_bytes +=
			    t->traces[i]->streams[k].packets.data.n;
	}
}

static enum status
read_traces(const struct send_options *o, struct traces *t, struct report *r)
{
	enum status st = OK;

	t->stop = &stop;
	for (unsigned i = 0; i < o->n_directories && st == OK; i++) {
		const unsigned first = t->n, streams = r->streams;

		st = traces_add(t, o->directories[i], o->n_directories > 1);
		if (st == OK)
			count(t, first, r);
		if (st == OK && r->streams == streams) {
			report_error(r,
			    "%s: the trace has metadata, but no stream",
			    o->directories[i]);
			st = E_NOENT;
		}
	}
	if (t->error[0] != '\0')
		report_error(r, "%s", t->error);
	return st;
}

static enum status
send_all(const struct send_options *o, struct send_sink *sink, struct traces *t,
    struct report *r)
{
	enum status st = OK;

	for (uint64_t n = 0; st == OK && (o->loop == 0 || n < o->loop); n++) {
		progress_begin(&r->progress, n + 1);
		st = stop ? E_STOPPED : sender_run(o, sink, t, r, &stop);
	}
	return st;
}

int
main(int argc, char **argv)
{
	struct send_options o;
	struct traces t = { 0 };
	struct report r = { .is_terminal = isatty(STDERR_FILENO),
		.begin_ns = clock_now_ns() };
	struct send_sink *sink;
	char why[SEND_ERROR_MAX];
	enum status st;
	bool is_read = false;

	if (send_options_parse(&o, argc, argv) != OK)
		return EXIT_USAGE;
	if (o.is_done)
		return 0;
	r.is_quiet = o.quiet;
	r.is_json = o.json;
	r.progress.host = o.sink.url.host;
	r.progress.sessions = o.loop;
	catch_signals();
	st = send_sink_open(&sink, &o.sink, why);
	if (st != OK) {
		report_error(&r, "%s", why);
		return 1;
	}
#ifdef HAVE_KAFKA
	if (o.group != NULL)
		st = from_kafka_run(&o, sink, &r, &stop);
	else
#endif
	    if (o.from_text != NULL) {
		st = from_live_run(&o, sink, &r, &stop);
	} else if (o.follow) {
		st = follow_run(&o, sink, &r, &stop);
	} else {
		st = read_traces(&o, &t, &r);
		is_read = st == OK;
	}
	if (is_read)
		st = send_all(&o, sink, &t, &r);
	sink->ops->destroy(sink);
	if (st == E_STOPPED)
		r.signal = (int)stop;
	report_summary(&r, is_read ? &t : NULL, o.sink.to);
	traces_free(&t);
	if (st == E_STOPPED) /* as a shell reports a signal */
		return 128 + (int)stop;
	return st == OK ? 0 : 1;
}
