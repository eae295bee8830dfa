/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/follow_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/send/followed.h"
#include "tools/send/state_file.h"

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
read_line(void *arg, char *text)
{
	struct followed_resume r = { 0 };
	int at = 0;

	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %n", &r.next_seq,
		&r.ctf_stream, &r.ctf_instance, &at) < 3 ||
	    at == 0)
		return E_MALFORMED;
	return add(arg, &r, text + at);
}

enum status
follow_state_read(struct followed *f, const char *path)
{
	enum status st = state_file_read(path, FIRST_LINE, read_line, f);

	if (st == E_IO)
		snprintf(f->error, sizeof(f->error), "%s: %s", path,
		    strerror(errno));
	else if (st != OK)
		snprintf(f->error, sizeof(f->error),
		    "%s: not a state file of --follow", path);
	return st;
}

static void
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
}

enum status
follow_state_write(const struct followed *f, const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	enum status st = E_IO;

	if (file == NULL)
		return E_IO;
	write_lines(f, file);
	if (fclose(file) == 0)
		st = state_file_write(path, text, size);
	free(text);
	return st;
}
