/* SPDX-License-Identifier: MIT */
#include "tools/sink/deliveries.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "tools/sink/state_file.h"

#define FIRST_LINE "tracepulse-send kafka 1"
/* Between the parts of a line; names have no control characters. */
#define BETWEEN "\t"

/* The lists are touched when a session is opened and once a second, so a thread
 * that meets another one waits for it. */
static void
enter(struct deliveries *d)
{
	while (!published_take(&d->is_in_use))
		sched_yield();
}

static void
leave(struct deliveries *d)
{
	publish(&d->is_in_use, 0);
}

void
deliveries_init(struct deliveries *d)
{
	*d = (struct deliveries){ 0 };
	list_init(&d->sessions);
}

static void
session_free(struct delivery_session *s)
{
	struct delivery_stream *t, *next;

	list_del(&s->node);
	list_each_safe (t, next, &s->streams, struct delivery_stream, node) {
		free(t->name);
		free(t);
	}
	free(s->key);
	free(s);
}

void
deliveries_free(struct deliveries *d)
{
	struct delivery_session *s, *next;

	list_each_safe (s, next, &d->sessions, struct delivery_session, node)
		session_free(s);
}

static struct delivery_session *
find_session(struct deliveries *d, struct span key)
{
	struct delivery_session *s;

	list_each (s, &d->sessions, struct delivery_session, node)
		if (strlen(s->key) == key.n &&
		    memcmp(s->key, key.p, key.n) == 0)
			return s;
	s = calloc(1, sizeof(*s));
	if (s == NULL || (s->key = strndup(key.p, key.n)) == NULL) {
		free(s);
		return NULL;
	}
	list_init(&s->streams);
	list_append(&d->sessions, &s->node);
	return s;
}

static struct delivery_stream *
find_stream(struct delivery_session *s, struct span name)
{
	struct delivery_stream *t;

	list_each (t, &s->streams, struct delivery_stream, node)
		if (strlen(t->name) == name.n &&
		    memcmp(t->name, name.p, name.n) == 0)
			return t;
	t = calloc(1, sizeof(*t));
	if (t == NULL || (t->name = strndup(name.p, name.n)) == NULL) {
		free(t);
		return NULL;
	}
	t->session = s;
	list_append(&s->streams, &t->node);
	return t;
}

struct delivery_session *
deliveries_session(struct deliveries *d, struct span key, bool *had_ended)
{
	struct delivery_session *s;

	enter(d);
	s = find_session(d, key);
	if (had_ended != NULL)
		*had_ended = s != NULL && s->is_ended;
	if (s != NULL && s->is_ended) {
		d->n_ended--;
		s->is_ended = false;
	}
	leave(d);
	return s;
}

struct delivery_stream *
deliveries_stream(
    struct deliveries *d, struct delivery_session *s, struct span name)
{
	struct delivery_stream *t;

	enter(d);
	t = find_stream(s, name);
	leave(d);
	return t;
}

/* The sessions that have ended are last, in the order of their ends. */
static void
end_session(struct deliveries *d, struct delivery_session *s)
{
	struct delivery_session *o;

	list_del(&s->node);
	list_append(&d->sessions, &s->node);
	d->n_ended += !s->is_ended;
	s->is_ended = true;
	if (d->n_ended <= DELIVERIES_ENDED_MAX)
		return;
	list_each (o, &d->sessions, struct delivery_session, node) {
		if (o->is_ended)
			break;
	}
	session_free(o);
	d->n_ended--;
}

void
deliveries_end(struct deliveries *d, struct delivery_session *s)
{
	enter(d);
	end_session(d, s);
	leave(d);
}

/* After a record that was refused nothing counts: it is to be sent again, with
 * all that follows it. */
void
delivery_done(const struct delivery *f, const char *error)
{
	struct delivery_session *s = f->session;

	if (error != NULL && published(&s->lost) == 0) {
		snprintf(s->error, sizeof(s->error), "%s", error);
		publish(&s->lost, 1);
	}
	if (error == NULL && published(&s->lost) == 0 && f->stream != NULL) {
		if (f->next > published(&f->stream->next))
			publish(&f->stream->next, f->next);
		if (f->packet_bytes != UINT64_MAX) {
			published_count(&f->stream->packets, 1);
			published_count(&f->stream->bytes, f->packet_bytes);
			published_count(&s->packets, 1);
			published_count(&s->bytes, f->packet_bytes);
		}
	}
	publish(&s->done, published(&s->done) + 1);
}

/* "NEXT KEY STREAM"; without a STREAM: the session has ended. */
static enum status
read_line(void *arg, char *text)
{
	const char *next = strsep(&text, BETWEEN),
		   *key = strsep(&text, BETWEEN);
	struct delivery_session *s;
	struct delivery_stream *t;
	uint64_t n;

	if (key == NULL || text == NULL ||
	    parse_u64(next, 0, UINT64_MAX, &n) != OK)
		return E_MALFORMED;
	s = find_session(arg, (struct span){ key, strlen(key) });
	if (s == NULL)
		return E_NOMEM;
	if (text[0] == '\0') {
		end_session(arg, s);
		return OK;
	}
	t = find_stream(s, (struct span){ text, strlen(text) });
	if (t == NULL)
		return E_NOMEM;
	publish(&t->next, n);
	return OK;
}

enum status
deliveries_read(struct deliveries *d, const char *path)
{
	return state_file_read(path, FIRST_LINE, read_line, d);
}

static void
write_lines(const struct deliveries *d, FILE *file)
{
	const struct delivery_session *s;
	const struct delivery_stream *t;

	fprintf(file, FIRST_LINE "\n");
	list_each (s, &d->sessions, struct delivery_session, node) {
		list_each (t, &s->streams, struct delivery_stream, node)
			if (published(&t->next) > 0)
				fprintf(file,
				    "%" PRIu64 BETWEEN "%s" BETWEEN "%s\n",
				    published(&t->next), s->key, t->name);
		if (s->is_ended)
			fprintf(file, "0" BETWEEN "%s" BETWEEN "\n", s->key);
	}
}

enum status
deliveries_write(struct deliveries *d, const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	enum status st = E_IO;

	if (file == NULL)
		return E_IO;
	enter(d);
	write_lines(d, file);
	leave(d);
	if (fclose(file) == 0)
		st = state_file_write(path, text, size);
	free(text);
	return st;
}
