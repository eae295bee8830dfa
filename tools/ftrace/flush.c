/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/flush.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/flush_percent.h"

/* Reads less than SIZE bytes, and closes FD unless it is -1. False: errno. */
static bool
read_and_close(int fd, char *out, size_t size)
{
	const ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
	const int err = errno;

	if (fd >= 0)
		close(fd);
	out[n < 0 ? 0 : n] = '\0';
	errno = err;
	return n > 0;
}

bool
flush_read_text(const char *path, char *out, size_t size)
{
	return read_and_close(open(path, O_RDONLY | O_CLOEXEC), out, size);
}

/* Opens a file at a path that a process has named, which may be anyone's: only
 * a file of tracefs. With O_PATH nothing happens to other files, and nothing
 * waits for them. -1: it is not one. */
static int
open_in_tracefs(const char *path)
{
	const int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;
	char self[64];
	int opened = -1;

	if (fd < 0)
		return -1;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (fstatfs(fd, &fs) == 0 && fs.f_type == TRACEFS_MAGIC)
		opened = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	close(fd);
	return opened;
}

/* The most processes of recorders, one for each CPU. */
#define FLUSH_PROCESSES_MAX 8192
/* A signal moves one page. A process gets at most one in every other round. */
#define FLUSH_ROUNDS_MAX 100
/* The size of a path in tracefs. */
#define FLUSH_PATH_SIZE 320

/* The processes of recorders on this machine, one for each CPU, and what the
 * kernel still holds for each. */
struct flush_targets {
	struct flush_target {
		int fd; /* a pidfd */
		long pid;
		int pipe_fd; /* the descriptor that the process reads */
		/* "": not known. It is not kept open: an instance of tracefs
		 * with an open file cannot be removed. */
		char stats[FLUSH_PATH_SIZE];
		uint64_t until; /* this flush is done at this value of GONE */
		bool is_done;
		/* In the last round, and GONE at that time. */
		bool is_at_rest, has_sent;
		uint64_t gone;
	} all[FLUSH_PROCESSES_MAX];
	unsigned n;
};

#define RECORDER "trace-cmd"
/* The file that a recorder's process reads. */
#define PIPE "trace_pipe_raw"
#define STATS_SIZE 512
/* The time between two checks whether a page has gone; a process that has sent
 * nothing for this time may be signalled. */
#define ROUND_NS NS_PER_MS

struct process {
	long parent;
	uint64_t caught; /* signals */
};

/* Is it the process of a recorder? */
static bool
is_recorder(long pid, struct process *out)
{
	static const char name[] = "Name:\t" RECORDER "\n";
	/* It names the groups, at most 65,536 (NGROUPS_MAX) of 11 bytes. */
	static char text[1 << 20];
	const char *parent, *caught;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	if (!flush_read_text(path, text, sizeof(text)) ||
	    strncmp(text, name, sizeof(name) - 1) != 0)
		return false;
	parent = strstr(text, "\nPPid:");
	caught = strstr(text, "\nSigCgt:");
	if (parent == NULL || caught == NULL)
		return false;
	out->parent = strtol(parent + strlen("\nPPid:"), NULL, 10);
	out->caught = strtoull(caught + strlen("\nSigCgt:"), NULL, 16);
	return true;
}

/* Is it a child of a recorder that catches SIGUSR2? The signal would end
 * others, such as the traced command before it starts. */
static bool
is_wanted(long pid, uint64_t of)
{
	struct process p, parent;

	return is_recorder(pid, &p) && (p.caught >> (SIGUSR2 - 1) & 1) != 0 &&
	       (of != 0 ? (uint64_t)p.parent == of
			: is_recorder(p.parent, &parent));
}

/* If PATH, a file that the process has open, is the pipe of a CPU: notes its
 * file "stats". */
