/* SPDX-License-Identifier: MIT */
#include "tools/send/from_live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/list.h"
#include "common/thread.h"
#include "tools/client/retry.h"
#include "tools/send/live_viewer.h"
#include "tools/send/viewed.h"

struct from_live {
	const struct send_options *options;
	struct send_sink *sink;
	struct report *report;
	volatile sig_atomic_t *stop;
	struct published is_stopping; /* for the threads */
	struct list jobs;
	struct live_viewer viewer; /* for lists only */
	struct retry retry;	   /* of lists */
	uint64_t list_ns;	   /* when the next is due */
	uint64_t lists;		   /* so far */
	bool has_waited;	   /* the user knows that there is none yet */
	bool has_refused;	   /* a session cannot be sent */
};

enum job_state {
	JOB_READY,   /* a thread is due at AGAIN_NS */
	JOB_RUNNING, /* has a thread */
	JOB_DONE,    /* until the relay lists it no more */
};

/* A session that is sent, was sent, or cannot be. */
struct job {
	struct list node;
	struct from_live *all;
	enum job_state state;
	char *name; /* after its host name and NUL, in one allocation */
	char *hostname;
	uint32_t live_timer_us;
	struct viewed_parts parts;
	uint64_t seen; /* the last list with one of its parts */
	struct retry retry;
	uint64_t again_ns;

	pthread_t thread;
	/* Written by the thread, before IS_OVER is 1. */
	enum status st;
	struct viewed_totals totals;
	char why[SEND_ERROR_MAX];
	struct published is_over;
};

static bool
may_go_on(void *arg)
{
	const struct from_live *f = arg;

	return published(&f->is_stopping) == 0;
}

static bool
goes_on(void *arg)
{
	const struct from_live *f = arg;

	return !*f->stop;
}

static void *
run(void *arg)
{
	struct job *j = arg;
	const struct viewed_config config = {
		.url = &j->all->options->from,
		.hostname = j->hostname,
		.name = j->name,
		.live_timer_us = j->live_timer_us,
		.sink = j->all->sink,
		.goes_on = may_go_on,
		.arg = j->all,
	};

	j->st = viewed_run(&config, &j->parts, &j->totals, j->why);
	publish(&j->is_over, 1);
	return NULL;
}

