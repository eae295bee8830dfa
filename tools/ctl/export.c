/* SPDX-License-Identifier: MIT */
/*
 * tracepulse export: finished traces to one file, by babeltrace2. It has its
 * name when it is complete.
 */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/progress.h"
#include "tools/ctl/sink.h"
#include "tools/ctl/viewer.h"

#define OPEN_DIRS 16
#define LOOK_NS (NS_PER_S / 20)

/* Files of packets. */
struct packet_file {
	uint64_t inode, size;
	uint64_t at; /* bytes that babeltrace2 has read */
};

struct packet_files {
	struct packet_file *all;
	size_t n;
};

static struct packet_files *found; /* of nftw() */
static volatile sig_atomic_t is_interrupted;

static void
interrupt(int sig)
{
	(void)sig;
	is_interrupted = 1;
}

/* Index files are in directories of their own. */
static int
add_file(const char *path, const struct stat *sb, int type, struct FTW *at)
{
	if (type == FTW_D && strcmp(path + at->base, "index") == 0)
		return FTW_SKIP_SUBTREE;
	if (type != FTW_F || strcmp(path + at->base, "metadata") == 0)
		return FTW_CONTINUE;
	found->all = ctl_memory(
	    realloc(found->all, (found->n + 1) * sizeof(*found->all)));
	found->all[found->n++] = (struct packet_file){ .inode = sb->st_ino,
		.size = (uint64_t)sb->st_size };
	return FTW_CONTINUE;
}

static int
find_files(char *const *traces, size_t n, struct packet_files *out)
{
	struct stat sb;

	found = out;
	for (size_t i = 0; i < n; i++) {
		if (stat(traces[i], &sb) == 0 && !S_ISDIR(sb.st_mode))
			return ctl_fail(
			    "%s is not the directory of a trace (tracepulse "
			    "get downloads one that a relay has stored)",
			    traces[i]);
		if (nftw(traces[i], add_file, OPEN_DIRS,
			FTW_PHYS | FTW_ACTIONRETVAL) != 0)
			return ctl_fail("%s: %s", traces[i], strerror(errno));
	}
	return CTL_OK;
}

static void
note_mapped(struct packet_files *f, uint64_t inode, uint64_t end)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->all[i].inode == inode && end > f->all[i].at)
			f->all[i].at = end < f->all[i].size ? end
							    : f->all[i].size;
}

/* The bytes that babeltrace2 has read: it maps a part of each file after the
 * other, as proc(5) tells. */
static uint64_t
measure(struct packet_files *f, pid_t pid)
{
	char *path = ctl_text("/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	uint64_t from, to, at, inode, sum = 0;
	char *line = NULL;
	size_t n = 0;

	while (maps != NULL && getline(&line, &n, maps) > 0)
		if (sscanf(line,
			"%" SCNx64 "-%" SCNx64 " r%*s %" SCNx64 " %*s %" SCNu64,
			&from, &to, &at, &inode) == 4)
			note_mapped(f, inode, at + (to - from));
	free(line);
	free(path);
	if (maps != NULL)
		fclose(maps);
	for (size_t i = 0; i < f->n; i++)
		sum += f->all[i].at;
	return sum;
}

static bool
has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) !=
		   0 ||
	       info.si_pid == pid;
}

/* Show the progress until the process ends. */
static void
show(struct progress *p, struct packet_files *f, pid_t pid)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };

	while (!has_ended(pid)) {
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		if (progress_is_due(p))
			progress_show(p, measure(f, pid));
	}
}

static bool
convert(const struct viewer *v, const char *file, struct packet_files *f)
{
	const pid_t pid = viewer_start(v);
	struct progress p;
	uint64_t size = 0;
	bool is_done;

	if (pid < 0)
		return false;
	for (size_t i = 0; i < f->n; i++)
		size += f->all[i].size;
	progress_begin(&p, file, 0, size);
	if (isatty(STDERR_FILENO))
		show(&p, f, pid);
	is_done = viewer_wait(pid) && !is_interrupted;
	if (is_done)
		progress_end(&p, size);
	return is_done;
}

/* PART becomes FILE when it is complete. */
static int
export_to(const struct ctl *c, enum sink_kind kind, const char *file,
    const char *part, struct packet_files *f)
{
	const size_t n = c->options.n_operands - 1;
	struct viewer v = { 0 };
	int status = CTL_OK;

	viewer_add(&v, VIEWER);
	for (size_t i = 0; i < n; i++)
		viewer_add(&v, c->options.operands[i]);
	sink_add(&v, c, kind, part, n > 1);
	if (!convert(&v, file, f))
		status = ctl_fail("%s: not written", file);
	else if (rename(part, file) != 0)
		status = ctl_fail("%s: %s", file, strerror(errno));
	if (status != CTL_OK)
		(void)unlink(part);
	viewer_free(&v);
	return status;
}

int
command_export(struct ctl *c)
{
	const size_t n = c->options.n_operands - 1;
	const char *file = c->options.operands[n];
	const enum sink_kind kind = sink_of_file(file);
	const struct sigaction on_interrupt = { .sa_handler = interrupt };
	struct packet_files f = { 0 };
	int status;
	char *part;

	if (kind == N_SINKS)
		return ctl_fail("%s: its name must end in .ndjson, .json, "
				".txt, .perfetto or .pftrace",
		    file);
	if (!sink_is_there(kind))
		return CTL_FAILED;
	(void)sigaction(SIGINT, &on_interrupt, NULL);
	part = ctl_text("%s.part", file);
	status = find_files(c->options.operands, n, &f);
	if (status == CTL_OK)
		status = export_to(c, kind, file, part, &f);
	free(part);
	free(f.all);
	return status;
}
