/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/event_format.h"

#include <stdlib.h>
#include <string.h>

/* Lists grow by so many fields. */
#define FIELDS_STEP 16

bool
event_format_line(struct span *text, struct span *line)
{
	const char *end;

	if (text->n == 0)
		return false;
	end = memchr(text->p, '\n', text->n);
	line->p = text->p;
	line->n = end == NULL ? text->n : (size_t)(end - text->p);
	text->p += line->n + (end != NULL);
	text->n -= line->n + (end != NULL);
	return true;
}

bool
event_format_take(struct span *s, const char *word)
{
	const size_t n = strlen(word);

	if (s->n < n || memcmp(s->p, word, n) != 0)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

/* A decimal number up to MAX. */
static bool
take_number(struct span *s, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;
	size_t i = 0;

	while (i < s->n && i < 10 && s->p[i] >= '0' && s->p[i] <= '9')
		v = v * 10 + (uint64_t)(s->p[i++] - '0');
	if (i == 0 || v > max)
		return false;
	s->p += i;
	s->n -= i;
	*out = (uint32_t)v;
	return true;
}

/* Printable characters without white space; what is longer is cut. */
static bool
printable_name(char out[EVENT_NAME_MAX], struct span s)
{
	const size_t n = s.n < EVENT_NAME_MAX ? s.n : EVENT_NAME_MAX - 1;

	for (size_t i = 0; i < n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return false;
	memcpy(out, s.p, n);
	out[n] = '\0';
	return n > 0;
}

static enum status
add_line(struct event_format *f, struct span line, unsigned long_size)
{
	struct event_field *more;
	enum status st;

	if (f->n_fields == EVENT_FIELDS_MAX)
		return E_LIMIT;
	if (f->n_fields % FIELDS_STEP == 0) {
		more = realloc(
		    f->fields, (f->n_fields + FIELDS_STEP) * sizeof(*more));
		if (more == NULL)
			return E_NOMEM;
		f->fields = more;
	}
	more = &f->fields[f->n_fields];
	st = event_field_parse(more, line, long_size);
	if (st != OK)
		return st;
	if (more->offset + more->size > f->fixed_size)
		f->fixed_size = more->offset + more->size;
	if (f->n_common == f->n_fields &&
	    strncmp(more->name, "common_", strlen("common_")) == 0)
		f->n_common++;
	f->n_fields++;
	return f->fixed_size > EVENT_FIXED_MAX ? E_LIMIT : OK;
}

/* NAMED: what is known so far, bit 0 the name, bit 1 the id. */
static enum status
take_line(struct event_format *f, struct span line, unsigned long_size,
    unsigned *named)
{
	uint32_t id;

	while (line.n > 0 && (*line.p == '\t' || *line.p == ' '))
		(void)event_format_take(&line, *line.p == ' ' ? " " : "\t");
	if (event_format_take(&line, "name: ")) {
		*named |= 1;
		return printable_name(f->name, line) ? OK : E_MALFORMED;
	}
	if (event_format_take(&line, "ID: ")) {
		if (!take_number(&line, UINT16_MAX, &id) || line.n > 0)
			return E_MALFORMED;
		f->id = (uint16_t)id;
		*named |= 2;
		return OK;
	}
	if (line.n >= 6 && memcmp(line.p, "field:", 6) == 0)
		return add_line(f, line, long_size);
	return OK;
}

enum status
event_format_parse(struct event_format **out, struct span system,
    struct span text, unsigned long_size)
{
	struct event_format *f = calloc(1, sizeof(*f));
	enum status st = f == NULL ? E_NOMEM : OK;
	unsigned named = 0;
	struct span line;

	*out = NULL;
	if (st == OK && !printable_name(f->system, system))
		st = E_MALFORMED;
	while (st == OK && event_format_line(&text, &line)) {
		if (line.n >= 10 && memcmp(line.p, "print fmt:", 10) == 0)
			break;
		st = take_line(f, line, long_size, &named);
	}
	if (st == OK && named != 3)
		st = E_MALFORMED;
	if (st != OK) {
		event_format_free(f);
		return st;
	}
	*out = f;
	return OK;
}

void
event_format_free(struct event_format *f)
{
	if (f == NULL)
		return;
	free(f->fields);
	free(f);
}

const struct event_field *
event_format_field(const struct event_format *f, const char *name)
{
	for (unsigned i = 0; i < f->n_fields; i++)
		if (strcmp(f->fields[i].name, name) == 0)
			return &f->fields[i];
	return NULL;
}