static bool
is_span(struct span s, const char *text)
{
	return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* Is session ID part of J? */
static bool
has_part(const struct job *j, uint64_t id)
{
	const uint64_t declined = published(&j->parts.declined);
	const unsigned n = (unsigned)published(&j->parts.n);

	for (unsigned i = 0; i < n; i++)
		if (j->parts.ids[i] == id && (declined >> i & 1) == 0)
			return true;
	return false;
}

/* May session ID be part of J? Not if J declined it. */
static bool
may_have_part(const struct job *j, uint64_t id)
{
	const unsigned n = (unsigned)published(&j->parts.n);

	if (j->state == JOB_DONE || n == VIEWED_PARTS_MAX)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (j->parts.ids[i] == id)
			return false;
	return true;
}

static void
offer(struct job *j, uint64_t id)
{
	const uint64_t n = published(&j->parts.n);

	j->parts.ids[n] = id;
	publish(&j->parts.n, n + 1);
}

static struct job *
new_job(struct from_live *f, const struct live_listed *s)
{
	struct job *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->hostname = calloc(1, s->hostname.n + s->name.n + 2);
	if (j->hostname == NULL) {
		free(j);
		return NULL;
	}
	memcpy(j->hostname, s->hostname.p, s->hostname.n);
	j->name = j->hostname + s->hostname.n + 1;
	memcpy(j->name, s->name.p, s->name.n);
	j->all = f;
	j->live_timer_us = s->live_timer_us;
	list_append(&f->jobs, &j->node);
	return j;
}

static void
free_job(struct job *j)
{
	list_del(&j->node);
	free(j->hostname);
	free(j);
}

/* The job of the session S of the relay. NULL: out of memory. */
static struct job *
find_job(struct from_live *f, const struct live_listed *s)
{
	struct job *j, *found = NULL;
	const char *why = NULL;

	list_each (j, &f->jobs, struct job, node) {
		if (!is_span(s->hostname, j->hostname) ||
		    !is_span(s->name, j->name))
			continue;
		if (has_part(j, s->id))
			return j;
		if (found == NULL && may_have_part(j, s->id))
			found = j;
	}
	if (s->live_timer_us == 0)
		why = "it is not a live session: nobody can view it";
	else if (s->trace_format != 0)
		why = "it is in CTF 2, which is not supported";
	if (found == NULL || why != NULL)
		found = new_job(f, s);
	if (found == NULL)
		return NULL;
	offer(found, s->id);
	if (why != NULL) {
		found->state = JOB_DONE;
		f->has_refused = true;
		report_note(f->report, "%s/%s: not sent: %s", found->hostname,
		    found->name, why);
	}
	return found;
}

/* Does the user want this session? */
static bool
is_wanted(const struct from_live *f, const struct live_listed *s)
{
	const struct send_options *o = f->options;

	return o->all || (is_span(s->hostname, o->from_host) &&
			     is_span(s->name, o->from_session));
}

/* Ask the relay for its sessions. */
static enum status
list(struct from_live *f)
{
	struct live_listed s;
	struct reader r;
	struct job *j;
	enum status st = OK;
	uint32_t n;

	if (f->viewer.fd < 0)
		st = live_viewer_open(
		    &f->viewer, &f->options->from, goes_on, f);
	if (st == OK)
		st = live_viewer_ask(&f->viewer,
		    &(struct live_request){ .cmd = LIVE_CMD_list_sessions },
		    &r);
	if (st != OK)
		return st;
	f->lists++;
	for (n = reader_u32(&r); n > 0; n--) {
		live_listed_decode(&r, f->viewer.minor, &s);
		if (r.bad)
			return live_viewer_fail(
			    &f->viewer, E_MALFORMED, "an invalid list");
		if (!is_wanted(f, &s))
			continue;
		j = find_job(f, &s);
		if (j == NULL)
			return live_viewer_fail(
			    &f->viewer, E_NOMEM, "out of memory");
		j->seen = f->lists;
	}
	return OK;
}

/* What is no longer listed will not come again. */
static void
forget_ended(struct from_live *f)
{
	struct job *j, *next;

	list_each_safe (j, next, &f->jobs, struct job, node) {
		if (j->state == JOB_RUNNING || j->seen == f->lists)
			continue;
		if (j->state == JOB_READY)
			report_error(f->report,
			    "%s/%s: it has ended: the rest was not sent",
			    j->hostname, j->name);
		free_job(j);
	}
}

static void
look(struct from_live *f)
{
	const uint64_t now = clock_now_ns();
	enum status st;

	if (now < f->list_ns)
		return;
	st = list(f);
	f->list_ns = now + FROM_LIVE_LIST_MS * NS_PER_MS;
	if (st == OK) {
		retry_reset(&f->retry);
		forget_ended(f);
	} else if (st != E_STOPPED) {
		f->list_ns = now + retry_pause(&f->retry);
		report_error(f->report, "%s port %u: %s", f->options->from.host,
		    f->options->from.control, f->viewer.error);
		live_viewer_close(&f->viewer);
	}
	if (st == OK && !f->has_waited && list_empty(&f->jobs)) {
		report_note(f->report, "%s: no session yet: waiting",
		    f->options->from_text);
		f->has_waited = true;
	}
}

static void
start(struct from_live *f, struct job *j)
{
	int error;

	publish(&j->is_over, 0);
	error = thread_start_with_stack(&j->thread, FROM_LIVE_STACK, run, j);
	if (error == 0) {
		j->state = JOB_RUNNING;
		return;
	}
	report_error(f->report, "%s/%s: cannot start a thread: %s", j->hostname,
	    j->name, strerror(error));
	j->again_ns = clock_now_ns() + retry_pause(&j->retry);
}

static void
add_totals(struct report *r, const struct job *j)
{
	report_add(r, &j->totals.sent);
	r->sessions += j->totals.is_open;
	r->streams += (unsigned)j->totals.streams;
	r->missing += j->totals.missing;
}

/* The thread of J has ended. */
static void
reap(struct from_live *f, struct job *j)
{
	uint64_t pause;

	pthread_join(j->thread, NULL);
	add_totals(f->report, j);
	if (j->st == OK) {
		report_note(f->report, "%s/%s: it has ended: %llu packets",
		    j->hostname, j->name,
		    (unsigned long long)j->totals.sent.sent.packets);
		j->state = JOB_DONE;
		/* A part that came too late begins another job. */
		publish(&j->parts.n, j->totals.parts);
		return;
	}
	/* The next list says what is still there. */
	publish(&j->parts.n, 0);
	publish(&j->parts.declined, 0);
	j->state = JOB_READY;
	if (j->st == E_STOPPED)
		return;
	if (j->totals.sent.sent.packets > 0)
		retry_reset(&j->retry);
	pause = retry_pause(&j->retry);
	report_error(f->report, "%s/%s: %s; trying again in %llu s",
	    j->hostname, j->name, j->why,
	    (unsigned long long)(pause / NS_PER_S));
	j->again_ns = clock_now_ns() + pause;
}

/* Is everything that the user wanted sent? */
static bool
is_complete(const struct from_live *f)
{
	bool is_done = !f->options->all && !list_empty(&f->jobs);
	const struct job *j;

	list_each (j, &f->jobs, struct job, node)
		is_done = is_done && j->state == JOB_DONE;
	return is_done;
}

static void
serve(struct from_live *f)
{
	struct job *j;

	list_each (j, &f->jobs, struct job, node) {
		if (j->state == JOB_RUNNING && published(&j->is_over))
			reap(f, j);
		if (j->state == JOB_READY && published(&j->parts.n) > 0 &&
		    clock_now_ns() >= j->again_ns)
			start(f, j);
	}
}

static void
end_all(struct from_live *f)
{
	publish(&f->is_stopping, 1);
	while (!list_empty(&f->jobs)) {
		struct job *j = list_first(&f->jobs, struct job, node);

		if (j->state == JOB_RUNNING)
			reap(f, j);
		free_job(j);
	}
	live_viewer_close(&f->viewer);
}

enum status
from_live_run(const struct send_options *o, struct send_sink *sink,
    struct report *r, volatile sig_atomic_t *stop)
{
	struct from_live f = { .options = o,
		.sink = sink,
		.report = r,
		.stop = stop,
		.viewer.fd = -1 };

	list_init(&f.jobs);
	(void)fds_raise_limit(); /* each session has three */
	(void)snprintf(r->path, sizeof(r->path), "%s", o->sink.to);
	while (!*stop && !is_complete(&f)) {
		look(&f);
		serve(&f);
		(void)usleep(CLIENT_TICK_MS * 1000);
	}
	end_all(&f);
	if (*stop)
		return E_STOPPED;
	return f.has_refused ? E_REFUSED : OK;
}
