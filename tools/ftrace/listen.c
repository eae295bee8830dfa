/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace listen: replaces "trace-cmd listen". */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fds.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/tcp_port.h"
#include "tools/ftrace/live.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/recorder.h"

/* Beyond the relay's ports (5340 to 5344), those that lttng-sessiond takes for
 * agents (5345 to 5354), and those registered up to 5364. */
#define LISTEN_PORT 5366
/* From the port where stock begins to search, to below the relay's. */
#define LISTEN_DATA_FIRST 1500
#define LISTEN_DATA_LAST 5339

#define PREFIX_BYTES 64
#define FINISH_THREADS 2 /* files joined at a time */
/* Descriptors that do not belong to recorders: the log, the loop, files of
 * threads. */
#define OTHER_FDS 64
/* Where the stock listener writes its pid with -D. */
#define STOCK_PID_FILE "/run/trace-cmd-net.pid"

struct listening {
	/* options */
	struct command_bind bind;
	uint16_t data_first, data_last;
	const char *directory, *prefix;
	const char *log, *pid_file; /* NULL: none */
	bool is_vsock, is_debug, is_daemon, has_no_file;
	unsigned verbosity;
	struct live_options live;

	struct command_loop loop;
	struct tcp_port *tcp_port;
	struct dial *probe; /* of the relay */
	char relay[URL_HOST_MAX + 16];
	struct recorders recorders;
	int dir_fd;
	bool is_ending, has_stock_pid;
};

/* FIRST-LAST */
static enum status
take_ports(const struct option_row *r, void *to, const char *arg)
{
	const char *dash = strchr(arg, '-');
	struct listening *l = to;
	uint64_t first, last;
	char text[8];

	(void)r;
	if (dash == NULL || (size_t)(dash - arg) >= sizeof(text))
		return E_MALFORMED;
	memcpy(text, arg, (size_t)(dash - arg));
	text[dash - arg] = '\0';
	if (parse_u64(text, 1, UINT16_MAX, &first) != OK ||
	    parse_u64(dash + 1, first, UINT16_MAX, &last) != OK)
		return E_MALFORMED;
	l->data_first = (uint16_t)first;
	l->data_last = (uint16_t)last;
	return OK;
}

/* One component of a path in the directory of -d. */
static enum status
take_prefix(const struct option_row *r, void *to, const char *arg)
{
	struct listening *l = to;

	(void)r;
	l->prefix = arg;
	return *arg != '\0' && *arg != '.' && strlen(arg) < PREFIX_BYTES &&
		       strchr(arg, '/') == NULL
		   ? OK
		   : E_MALFORMED;
}

static enum status
take_verbose(const struct option_row *r, void *to, const char *arg)
{
	struct listening *l = to;

	(void)r;
	(void)arg;
	l->verbosity++;
	return OK;
}

#define OPTIONS_TABLE "tools/ftrace/listen_options.tbl.h"
#define OPTIONS_STRUCT struct listening
#include "common/option_rows.h"

static const struct option_table table = { COMMAND_TABLE("listen",
    "[OPTION]...\n"
    "Receives what \"trace-cmd record -N HOST:PORT\" sends.\n") };

/* Recorders try again by themselves. */
static void
on_probed(void *arg, int take_fd)
{
	struct listening *l = arg;

	l->probe = NULL;
	if (take_fd >= 0)
		close(take_fd);
	else
		log_warn("the relay %s is not there: recorders are stored, and "
			 "live once it is; each tries again",
		    l->relay);
}

/* Reports a relay that is not there before somebody records. */
static enum status
probe_relay(struct listening *l)
{
	if (!l->live.is_on)
		return OK;
	(void)snprintf(l->relay, sizeof(l->relay), "%s:%u", l->live.url.host,
	    l->live.url.control);
	return dial_create(&l->probe, &l->loop, l->relay, on_probed, l);
}