static bool
note_stats(struct flush_target *t, const char *path)
{
	const size_t n = strlen(path), m = strlen(PIPE);
	int written;

	if (n < m || strcmp(path + n - m, PIPE) != 0)
		return false;
	/* The recorder may have a tracefs in a mount namespace of its own. */
	written = snprintf(t->stats, sizeof(t->stats),
	    "/proc/%ld/root%.*sstats", t->pid, (int)(n - m), path);
	if (written >= (int)sizeof(t->stats))
		t->stats[0] = '\0';
	return true;
}

/* Finds the pipe that the process reads, and its stats. */
static void
find_stats(struct flush_target *t)
{
	char dir[64], path[FLUSH_PATH_SIZE];
	bool is_found = false;
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%ld/fd", t->pid);
	d = opendir(dir);
	while (d != NULL && !is_found && (e = readdir(d)) != NULL) {
		const ssize_t n = readlinkat(
		    dirfd(d), e->d_name, path, sizeof(path) - 1);

		if (n <= 0)
			continue;
		path[n] = '\0';
		is_found = note_stats(t, path);
		t->pipe_fd = (int)strtol(e->d_name, NULL, 10);
	}
	if (d != NULL)
		closedir(d);
}

static void
forget_targets(struct flush_targets *f)
{
	while (f->n > 0)
		close(f->all[--f->n].fd);
}

/* Removes ended processes, also zombies: they catch no signals. */
static void
forget_ended(struct flush_targets *f, uint64_t parent)
{
	for (unsigned i = f->n; i > 0; i--) {
		struct flush_target *t = &f->all[i - 1];

		if (pidfd_send_signal(t->fd, 0, NULL, 0) == 0 &&
		    is_wanted(t->pid, parent)) {
			if (t->stats[0] == '\0')
				find_stats(t);
			continue;
		}
		close(t->fd);
		*t = f->all[--f->n];
	}
}

static bool
is_target(const struct flush_targets *f, long pid)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->all[i].pid == pid)
			return true;
	return false;
}

/* Adds the process. Its pidfd stays valid, while its pid may be used again. */
static void
try_process(struct flush_targets *f, long pid, uint64_t parent)
{
	struct flush_target *t = &f->all[f->n];

	assert(f->n < FLUSH_PROCESSES_MAX);
	if (is_target(f, pid))
		return;
	*t = (struct flush_target){
		.pid = pid, .fd = pidfd_open((pid_t)pid, 0), .pipe_fd = -1
	};
	if (t->fd < 0)
		return;
	if (!is_wanted(pid, parent)) {
		close(t->fd);
		return;
	}
	find_stats(t);
	f->n++;
}

/* Adds new processes and removes those that ended; of the recorder PARENT, or
 * of all if it is 0. True: some are new. */
static bool
find_targets(struct flush_targets *f, uint64_t parent)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	unsigned before;

	forget_ended(f, parent);
	before = f->n;
	if (d == NULL) {
		log_errno(LOG_ERROR, "cannot read /proc");
		return false;
	}
	while ((e = readdir(d)) != NULL && f->n < FLUSH_PROCESSES_MAX)
		if (isdigit((unsigned char)*e->d_name))
			try_process(f, strtol(e->d_name, NULL, 10), parent);
	closedir(d);
	return f->n > before;
}

/* The number after KEY, at the beginning of a line. */
static bool
stats_number(const char *text, const char *key, uint64_t *out)
{
	const size_t n = strlen(key);

	for (const char *at = text; at != NULL && *at != '\0';
	     at = strchr(at, '\n'), at = at == NULL ? NULL : at + 1)
		if (strncmp(at, key, n) == 0)
			return sscanf(at + n, "%" SCNu64, out) == 1;
	return false;
}

bool
flush_stats_parse(const char *text, struct flush_stats *out)
{
	uint64_t lost, taken;

	if (!stats_number(text, "entries:", &out->waiting) ||
	    !stats_number(text, "overrun:", &lost) ||
	    !stats_number(text, "read events:", &taken))
		return false;
	out->gone = lost + taken;
	return true;
}

