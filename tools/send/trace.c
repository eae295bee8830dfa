/* SPDX-License-Identifier: MIT */
#include "tools/send/trace.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/clock.h"
#include "proto/relay.h"

#define DEPTH_MAX 32
/* What one SEND_METADATA can carry (streaming 2.1). */
#define METADATA_MAX ((UINT64_C(128) << 20) - 12)

static enum status
fail(struct traces *t, enum status st, const char *path, const char *why)
{
	if (t->error[0] == '\0')
		snprintf(t->error, sizeof(t->error), "%.3000s: %s", path, why);
	return st;
}

static enum status
fail_errno(struct traces *t, const char *path)
{
	return fail(t, E_IO, path,
	    errno == EINVAL ? "not a regular file" : strerror(errno));
}

static enum status
join(struct traces *t, char out[PATH_MAX], const char *a, const char *b)
{
	const char *slash = a[0] == '\0' || a[strlen(a) - 1] == '/' ? "" : "/";

	if (snprintf(out, PATH_MAX, "%s%s%s", a, slash, b) < PATH_MAX)
		return OK;
	return fail(t, E_LIMIT, a, "the path is too long");
}

static void
trace_destroy(struct disk_trace *trace)
{
	for (unsigned i = 0; i < trace->n_streams; i++) {
		packets_close(&trace->streams[i].packets);
		free(trace->streams[i].name);
	}
	mapped_close(&trace->metadata);
	tsdl_free(&trace->tsdl);
	free(trace->streams);
	free(trace->path);
	free(trace);
}

void
traces_free(struct traces *t)
{
	for (unsigned i = 0; i < t->n; i++)
		trace_destroy(t->traces[i]);
	free(t->traces);
	*t = (struct traces){ 0 };
}

static enum status
read_metadata(struct traces *t, struct disk_trace *trace, const char *directory)
{
	char path[PATH_MAX];
	struct buf text = { 0 };
	const char *why = "";
	enum status st = join(t, path, directory, "metadata");

	if (st != OK)
		return st;
	if (mapped_open(&trace->metadata, path, false) != OK)
		return fail_errno(t, path);
	if (trace->metadata.n > METADATA_MAX)
		return fail(t, E_LIMIT, path, "larger than a relay accepts");
	st = tsdl_unpack(&text, trace->metadata.p, trace->metadata.n, &why);
	if (st == OK) {
		st = tsdl_parse(&trace->tsdl, (const char *)buf_data(&text),
		    buf_len(&text));
		why = trace->tsdl.error;
	}
	buf_free(&text);
	return st == OK ? OK : fail(t, st, path, why);
}

static struct trace_stream *
new_stream(struct disk_trace *trace, const char *name)
{
	void *p = realloc(
	    trace->streams, (trace->n_streams + 1) * sizeof(*trace->streams));
	struct trace_stream *s;

	if (p == NULL)
		return NULL;
	trace->streams = p;
	s = &trace->streams[trace->n_streams];
	*s = (struct trace_stream){ .trace = trace, .name = strdup(name) };
	if (s->name == NULL)
		return NULL;
	trace->n_streams++;
	return s;
}

static enum status
add_stream(struct traces *t, struct disk_trace *trace, const char *directory,
    const char *name)
{
	char path[PATH_MAX], index[PATH_MAX], file[PATH_MAX];
	struct trace_stream *s;
	enum status st;

	if ((st = join(t, path, directory, name)) != OK)
		return st;
	snprintf(file, sizeof(file), "index/%s.idx", name);
	if ((st = join(t, index, directory, file)) != OK)
		return st;
	/* The relay's index file has this name with .idx. */
	if (strlen(name) + strlen(".idx") > NAME_MAX)
		return fail(t, E_LIMIT, path, "the name is too long");
	if ((s = new_stream(trace, name)) == NULL)
		return fail(t, E_NOMEM, path, "out of memory");
	st = packets_open(&s->packets, path, index, &trace->tsdl, t->stop);
	if (st == E_STOPPED)
		return st;
	if (st == E_MALFORMED)
		return fail(t, st, path, s->packets.error);
	return st == OK ? OK : fail_errno(t, path);
}

