/* SPDX-License-Identifier: MIT */
#include "tests/bench/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/program.h"
#include "tests/bench/watcher.h"

/* Viewers that begin at once: a listener's backlog is 64. */
#define STARTING_MAX 16
#define EVENTS 256
#define TICK_NS NS_PER_MS

struct audience {
	const struct view_options *options;
	struct watcher *watchers;
	unsigned started, starting, done;
	int epoll;
};

static void
start_some(struct audience *a, struct view_result *r)
{
	while (a->starting < STARTING_MAX && a->started < a->options->viewers) {
		watcher_start(&a->watchers[a->started], a->options, r,
		    a->started, a->epoll);
		a->started++;
		a->starting++;
	}
}

/* What WAS before EVENT came, and is now. */
static void
count(struct audience *a, const struct watcher *w, bool was_starting)
{
	a->starting -= was_starting && w->has_metadata;
	a->done += w->is_done;
}

static void
serve(struct audience *a)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(
	    a->epoll, events, EVENTS, (int)(TICK_NS / NS_PER_MS));

	if (n < 0 && errno != EINTR)
		program_fail("epoll_wait: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		struct watcher *w = events[i].data.ptr;
		bool was_starting = !w->has_metadata;

		if (w->is_done)
			program_fail(
			    "viewer %u: the relay spoke unasked", w->number);
		watcher_readable(w);
		count(a, w, was_starting);
	}
}

static void
tick(struct audience *a, uint64_t now)
{
	for (unsigned i = 0; i < a->started; i++) {
		struct watcher *w = &a->watchers[i];
		bool was_done = w->is_done;

		watcher_tick(w, now);
		a->done += w->is_done && !was_done;
	}
}

void
view_run(const struct view_options *o, struct view_result *r)
{
	struct audience a = { .options = o };
	uint64_t now, next_tick = 0;

	a.watchers = calloc(o->viewers, sizeof(*a.watchers));
	a.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (a.watchers == NULL || a.epoll < 0)
		program_fail("%s", strerror(errno));
	r->started_ns = clock_now_ns();
	while (a.done < o->viewers) {
		start_some(&a, r);
		serve(&a);
		now = clock_now_ns();
		if (now < next_tick)
			continue;
		next_tick = now + TICK_NS;
		tick(&a, now);
	}
	r->ended_ns = clock_now_ns();
	for (unsigned i = 0; i < o->viewers; i++)
		watcher_stop(&a.watchers[i]);
	close(a.epoll);
	free(a.watchers);
}
