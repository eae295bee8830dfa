/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/command_loop.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"

struct background {
	int read_fd, write_fd;
	struct event *event;
	unsigned running, most;
	struct list waiting;
};

/* Writing and reading one pointer is atomic (PIPE_BUF). */
static void *
run_job(void *arg)
{
	struct background_job *job = arg;

	job->work(job);
	while (
	    write(job->of->write_fd, &job, sizeof(job)) < 0 && errno == EINTR)
		;
	return NULL;
}

/* Starts waiting jobs, up to the limit. Without a thread the job runs here, and
 * blocks the loop. */
static void
start_some(struct background *b)
{
	while (b->running < b->most && !list_empty(&b->waiting)) {
		struct background_job *job = list_first(
		    &b->waiting, struct background_job, node);

		pthread_t thread;

		list_del(&job->node);
		b->running++;
		job->of = b;
		if (thread_start(&thread, run_job, job) == 0)
			pthread_detach(thread);
		else
			(void)run_job(job);
	}
}

static bool
take_one(struct background *b)
{
	struct background_job *job;

	if (read(b->read_fd, &job, sizeof(job)) != sizeof(job))
		return false;
	assert(b->running > 0);
	b->running--;
	job->done(job);
	start_some(b);
	return true;
}

static void
on_ready(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	while (take_one(arg))
		;
}

/* Returns waiting jobs undone, and waits for running ones for a while. */
static void
give_up(struct background *b)
{
	const uint64_t until = clock_now_ns() + BACKGROUND_END_MS * NS_PER_MS;

	while (!list_empty(&b->waiting)) {
		struct background_job *job = list_first(
		    &b->waiting, struct background_job, node);

		list_del(&job->node);
		job->done(job);
	}
	while (b->running > 0) {
		struct pollfd fd = { .fd = b->read_fd, .events = POLLIN };

		if (poll(&fd, 1, clock_ms_until(until)) <= 0 &&
		    clock_now_ns() >= until)
			break;
		(void)take_one(b);
	}
}

enum status
background_create(
    struct background **out, struct event_base *base, unsigned threads)
{
	struct background *b = calloc(1, sizeof(*b));
	int fds[2];

	*out = NULL;
	if (b == NULL)
		return E_NOMEM;
	b->read_fd = b->write_fd = -1;
	b->most = threads;
	list_init(&b->waiting);
	if (pipe2(fds, O_CLOEXEC) != 0) {
		log_errno(LOG_ERROR, "cannot create a pipe");
		goto fail;
	}
	b->read_fd = fds[0];
	b->write_fd = fds[1];
	/* The loop reads until the pipe is empty; threads may block. */
	if (fcntl(b->read_fd, F_SETFL, O_NONBLOCK) != 0)
		goto fail;
	b->event = command_loop_watch(
	    base, b->read_fd, EV_READ | EV_PERSIST, on_ready, b);
	if (b->event == NULL)
		goto fail;
	*out = b;
	return OK;
fail:
	background_destroy(b);
	return E_IO;
}

void
background_destroy(struct background *b)
{
	if (b == NULL)
		return;
	if (b->event != NULL) {
		event_free(b->event);
		give_up(b);
	}
	/* A thread that still runs uses it until the process ends. */
	if (b->running > 0)
		return;
	if (b->read_fd >= 0) {
		close(b->read_fd);
		close(b->write_fd);
	}
	free(b);
}

void
background_add(struct background *b, struct background_job *job)
{
	list_append(&b->waiting, &job->node);
	start_some(b);
}

bool
background_cancel(struct background_job *job)
{
	const bool is_waiting = !list_empty(&job->node);

	list_del(&job->node);
	return is_waiting;
}

enum status
command_loop_create(struct command_loop *l)
{
	*l = (struct command_loop){ .base = event_base_new() };
	if (l->base == NULL) {
		log_error("cannot create an event loop");
		return E_NOMEM;
	}
	return background_create(&l->names, l->base, COMMAND_LOOP_LOOKUPS);
}

static void
end_loop(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	(void)event_base_loopbreak(arg);
}

enum status
command_loop_catch_signals(
    struct command_loop *l, event_callback_fn stop, void *arg)
{
	static const int numbers[COMMAND_LOOP_SIGNALS] = { SIGINT, SIGTERM };

	if (stop == NULL) {
		stop = end_loop;
		arg = l->base;
	}
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < COMMAND_LOOP_SIGNALS; i++) {
		l->signals[i] = command_loop_watch(
		    l->base, numbers[i], EV_SIGNAL | EV_PERSIST, stop, arg);
		if (l->signals[i] == NULL) {
			log_error("cannot catch signals");
			return E_NOMEM;
		}
	}
	return OK;
}

void
command_loop_destroy(struct command_loop *l)
{
	background_destroy(l->names);
	for (size_t i = 0; i < COMMAND_LOOP_SIGNALS; i++)
		if (l->signals[i] != NULL)
			event_free(l->signals[i]);
	if (l->base != NULL)
		event_base_free(l->base);
	*l = (struct command_loop){ 0 };
}

struct event *
command_loop_watch(struct event_base *base, int fd, short what,
    event_callback_fn fn, void *arg)
{
	struct event *e = event_new(base, fd, what, fn, arg);

	if (e != NULL && event_add(e, NULL) == 0)
		return e;
	if (e != NULL)
		event_free(e);
	return NULL;
}

struct timeval
command_loop_timeval(uint64_t ns)
{
	return (struct timeval){ .tv_sec = (time_t)(ns / NS_PER_S),
		.tv_usec = (suseconds_t)(ns % NS_PER_S / 1000) };
}

void
command_loop_set_timer(struct event *timer, uint64_t ns)
{
	const struct timeval tv = command_loop_timeval(ns);

	(void)event_add(timer, &tv);
}
