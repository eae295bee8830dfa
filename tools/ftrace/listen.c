/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace listen: as "trace-cmd listen". */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/ftrace/background.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/listen_options.h"
#include "tools/ftrace/listener.h"
#include "tools/ftrace/recorder.h"
#include "tools/ftrace/stops.h"

/* Names that are asked for, and files that are put together, at a time. */
#define NAME_THREADS 8
#define FINISH_THREADS 2
/* Descriptors that are not a recorder's: the log, the loop, threads' files. */
#define OTHER_FDS 64
/* Where the stock listener writes its number with -D. */
#define STOCK_PID_FILE "/run/trace-cmd-net.pid"

struct listening {
	struct listen_options options;
	struct event_base *base;
	struct listener *listener;
	struct stops stops;
	struct recorders recorders;
	struct recorder_sink_maker live;
	int dir_fd;
	bool is_ending, has_stock_pid;
};

static void
stop_if_done(struct listening *l)
{
	if (l->is_ending && l->recorders.n == 0)
		(void)event_base_loopbreak(l->base);
}

static void
on_gone(void *arg)
{
	stop_if_done(arg);
}

/* The first: in order, with files for all. A second one ends it at once; the
 * next start makes the files then. */
static void
on_stop(evutil_socket_t number, short what, void *arg)
{
	struct listening *l = arg;

	(void)what;
	if (l->is_ending)
		_exit(128 + (int)number);
	l->is_ending = true;
	listener_destroy(l->listener);
	l->listener = NULL;
	recorders_end(&l->recorders);
	stop_if_done(l);
}

static void
on_accepted(void *arg, int take_fd, const struct sockaddr *peer)
{
	struct listening *l = arg;

	recorder_accept(&l->recorders, take_fd, peer);
}

static void
on_left(void *arg, struct recording *take)
{
	struct listening *l = arg;

	recorder_finish_left(&l->recorders, take);
}

static enum status
catch_signals(struct listening *l)
{
	signal(SIGHUP, SIG_IGN);
	return stops_add(&l->stops, l->base, on_stop, l);
}

static enum status
set_log(const struct listen_options *o)
{
	static const enum log_level levels[] = { LOG_NOTICE, LOG_INFO,
		LOG_DEBUG };

	log_set_level(levels[o->verbosity < 2 ? o->verbosity : 2]);
	(void)log_look_at_stderr(true);
	return o->log != NULL ? log_open(o->log) : OK;
}

static enum status
write_pid(const char *path, enum log_level level)
{
	FILE *f = fopen(path, "we");
	bool is_ok = f != NULL && fprintf(f, "%ld\n", (long)getpid()) > 0;

	if (f != NULL && fclose(f) != 0)
		is_ok = false;
	if (!is_ok)
		log_errno(level, "%s: cannot be written", path);
	return is_ok ? OK : E_IO;
}

static enum status
open_directory(struct listening *l)
{
	l->dir_fd = -1;
	if (l->options.has_no_file)
		return OK;
	l->dir_fd = open(
	    l->options.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dir_fd < 0)
		log_errno(
		    LOG_ERROR, "%s: cannot be opened", l->options.directory);
	return l->dir_fd < 0 ? E_IO : OK;
}

/* Its host is looked up while nobody waits for us. */
static enum status
find_relay(struct listen_options *o)
{
	const char *why;
	enum status st = o->is_live ? live_resolve(&o->live, &why) : OK;

	if (st != OK)
		log_error("the relay %s: %s", o->live.url.host, why);
	return st;
}

/* Behind the fork of -D: threads and the loop begin here. */
static enum status
start(struct listening *l)
{
	const struct listen_options *o = &l->options;
	const uint64_t fds = command_raise_descriptors();
	struct recorders *r = &l->recorders;
	enum status st = E_NOMEM;

	l->base = event_base_new();
	*r = (struct recorders){ .base = l->base,
		.recordings = { .dir_fd = l->dir_fd, .prefix = o->prefix },
		.is_kept = !o->has_no_file,
		.bind_host = o->bind,
		.port_first = o->data_first,
		.port_last = o->data_last,
		.fds_max = fds > 2 * OTHER_FDS ? fds - OTHER_FDS : fds / 2,
		.gone = on_gone,
		.arg = l };
	list_init(&r->list);
	l->live = (struct recorder_sink_maker){ live_make, &l->options.live };
	r->maker = o->is_live ? &l->live : NULL;
	if (l->base != NULL)
		st = background_create(&r->names, l->base, NAME_THREADS);
	if (st == OK)
		st = background_create(&r->finishing, l->base, FINISH_THREADS);
	if (st == OK)
		st = catch_signals(l);
	if (st == OK)
		st = listener_create(
		    &l->listener, l->base, o->bind, o->port, on_accepted, l);
	if (st == OK && o->pid_file != NULL)
		st = write_pid(o->pid_file, LOG_ERROR);
	else if (st == OK && o->is_daemon)
		l->has_stock_pid = write_pid(STOCK_PID_FILE, LOG_INFO) == OK;
	if (st == OK && r->is_kept)
		recordings_find_left(&r->recordings, on_left, l);
	if (st == OK)
		log_open_journal();
	if (st == OK)
		log_notice("listening on port %u, files in %s",
		    listener_port(l->listener),
		    r->is_kept ? o->directory : "no directory");
	return st;
}

static void
finish(struct listening *l)
{
	stops_remove(&l->stops);
	listener_destroy(l->listener);
	background_destroy(l->recorders.names);
	background_destroy(l->recorders.finishing);
	if (l->base != NULL)
		event_base_free(l->base);
	if (l->dir_fd >= 0)
		close(l->dir_fd);
	if (l->options.pid_file != NULL)
		(void)unlink(l->options.pid_file);
	if (l->has_stock_pid)
		(void)unlink(STOCK_PID_FILE);
}

int
command_listen(int argc, char **argv)
{
	struct listening l = { .dir_fd = -1 };
	enum status st;

	if (listen_options_parse(&l.options, argc, argv) != OK)
		return EXIT_USAGE;
	if (l.options.is_done)
		return 0;
	st = set_log(&l.options);
	if (st == OK)
		st = open_directory(&l);
	if (st == OK)
		st = find_relay(&l.options);
	/* Where it is now stays its directory, as with the stock listener. */
	if (st == OK && l.options.is_daemon && daemon(1, 0) != 0) {
		log_errno(LOG_ERROR, "cannot go to the background");
		st = E_IO;
	}
	if (st == OK)
		st = start(&l);
	if (st == OK)
		(void)event_base_dispatch(l.base);
	finish(&l);
	return st == OK ? 0 : 1;
}
