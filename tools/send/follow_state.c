/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/follow_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/send/followed.h"
#include "tools/sink/state_file.h"

#define FIRST_LINE "tracepulse-send --follow 2"
#define DIGITS (2 * sizeof(((struct relay_uuid *)0)->b))

struct reading {
	struct followed *followed;
	struct send_session *session;
	bool has_session;
};

/* "session IDENTITY CREATION-TIME" */
static enum status
read_session(struct send_session *s, const char *text)
{
	char digits[DIGITS + 1];
	unsigned byte;

	if (sscanf(text, "session %32s %" SCNu64, digits, &s->creation_time) !=
		2 ||
	    strspn(digits, "0123456789abcdef") != DIGITS)
		return E_MALFORMED;
	for (size_t i = 0; i < sizeof(s->identity.b); i++) {
		(void)sscanf(digits + 2 * i, "%2x", &byte);
		s->identity.b[i] = (uint8_t)byte;
	}
	return OK;
}

/* "NEXT CTF-STREAM CTF-INSTANCE PATH/NAME" */
static enum status
read_stream(struct followed *f, char *text)
{
	struct followed_resume r = { 0 };
	int at = 0;

	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %n", &r.next_seq,
		&r.ctf_stream, &r.ctf_instance, &at) < 3 ||
	    at == 0)
		return E_MALFORMED;
	r.path = text + at;
	r.name = strrchr(r.path, '/');
	if (r.name == NULL)
		return E_MALFORMED;
	*r.name++ = '\0';
	return followed_add_resume(f, &r);
}

static enum status
read_line(void *arg, char *text)
{
	struct reading *r = arg;

	if (r->has_session)
		return read_stream(r->followed, text);
	r->has_session = true;
	return read_session(r->session, text);
}

enum status
follow_state_read(
    struct followed *f, struct send_session *session, const char *path)
{
	struct reading r = { f, session, false };
	enum status st = state_file_read(path, FIRST_LINE, read_line, &r);

	if (st == E_IO)
		snprintf(f->error, sizeof(f->error), "%s: %s", path,
		    strerror(errno));
	else if (st != OK)
		snprintf(f->error, sizeof(f->error),
		    "%s: not a state file of --follow", path);
	return st;
}

static void
write_lines(
    const struct followed *f, const struct send_session *session, FILE *file)
{
	fprintf(file, FIRST_LINE "\nsession ");
	for (size_t i = 0; i < sizeof(session->identity.b); i++)
		fprintf(file, "%02x", session->identity.b[i]);
	fprintf(file, " %" PRIu64 "\n", session->creation_time);
	for (unsigned i = 0; i < f->resume_n; i++) {
		const struct followed_resume *r = &f->resume[i];

		fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s/%s\n",
		    r->next_seq, r->ctf_stream, r->ctf_instance, r->path,
		    r->name);
	}
}

enum status
follow_state_write(const struct followed *f, const struct send_session *session,
    const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	enum status st = E_IO;

	if (file == NULL)
		return E_IO;
	write_lines(f, session, file);
	if (fclose(file) == 0)
		st = state_file_write(path, text, size);
	free(text);
	return st;
}