static void
on_gone(void *arg)
{
	struct listening *l = arg;

	if (l->is_ending && l->recorders.n == 0)
		(void)event_base_loopbreak(l->loop.base);
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
	tcp_port_destroy(l->tcp_port);
	l->tcp_port = NULL;
	recorders_end(&l->recorders);
	on_gone(l);
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

/* Does what may fail while the user watches: before the fork of -D. */
static enum status
prepare(struct listening *l)
{
	static const enum log_level levels[] = { LOG_NOTICE, LOG_INFO,
		LOG_DEBUG };
	enum status st = OK;

	log_set_level(
	    levels[l->verbosity < 2 && !l->is_debug ? l->verbosity : 2]);
	(void)log_look_at_stderr(true);
	if (l->log != NULL)
		st = log_open(l->log);
	if (st == OK && !l->has_no_file) {
		l->dir_fd = open(
		    l->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (l->dir_fd < 0) {
			log_errno(LOG_ERROR, "cannot open %s", l->directory);
			st = E_IO;
		}
	}
	if (st == OK)
		st = live_resolve(&l->live);
	/* The working directory stays, as with the stock listener. */
	if (st == OK && l->is_daemon && daemon(1, 0) != 0) {
		log_errno(LOG_ERROR, "cannot run in the background");
		st = E_IO;
	}
	return st;
}

/* Threads and the loop begin here, after the fork. */
static enum status
start(struct listening *l)
{
	const uint64_t limit = fds_raise_limit();
	struct recorders *r = &l->recorders;
	enum status st = command_loop_create(&l->loop);
	char where[PATH_MAX + 64];

	*r = (struct recorders){ .loop = &l->loop,
		.recordings = { .dir_fd = l->dir_fd, .prefix = l->prefix },
		.live = l->live.is_on ? &l->live : NULL,
		.bind_host = address_ports_host(l->bind.host),
		.port_first = l->data_first,
		.port_last = l->data_last,
		.fds_max = limit > 2 * OTHER_FDS ? limit - OTHER_FDS
						 : limit / 2,
		.gone = on_gone,
		.arg = l };
	list_init(&r->list);
	signal(SIGHUP, SIG_IGN);
	if (st == OK)
		st = background_create(
		    &r->finishing, l->loop.base, FINISH_THREADS);
	if (st == OK)
		st = command_loop_catch_signals(&l->loop, on_stop, l);
	if (st == OK)
		st = tcp_port_create(&l->tcp_port, l->loop.base, l->bind.host,
		    (uint16_t)l->bind.port, recorder_accept, r);
	if (st == OK)
		st = probe_relay(l);
	if (st == OK && l->pid_file != NULL)
		st = write_pid(l->pid_file, LOG_ERROR);
	else if (st == OK && l->is_daemon)
		l->has_stock_pid = write_pid(STOCK_PID_FILE, LOG_INFO) == OK;
	if (st == OK && !l->has_no_file)
		recordings_find_left(&r->recordings, recorder_finish_left, r);
	if (st == OK) {
		(void)snprintf(where, sizeof(where), ", %s%s",
		    l->has_no_file ? "writing no files" : "writing files to ",
		    l->has_no_file ? "" : l->directory);
		log_open_journal();
		tcp_port_log(l->tcp_port, where);
	}
	return st;
}

static void
finish(struct listening *l)
{
	tcp_port_destroy(l->tcp_port);
	dial_destroy(l->probe);
	/* A name that is found may still begin to finish a file. */
	background_destroy(l->loop.names);
	l->loop.names = NULL;
	background_destroy(l->recorders.finishing);
	command_loop_destroy(&l->loop);
	if (l->dir_fd >= 0)
		close(l->dir_fd);
	if (l->pid_file != NULL)
		(void)unlink(l->pid_file);
	if (l->has_stock_pid)
		(void)unlink(STOCK_PID_FILE);
}

int
command_listen(int argc, char **argv)
{
	static const unsigned of_relay[] = { OPT_UDP };
	struct listening l = { .bind = { "", LISTEN_PORT, "" },
		.data_first = LISTEN_DATA_FIRST,
		.data_last = LISTEN_DATA_LAST,
		.directory = ".",
		.prefix = "trace",
		.live.hold_ns = LIVE_HOLD_AUTO,
		.dir_fd = -1 };
	struct option_words words;
	enum status st;
	int status;

	status = command_parse(&table, &l, argc, argv, 0, 0, &words);
	if (status != COMMAND_RUNS)
		return status;
	if (option_need(&table, words.given, of_relay, ARRAY_LEN(of_relay),
		OPT_RELAY) != OK)
		return EXIT_USAGE;
	if (l.is_vsock)
		l.bind.host = "vsock:any";
	st = prepare(&l);
	if (st == OK)
		st = start(&l);
	if (st == OK)
		(void)event_base_dispatch(l.loop.base);
	finish(&l);
	return st == OK ? 0 : 1;
}