static bool
read_stats(const struct flush_target *t, struct flush_stats *out)
{
	char text[STATS_SIZE];

	return t->stats[0] != '\0' &&
	       read_and_close(open_in_tracefs(t->stats), text, sizeof(text)) &&
	       flush_stats_parse(text, out);
}

/* Notes what waits now; where that is not known, one page is sent. */
static void
begin_flush(struct flush_targets *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct flush_target *t = &f->all[i];
		struct flush_stats s;

		t->until = 0;
		t->is_at_rest = t->has_sent = false;
		if (read_stats(t, &s)) {
			t->until = s.gone + s.waiting;
			t->gone = s.gone;
		}
		t->is_done = t->until > 0 && s.waiting == 0;
	}
}

/* Does the process wait for the kernel? True if that cannot be known. */
static bool
is_at_rest(const struct flush_target *t)
{
	char path[64], text[256];
	long call, first;

	snprintf(path, sizeof(path), "/proc/%ld/syscall", t->pid);
	if (!flush_read_text(path, text, sizeof(text)))
		return true;
	if (sscanf(text, "%ld %li", &call, &first) != 2)
		return false; /* "running" */
	switch (call) {
#ifdef SYS_select
	case SYS_select:
#endif
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_pselect6:
	case SYS_ppoll:
		return true;
	case SYS_read:
	case SYS_splice:
		return first == t->pipe_fd;
	default:
		return false;
	}
}

/*
 * Signals the processes that are not done and may be signalled. Returns their
 * number. A signal during a transfer would insert its page into another one, of
 * which the listener can keep only a part. So only processes are signalled that
 * also waited in the round before, and have sent nothing since: flowing pages
 * need no signal.
 */
static unsigned
signal_all(struct flush_targets *f, int *err)
{
	unsigned signalled = 0;

	for (unsigned i = 0; i < f->n; i++) {
		struct flush_target *t = &f->all[i];
		const bool was_at_rest = t->is_at_rest && !t->has_sent;

		t->is_at_rest = !t->is_done && is_at_rest(t);
		if (!t->is_at_rest || !was_at_rest)
			continue;
		if (pidfd_send_signal(t->fd, SIGUSR2, NULL, 0) == 0) {
			signalled++;
			t->is_done = t->until == 0;
			t->is_at_rest = false;
		} else {
			if (errno != ESRCH)
				*err = errno;
			t->is_done = true;
		}
	}
	return signalled;
}

static bool
is_over(struct flush_targets *f)
{
	bool all = true;

	for (unsigned i = 0; i < f->n; i++) {
		struct flush_target *t = &f->all[i];
		struct flush_stats s;

		if (!t->is_done && t->until > 0) {
			t->is_done = !read_stats(t, &s) || s.waiting == 0 ||
				     s.gone >= t->until;
			if (!t->is_done) {
				t->has_sent = s.gone != t->gone;
				t->gone = s.gone;
			}
		}
		all &= t->is_done;
	}
	return all;
}

/*
 * Makes them send all that waits now, within FLUSH_ROUNDS_MAX ms. A recorder is
 * signalled only while it waits for the kernel: otherwise the page of the
 * signal could overtake pages in transit. E_IO, with errno: no process could be
 * signalled.
 */
static enum status
flush_targets(struct flush_targets *f)
{
	const struct timespec pause = { .tv_nsec = ROUND_NS };
	unsigned signalled = 0;
	int err = 0;

	begin_flush(f);
	for (unsigned i = 0; i < FLUSH_ROUNDS_MAX && !is_over(f); i++) {
		signalled += signal_all(f, &err);
		(void)nanosleep(&pause, NULL);
	}
	errno = err;
	return signalled == 0 && err != 0 ? E_IO : OK;
}

/*
 * tracepulse-ftrace flush: runs on the traced machine. A recorder sends nothing
 * until half of a ring buffer is full, but each of its processes, one for each
 * CPU, sends what it has, also half a page, on SIGUSR2. So flush signals them
 * at short intervals.
 */

