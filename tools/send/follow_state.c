/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/follow_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/send/followed.h"

#define FIRST_LINE "tracepulse-send --follow 1"

static enum status
add(struct followed *f, const struct followed_resume *r, const char *path)
{
	struct followed_resume *more = realloc(
	    f->resume, (f->resume_n + 1) * sizeof(*more));

	if (more == NULL)
		return E_NOMEM;
	f->resume = more;
	more[f->resume_n] = *r;
	more[f->resume_n].path = strdup(path);
	return more[f->resume_n++].path == NULL ? E_NOMEM : OK;
}

static enum status
read_lines(struct followed *f, FILE *file)
{
	struct followed_resume r = { 0 };
	enum status st = E_MALFORMED;
	char *line = NULL;
	size_t size = 0;
	int at;

	if (getline(&line, &size, file) > 0 &&
	    strcmp(line, FIRST_LINE "\n") == 0)
		st = OK;
	while (st == OK && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		at = 0;
		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %n",
			&r.next_seq, &r.ctf_stream, &r.ctf_instance, &at) < 3 ||
		    at == 0)
			st = E_MALFORMED;
		else
			st = add(f, &r, line + at);
	}
	free(line);
	return st;
}

enum status
follow_state_read(struct followed *f, const char *path)
{
	FILE *file = fopen(path, "re");
	enum status st;

	if (file == NULL && errno == ENOENT)
		return OK;
	if (file == NULL) {
		snprintf(f->error, sizeof(f->error), "%s: %s", path,
		    strerror(errno));
		return E_IO;
	}
	st = read_lines(f, file);
	fclose(file);
	if (st != OK)
		snprintf(f->error, sizeof(f->error),
		    "%s: not a state file of --follow", path);
	return st;
}

static bool
write_lines(const struct followed *f, FILE *file)
{
	const struct followed_trace *t;
	const struct followed_stream *s;

	fprintf(file, FIRST_LINE "\n");
	list_each (t, &f->traces, struct followed_trace, node)
		list_each (s, &t->streams, struct followed_stream, node)
			if (s->has_seq)
				fprintf(file,
				    "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
				    s->marked_seq, s->ctf_stream,
				    s->ctf_instance, t->path);
	return fflush(file) == 0 && fsync(fileno(file)) == 0;
}

enum status
follow_state_write(const struct followed *f, const char *path)
{
	char *new;
	FILE *file;
	bool is_written;

	if (asprintf(&new, "%s.new", path) < 0)
		return E_IO;
	file = fopen(new, "we");
	is_written = file != NULL && write_lines(f, file);
	if (file != NULL && fclose(file) != 0)
		is_written = false;
	if (is_written)
		is_written = rename(new, path) == 0;
	free(new);
	return is_written ? OK : E_IO;
}