/* Files whose names begin with a dot do not belong to a trace. */
static int
is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static bool
is_folder(const char *path)
{
	struct stat st;

	/* Symbolic links are not followed: they may lead in circles. */
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum status
check_path(struct traces *t, const char *path, const char *directory)
{
	if (strlen(path) + 1 > RELAY_PATH_MAX)
		return fail(
		    t, E_LIMIT, directory, "the path is too long for a relay");
	for (unsigned i = 0; i + 1 < t->n; i++)
		if (strcmp(t->traces[i]->path, path) == 0)
			return fail(t, E_EXISTS, directory,
			    "another trace has the same path in the session");
	return OK;
}

static enum status
add_trace(struct traces *t, const char *directory, const char *path,
    struct dirent **entries, int n)
{
	void *p = realloc(t->traces, (t->n + 1) * sizeof(*t->traces));
	struct disk_trace *trace = calloc(1, sizeof(*trace));
	enum status st;

	if (p != NULL)
		t->traces = p;
	if (p == NULL || trace == NULL ||
	    (trace->path = strdup(path)) == NULL) {
		free(trace);
		return fail(t, E_NOMEM, directory, "out of memory");
	}
	t->traces[t->n++] = trace;
	st = check_path(t, path, directory);
	if (st == OK)
		st = read_metadata(t, trace, directory);
	for (int i = 0; i < n && st == OK; i++) {
		const char *name = entries[i]->d_name;
		char file[PATH_MAX];

		st = join(t, file, directory, name);
		if (st == OK && strcmp(name, "metadata") != 0 &&
		    !is_folder(file))
			st = add_stream(t, trace, directory, name);
	}
	return st;
}

static bool
has_metadata(struct dirent **entries, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(entries[i]->d_name, "metadata") == 0)
			return true;
	return false;
}

static enum status find(struct traces *t, const char *directory,
    const char *path, const char *own_name, unsigned depth);

static enum status
descend(struct traces *t, const char *directory, const char *path,
    struct dirent **entries, int n, unsigned depth)
{
	enum status st = OK;

	for (int i = 0; i < n && st == OK; i++) {
		char below[PATH_MAX], place[PATH_MAX];
		const char *name = entries[i]->d_name;

		if ((st = join(t, below, directory, name)) != OK ||
		    (st = join(t, place, path, name)) != OK)
			return st;
		if (is_folder(below))
			st = find(t, below, place, name, depth + 1);
	}
	return st;
}

static enum status
find(struct traces *t, const char *directory, const char *path,
    const char *own_name, unsigned depth)
{
	struct dirent **entries;
	enum status st = OK;
	int n;

	if (t->stop != NULL && *t->stop)
		return E_STOPPED;
	if (depth > DEPTH_MAX)
		return fail(
		    t, E_LIMIT, directory, "directories are nested too deeply");
	n = scandir(directory, &entries, is_visible, alphasort);
	if (n < 0)
		return fail_errno(t, directory);
	if (has_metadata(entries, n))
		st = add_trace(t, directory, path[0] != '\0' ? path : own_name,
		    entries, n);
	else
		st = descend(t, directory, path, entries, n, depth);
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	return st;
}

/* The last component of REAL, an absolute path. */
static const char *
own_name(const char *real)
{
	const char *name = strrchr(real, '/') + 1;

	return *name == '\0' ? "root" : name;
}

bool
traces_name(const char *directory, char out[TRACES_NAME_MAX])
{
	char real[PATH_MAX];

	if (realpath(directory, real) == NULL)
		return false;
	snprintf(out, TRACES_NAME_MAX, "%s", own_name(real));
	return true;
}

enum status
traces_add(struct traces *t, const char *directory, bool own_folder)
{
	const unsigned before = t->n;
	char real[PATH_MAX];
	const char *name;
	enum status st;

	if (realpath(directory, real) == NULL)
		return fail_errno(t, directory);
	name = own_name(real);
	if (t->name[0] == '\0')
		snprintf(t->name, sizeof(t->name), "%s", name);
	st = find(t, real, own_folder ? name : "", name, 0);
	if (st == OK && t->n == before)
		return fail(t, E_NOENT, directory, "no CTF trace found");
	return st;
}