#define INTERVAL_MIN_NS (10 * NS_PER_MS)
#define INTERVAL_MAX_NS (60 * NS_PER_S)
/* How often processes are searched. */
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

/* A failure is logged once. */
static void
set_percent(struct flushing *f)
{
	if (f->is_once || (flush_percent_begin(&f->percent) == OK &&
			      flush_percent_set(&f->percent) == OK))
		return;
	if (f->has_complained)
		return;
	log_errno(
	    LOG_WARN, "cannot set buffer_percent; a busy CPU may fall behind");
	f->has_complained = true;
}

/* A signal ends the wait. */
static void
wait_until(uint64_t time_ns)
{
	const uint64_t now = clock_now_ns();
	const uint64_t ns = time_ns > now ? time_ns - now : 0;
	const struct timespec t = { .tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S) };

	(void)nanosleep(&t, NULL);
}

/* A failure is logged once, and ends the program, unless there is a command:
 * that continues. */
static void
flush(struct flushing *f)
{
	if (flush_targets(&f->targets) == OK)
		return;
	if (!f->has_failed)
		log_errno(LOG_ERROR, "cannot signal the recorders");
	f->has_failed = true;
	if (f->command == NULL)
		stopped = 1;
}

/* Starts the command. -1: failure. */
static pid_t
start_command(const struct flushing *f)
{
	const pid_t pid = f->command == NULL ? 0 : fork();

	if (pid != 0 || f->command == NULL)
		return pid;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	execvp(f->command[0], f->command);
	fprintf(stderr, "tracepulse-ftrace flush: cannot start %s: %s\n",
	    f->command[0], strerror(errno));
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
		log_errno(LOG_ERROR, "cannot start %s", f->command[0]);
		flush_percent_end(&f->percent);
		return 1;
	}
	while (!stopped || pid > 0) {
		const uint64_t now = clock_now_ns();

		if (stopped && pid > 0)
			(void)kill(pid, SIGINT); /* it ends in order */
		if (pid > 0 && waitpid(pid, &status, WNOHANG) == pid)
			break;
		if (found_ns == 0 || now - found_ns >= FIND_NS) {
			/* Tracefs may block while another recorder starts. */
			if (find_targets(&f->targets, f->parent))
				set_percent(f);
			found_ns = now;
		}
		if (!was_there && f->targets.n > 0)
			log_notice("%u recorder processes", f->targets.n);
		was_there = f->targets.n > 0;
		flush(f);
		if (f->is_once)
			break;
		wait_until(now + f->interval_ns);
	}
	forget_targets(&f->targets);
	flush_percent_end(&f->percent);
	if (f->is_once && !was_there)
		log_warn("no trace-cmd recorder is running here");
	if (pid == 0)
		return f->has_failed || (f->is_once && !was_there);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

#define OPTIONS_TABLE "tools/ftrace/flush_options.tbl.h"
#define OPTIONS_STRUCT struct flushing
#include "common/option_rows.h"

static const struct option_table table = {
	COMMAND_TABLE("flush",
	    "[OPTION]... [COMMAND [ARGUMENT]...]\n"
	    "Makes the trace-cmd recorders of this machine send what they "
	    "have, as "
	    "long as\nCOMMAND runs, or until it is stopped.\n"),
	.has_command = true
};

int
command_flush(int argc, char **argv)
{
	static struct flushing f = { .interval_ns = 200 * NS_PER_MS,
		.percent = FLUSH_PERCENT_OF_SYSTEM };
	const struct sigaction stop = { .sa_handler = on_stop };
	struct option_words words;
	const int status = command_parse(
	    &table, &f, argc, argv, 0, argc, &words);

	if (status != COMMAND_RUNS)
		return status;
	log_set_level(LOG_NOTICE);
	f.command = words.first < argc ? argv + words.first : NULL;
	(void)sigaction(SIGINT, &stop, NULL);
	(void)sigaction(SIGTERM, &stop, NULL);
	return run(&f);
}
