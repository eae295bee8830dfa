/* SPDX-License-Identifier: MIT */
/*
 * tracepulse export: finished traces to one file, by babeltrace2. It has its
 * name when it is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/progress.h"
#include "tools/ctl/sink.h"
#include "tools/ctl/viewer.h"

#define OPEN_DIRS 16

/* What is converted. */
struct traces {
	char **all; /* directories with a metadata file */
	size_t n;
	uint64_t size;	    /* bytes of all files of packets */
	int64_t begin, end; /* ns, of the first and the last packet */
};

static struct traces *found; /* by nftw() */

/* Index files are in directories of their own. */
static int
take_file(const char *path, const struct stat *sb, int type, struct FTW *at)
{
	if (type == FTW_D && strcmp(path + at->base, "index") == 0)
		return FTW_SKIP_SUBTREE;
	if (type != FTW_F)
		return FTW_CONTINUE;
	if (strcmp(path + at->base, "metadata") != 0) {
		found->size += (uint64_t)sb->st_size;
		return FTW_CONTINUE;
	}
	found->all = ctl_memory(
	    realloc(found->all, (found->n + 1) * sizeof(*found->all)));
	found->all[found->n++] = ctl_text("%.*s", at->base, path);
	return FTW_CONTINUE;
}

static int
find_traces(char *const *operands, size_t n, struct traces *out)
{
	struct stat sb;

	found = out;
	for (size_t i = 0; i < n; i++) {
		if (stat(operands[i], &sb) == 0 && !S_ISDIR(sb.st_mode))
			return ctl_fail(
			    "%s is not the directory of a trace (tracepulse "
			    "get downloads one that a relay has stored)",
			    operands[i]);
		if (nftw(operands[i], take_file, OPEN_DIRS, FTW_ACTIONRETVAL) !=
		    0)
			return ctl_fail("%s: %s", operands[i], strerror(errno));
	}
	return CTL_OK;
}

/* Of the answer about a trace, the times of its streams. */
static void
take_range(const char *line, void *arg)
{
	struct traces *t = arg;
	int64_t ns;

	if (sscanf(line, " begin: %" SCNd64, &ns) == 1 && ns < t->begin)
		t->begin = ns;
	if (sscanf(line, " end: %" SCNd64, &ns) == 1 && ns > t->end)
		t->end = ns;
}

/* A trace that babeltrace2 cannot read is left out: it will say why. */
static void
measure(struct traces *t)
{
	t->begin = INT64_MAX;
	t->end = INT64_MIN;
	for (size_t i = 0; i < t->n; i++) {
		char *string = viewer_string(t->all[i]);
		char *params = ctl_text("inputs=[%s]", string);
		struct viewer v = { 0 };

		viewer_add(&v, VIEWER);
		viewer_add(&v, "query");
		viewer_add(&v, "-p");
		viewer_add(&v, params);
		viewer_add(&v, "source.ctf.fs");
		viewer_add(&v, "babeltrace.trace-infos");
		(void)viewer_ask(&v, take_range, t);
		viewer_free(&v);
		free(params);
		free(string);
	}
}

/* The bytes until NS, if they are spread evenly. */
static uint64_t
bytes_until(const struct traces *t, int64_t ns)
{
	if (ns <= t->begin || t->end <= t->begin)
		return 0;
	if (ns >= t->end)
		return t->size;
	return (uint64_t)((double)t->size * (double)(ns - t->begin) /
			  (double)(t->end - t->begin));
}

/* Show the progress by the times that come from babeltrace2, until it ends. */
static void
show(struct progress *p, const struct traces *t, int fd)
{
	int64_t ns;

	while (read(fd, &ns, sizeof(ns)) == sizeof(ns))
		progress_show(p, bytes_until(t, ns));
}

/* FDS: a pipe for times, or -1. */
static bool
convert(const struct viewer *v, const char *file, const struct traces *t,
    int fds[2])
{
	const pid_t pid = viewer_start(v);
	struct progress p;
	bool is_done;

	progress_begin(&p, file, 0, t->size);
	if (fds[1] >= 0)
		close(fds[1]);
	if (pid > 0 && fds[0] >= 0)
		show(&p, t, fds[0]);
	is_done = pid > 0 && viewer_wait(pid);
	if (fds[0] >= 0)
		close(fds[0]);
	if (is_done)
		progress_end(&p, t->size);
	return is_done;
}

/* Let babeltrace2 tell its progress, if somebody sees it. */
static void
add_progress(struct viewer *v, struct traces *t, int fds[2])
{
	char *params;

	if (!isatty(STDERR_FILENO) || pipe(fds) != 0)
		return;
	(void)fcntl(fds[0], F_SETFD, FD_CLOEXEC);
	measure(t);
	params = ctl_text("time-fd=%d", fds[1]);
	viewer_component(v, "filter.tracepulse.match", params);
	free(params);
}

/* PART becomes FILE when it is complete. */
static int
export_to(const struct ctl *c, enum sink_kind kind, const char *file,
    const char *part, struct traces *t)
{
	const size_t n = c->options.n_operands - 1;
	int fds[2] = { -1, -1 };
	struct viewer v = { 0 };
	int status = CTL_OK;

	viewer_add(&v, VIEWER);
	viewer_add(&v, "convert"); /* a trace may be called "help" */
	for (size_t i = 0; i < n; i++)
		viewer_add(&v, c->options.operands[i]);
	add_progress(&v, t, fds);
	sink_add(&v, c, kind, part, n > 1);
	if (!convert(&v, file, t, fds))
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
	struct traces t = { 0 };
	int status;
	char *part;

	if (kind == N_SINKS)
		return ctl_fail("%s: its name must end in .ndjson, .json, "
				".txt, .perfetto or .pftrace",
		    file);
	if (!sink_is_there(kind))
		return CTL_FAILED;
	part = ctl_text("%s.part", file);
	status = find_traces(c->options.operands, n, &t);
	if (status == CTL_OK)
		status = export_to(c, kind, file, part, &t);
	free(part);
	for (size_t i = 0; i < t.n; i++)
		free(t.all[i]);
	free(t.all);
	return status;
}
