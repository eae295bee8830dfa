/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace listen: replaces "trace-cmd listen". */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/convert.h"
#include "tools/ftrace/listener.h"
#include "tools/ftrace/live.h"
#include "tools/ftrace/loop.h"
#include "tools/ftrace/recorder.h"

/* After the relay's ports, 5340 to 5344. */
#define LISTEN_PORT 5346
/* From the port where stock begins to search, to below the relay's. */
#define LISTEN_DATA_FIRST 1500
#define LISTEN_DATA_LAST 5339

struct listen_options {
	uint16_t port, data_first, data_last;
	const char *directory, *prefix;
	const char *log, *pid_file, *bind; /* NULL: none */
	bool is_daemon, has_no_file;
	unsigned verbosity;
	bool is_live; /* --relay */
	struct live_config live;
};

#define PROGRAM "tracepulse-ftrace listen"
#define PREFIX_BYTES 64
/* A longer wait is not live; the file is available then. */
#define HOLD_S_MAX 3600

#define OPTIONS_TABLE "tools/ftrace/listen_options.tbl.h"
#include "tools/client/option_rows.h"

static bool
set_port(uint16_t *out, const char *text, uint64_t least)
{
	uint64_t v;

	if (parse_u64(text, least, UINT16_MAX, &v) != OK)
		return false;
	*out = (uint16_t)v;
	return true;
}

/* FIRST-LAST */
static bool
set_ports(struct listen_options *o, const char *text)
{
	const char *dash = strchr(text, '-');
	char first[8];

	if (dash == NULL || (size_t)(dash - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	return set_port(&o->data_first, first, 1) &&
	       set_port(&o->data_last, dash + 1, 1) &&
	       o->data_first <= o->data_last;
}

/* One component of a path in the directory of -d. */
static bool
set_prefix(struct listen_options *o, const char *text)
{
	o->prefix = text;
	return *text != '\0' && *text != '.' && strlen(text) < PREFIX_BYTES &&
	       strchr(text, '/') == NULL;
}

static bool
set_text(const char **out, const char *text)
{
	*out = text;
	return *text != '\0';
}

static bool
set_relay(struct listen_options *o, const char *text)
{
	const char *why;

	o->is_live = true;
	return url_parse(&o->live.url, text, &why) == OK;
}

static bool
set_option(void *arg, size_t i, const char *value)
{
	struct listen_options *o = arg;

	switch ((enum option_id)i) {
	case OPT_PORT:
		return set_port(&o->port, value, 0);
	case OPT_DIRECTORY:
		return set_text(&o->directory, value);
	case OPT_PREFIX:
		return set_prefix(o, value);
	case OPT_DAEMON:
		return o->is_daemon = true;
	case OPT_LOG:
		return set_text(&o->log, value);
	case OPT_BIND:
		return set_text(&o->bind, value);
	case OPT_DATA_PORTS:
		return set_ports(o, value);
	case OPT_RELAY:
		return set_relay(o, value);
	case OPT_UDP:
		return o->live.udp = true;
	case OPT_HOLD:
		return parse_duration(value, HOLD_S_MAX * NS_PER_S,
			   &o->live.hold_ns) == OK;
	case OPT_NAMES:
		return convert_options_names(value, &o->live.names);
	case OPT_NO_FILE:
		return o->has_no_file = true;
	case OPT_PID_FILE:
		return set_text(&o->pid_file, value);
	case OPT_VERBOSE:
		o->verbosity++;
		return true;
	default:
		return false;
	}
}

static const struct command command = {
	.program = PROGRAM,
	.usage = PROGRAM
	" [OPTION]...\n"
	"Receives what \"trace-cmd record -N HOST:PORT\" sends.\n",
	.rows = rows,
	.n_rows = N_OPTIONS,
	.set = set_option,
};

/* Host names looked up, and files joined, at a time. */
#define NAME_THREADS 8
#define FINISH_THREADS 2
/* Descriptors that do not belong to recorders: the log, the loop, files of
 * threads. */
#define OTHER_FDS 64
/* Where the stock listener writes its pid with -D. */
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

/* The first signal ends all recorders and joins their files. A second one ends
 * at once; the next start joins them then. */
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
		log_errno(level, "cannot write %s", path);
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
		log_errno(LOG_ERROR, "cannot open %s", l->options.directory);
	return l->dir_fd < 0 ? E_IO : OK;
}

/* Looks up the relay's host before recorders connect. */
static enum status
find_relay(struct listen_options *o)
{
	const char *why;
	enum status st = o->is_live ? live_resolve(&o->live, &why) : OK;

	if (st != OK)
		log_error("relay %s: %s", o->live.url.host, why);
	return st;
}

/* After the fork of -D: threads and the loop begin here. */
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
	struct listening l = { .dir_fd = -1,
		.options = { .port = LISTEN_PORT,
		    .data_first = LISTEN_DATA_FIRST,
		    .data_last = LISTEN_DATA_LAST,
		    .directory = ".",
		    .prefix = "trace",
		    .live.hold_ns = LIVE_HOLD_AUTO } };
	int first, status;
	enum status st;

	if (!command_parse(&command, &l.options, argc, argv, &first, &status))
		return status;
	if (first < argc)
		return command_refuse(
		    &command, "unexpected argument \"%s\"", argv[first]);
	if (!l.options.is_live && l.options.live.udp)
		return command_refuse(&command, "--udp requires --relay");
	st = set_log(&l.options);
	if (st == OK)
		st = open_directory(&l);
	if (st == OK)
		st = find_relay(&l.options);
	/* The working directory stays, as with the stock listener. */
	if (st == OK && l.options.is_daemon && daemon(1, 0) != 0) {
		log_errno(LOG_ERROR, "cannot run in the background");
		st = E_IO;
	}
	if (st == OK)
		st = start(&l);
	if (st == OK)
		(void)event_base_dispatch(l.base);
	finish(&l);
	return st == OK ? 0 : 1;
}
