/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/flush_targets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

#define RECORDER "trace-cmd"
/* What a process of a recorder reads, at the end of its path. */
#define PIPE "trace_pipe_raw"
#define STATS_ROOM 512
/* Between two looks whether a page has gone; so long a process has sent nothing
 * before it is signalled. */
#define ROUND_NS NS_PER_MS

/* The line of /proc/PID/status that begins with KEY, without it. */
static bool
status_line(long pid, const char *key, char *out, size_t size)
{
	char path[64], line[256];
	bool is_found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (!is_found && fgets(line, sizeof(line), f) != NULL) {
		const size_t n = strlen(key);

		if (strncmp(line, key, n) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(out, size, "%s", line + n + strspn(line + n, " \t"));
		is_found = true;
	}
	fclose(f);
	return is_found;
}

static bool
is_recorder(long pid)
{
	char name[64];

	return status_line(pid, "Name:", name, sizeof(name)) &&
	       strcmp(name, RECORDER) == 0;
}

/* A child of a recorder that catches SIGUSR2: to any other, such as the traced
 * command before it is started, the signal would be the end. */
static bool
is_wanted(long pid, uint64_t of)
{
	char text[64];
	long parent;

	if (!is_recorder(pid) || !status_line(pid, "PPid:", text, sizeof(text)))
		return false;
	parent = strtol(text, NULL, 10);
	if (of != 0 ? (uint64_t)parent != of : !is_recorder(parent))
		return false;
	return status_line(pid, "SigCgt:", text, sizeof(text)) &&
	       (strtoull(text, NULL, 16) >> (SIGUSR2 - 1) & 1) != 0;
}

/* PATH, of which the process has a descriptor, is the pipe of a CPU: note its
 * file stats. */
static bool
note_stats(struct flush_target *t, const char *path)
{
	const size_t n = strlen(path), m = strlen(PIPE);
	int written;

	if (n < m || strcmp(path + n - m, PIPE) != 0)
		return false;
	/* The recorder's tracefs may be in a mount namespace of its own. */
	written = snprintf(t->stats, sizeof(t->stats),
	    "/proc/%ld/root%.*sstats", t->pid, (int)(n - m), path);
	if (written >= (int)sizeof(t->stats))
		t->stats[0] = '\0';
	return true;
}

/* What the process reads, and its stats. */
static void
find_stats(struct flush_target *t)
{
	char dir[64], path[FLUSH_PATH_ROOM];
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

void
flush_targets_forget(struct flush_targets *f)
{
	while (f->n > 0)
		close(f->all[--f->n].fd);
}

/* Also those that wait for their parent to look: they have no signals. */
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

/* A descriptor of it: its number may be another's by the time of the signal,
 * the descriptor is not. */
static void
try_process(struct flush_targets *f, long pid, uint64_t parent)
{
	struct flush_target *t = &f->all[f->n];

	if (!is_recorder(pid) || is_target(f, pid))
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

bool
flush_targets_find(struct flush_targets *f, uint64_t parent)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	unsigned before;

	forget_ended(f, parent);
	before = f->n;
	if (d == NULL) {
		log_errno(LOG_ERROR, "/proc");
		return false;
	}
	while ((e = readdir(d)) != NULL && f->n < FLUSH_PROCESSES_MAX)
		if (isdigit((unsigned char)*e->d_name))
			try_process(f, strtol(e->d_name, NULL, 10), parent);
	closedir(d);
	return f->n > before;
}

/* The number behind KEY, which begins a line. */
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

/* What is in the file, which is short. */
static bool
read_file(const char *path, char *text, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

static bool
read_stats(const struct flush_target *t, struct flush_stats *out)
{
	char text[STATS_ROOM];

	return t->stats[0] != '\0' && read_file(t->stats, text, sizeof(text)) &&
	       flush_stats_parse(text, out);
}

/* What is there now shall go; where that is not known, a page. */
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

/* Does it wait for the kernel? Where that cannot be known, it may. */
static bool
is_at_rest(const struct flush_target *t)
{
	char path[64], text[256];
	long call, first;

	snprintf(path, sizeof(path), "/proc/%ld/syscall", t->pid);
	if (!read_file(path, text, sizeof(text)))
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
 * Signal those that are not done, and can be told now. How many there were. A
 * signal that meets a process while it sends brings its page into the midst of
 * another, and the listener can only keep a part of that. So only those are
 * told that were at rest in the round before, too, and have sent nothing since:
 * pages that flow need no signal.
 */
static unsigned
signal_all(struct flush_targets *f, int *err)
{
	unsigned told = 0;

	for (unsigned i = 0; i < f->n; i++) {
		struct flush_target *t = &f->all[i];
		const bool was_at_rest = t->is_at_rest && !t->has_sent;

		t->is_at_rest = !t->is_done && is_at_rest(t);
		if (!t->is_at_rest || !was_at_rest)
			continue;
		if (pidfd_send_signal(t->fd, SIGUSR2, NULL, 0) == 0) {
			told++;
			t->is_done = t->until == 0;
			t->is_at_rest = false;
		} else {
			if (errno != ESRCH)
				*err = errno;
			t->is_done = true;
		}
	}
	return told;
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

enum status
flush_targets_flush(struct flush_targets *f)
{
	const struct timespec pause = { .tv_nsec = ROUND_NS };
	unsigned told = 0;
	int err = 0;

	begin_flush(f);
	for (unsigned i = 0; i < FLUSH_ROUNDS_MAX && !is_over(f); i++) {
		told += signal_all(f, &err);
		(void)nanosleep(&pause, NULL);
	}
	errno = err;
	return told == 0 && err != 0 ? E_IO : OK;
}
