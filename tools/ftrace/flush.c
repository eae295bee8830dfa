/* SPDX-License-Identifier: MIT */
/*
 * tracepulse-ftrace flush: on a machine that trace-cmd records. A recorder
 * sends nothing before half of a ring buffer is full, but each of its processes
 * for one CPU takes SIGUSR2 for "send what is there", also half a page. So they
 * are found, and told so again and again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/flush_percent.h"
#include "tools/ftrace/flush_targets.h"

#define PROGRAM "tracepulse-ftrace flush"
#define OPTIONS_TABLE "tools/ftrace/flush_options.tbl.h"
#define HAS_COMMAND true
#include "tools/ftrace/command_options.h"

#define INTERVAL_MIN_NS (10 * NS_PER_MS)
#define INTERVAL_MAX_NS (60 * NS_PER_S)
/* How often the processes of the machine are looked through. */
#define FIND_NS NS_PER_S

struct flushing {
	uint64_t interval_ns, parent; /* 0: of any recorder */
	bool is_once;
	char **command; /* NULL: none */
	struct flush_targets targets;
	struct flush_percent percent;
	bool has_complained, has_failed;
};

static volatile sig_atomic_t stopped;

static void
on_stop(int number)
{
	(void)number;
	stopped = 1;
}

/* Said once. */
static void
set_percent(struct flushing *f)
{
	if (f->is_once || flush_percent_set(&f->percent) == OK ||
	    f->has_complained)
		return;
	log_errno(LOG_WARN, "buffer_percent cannot be set, and a busy CPU may "
			    "fall behind");
	f->has_complained = true;
}

/* A signal ends it. */
static void
wait_until(uint64_t time_ns)
{
	const uint64_t now = clock_now_ns();
	const uint64_t ns = time_ns > now ? time_ns - now : 0;
	const struct timespec t = { .tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S) };

	(void)nanosleep(&t, NULL);
}

/* A failure is said once, and ends it; but a command is its user's, and goes
 * on. */
static void
flush(struct flushing *f)
{
	if (flush_targets_flush(&f->targets) == OK)
		return;
	if (!f->has_failed)
		log_errno(LOG_ERROR, "recorders cannot be told");
	f->has_failed = true;
	if (f->command == NULL)
		stopped = 1;
}

/* The command; -1: it cannot be started. */
static pid_t
start_command(const struct flushing *f)
{
	const pid_t pid = f->command == NULL ? 0 : fork();

	if (pid != 0 || f->command == NULL)
		return pid;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	execvp(f->command[0], f->command);
	fprintf(stderr, PROGRAM ": %s: %s\n", f->command[0], strerror(errno));
	_exit(127);
}

static int
run(struct flushing *f)
{
	uint64_t found_ns = 0;
	bool was_there = false;
	int status = 0;
	pid_t pid;

	set_percent(f);
	pid = start_command(f);
	if (pid < 0) {
		log_errno(LOG_ERROR, "%s", f->command[0]);
		flush_percent_restore(&f->percent);
		return 1;
	}
	while (!stopped || pid > 0) {
		const uint64_t now = clock_now_ns();

		if (stopped && pid > 0)
			(void)kill(pid, SIGINT); /* it ends in order */
		if (pid > 0 && waitpid(pid, &status, WNOHANG) == pid)
			break;
		if (found_ns == 0 || now - found_ns >= FIND_NS) {
			/* Tracefs may keep who asks waiting while another
			 * recorder starts. */
			if (flush_targets_find(&f->targets, f->parent))
				set_percent(f);
			found_ns = now;
		}
		if (!was_there && f->targets.n > 0)
			log_notice("%u processes of recorders", f->targets.n);
		was_there = f->targets.n > 0;
		flush(f);
		if (f->is_once)
			break;
		wait_until(now + f->interval_ns);
	}
	flush_targets_forget(&f->targets);
	flush_percent_restore(&f->percent);
	if (f->is_once && !was_there)
		log_warn("nobody records here");
	if (pid == 0)
		return f->has_failed || (f->is_once && !was_there);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void
print_usage(void)
{
	printf("Usage: " PROGRAM " [OPTION]... [COMMAND [ARGUMENT]...]\n"
	       "Makes recorders of trace-cmd on this machine send what they "
	       "have, as long as\nCOMMAND runs, or until it is stopped.\n\n");
	usage_print_rows(rows, N_OPTIONS, 24);
}

static bool
set_option(void *arg, size_t i, const char *value)
{
	struct flushing *f = arg;

	switch ((enum option_id)i) {
	case OPT_INTERVAL:
		return parse_duration(
			   value, INTERVAL_MAX_NS, &f->interval_ns) == OK &&
		       f->interval_ns >= INTERVAL_MIN_NS;
	case OPT_PID:
		return parse_u64(value, 1, INT32_MAX, &f->parent) == OK;
	case OPT_ONCE:
		return f->is_once = true;
	default:
		return false;
	}
}

int
command_flush(int argc, char **argv)
{
	static struct flushing f = { .interval_ns = 200 * NS_PER_MS };
	const struct sigaction stop = { .sa_handler = on_stop };
	int first, status;

	if (!read_options(&f, argc, argv, &first, &status))
		return status;
	log_set_level(LOG_NOTICE);
	f.command = first < argc ? argv + first : NULL;
	(void)sigaction(SIGINT, &stop, NULL);
	(void)sigaction(SIGTERM, &stop, NULL);
	return run(&f);
}
