/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/event_labels.h"

#include <stdlib.h>
#include <string.h>

#include "tools/ftrace/event_format.h"

/* "{0,""}" and a comma or a parenthesis. */
#define ENTRY_MIN 7

static void
skip_space(struct span *s)
{
	while (s->n > 0 && (*s->p == ' ' || *s->p == '\t')) {
		s->p++;
		s->n--;
	}
}

/* Removes C, and white space before it. */
static bool
take(struct span *s, char c)
{
	skip_space(s);
	if (s->n == 0 || *s->p != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* A number in C, of any base but 8, with its suffix. */
static bool
take_digits(struct span *s, uint64_t *out)
{
	uint64_t v = 0;
	int base = 10;
	size_t n = 0;

	skip_space(s);
	if (event_format_take(s, "0x") || event_format_take(s, "0X"))
		base = 16;
	for (; n < s->n && digit(s->p[n]) < base; n++)
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit(s->p[n]), &v))
			return false;
	s->p += n;
	s->n -= n;
	while (s->n > 0 && *s->p != '\0' && strchr("uUlL", *s->p) != NULL) {
		s->p++;
		s->n--;
	}
	*out = v;
	return n > 0 && v <= INT64_MAX;
}

/* A number, its negative, or 1 << 3; in parentheses or not. */
static bool
take_value(struct span *s, int64_t *out)
{
	const bool is_enclosed = take(s, '(');
	const bool is_negative = take(s, '-');
	uint64_t v, shift = 0;

	if (!take_digits(s, &v))
		return false;
	skip_space(s);
	if (event_format_take(s, "<<") &&
	    (!take_digits(s, &shift) || shift > 62 ||
		v > (uint64_t)INT64_MAX >> shift))
		return false;
	*out = (int64_t)(v << shift);
	if (is_negative)
		*out = -*out;
	return !is_enclosed || take(s, ')');
}

/* Strings in C, one after another; without escapes. Copied to OUT. */
static bool
take_strings(struct span *s, char *out, uint32_t *used)
{
	const uint32_t begin = *used;

	while (take(s, '"')) {
		while (s->n > 0 && *s->p != '"') {
			if (*s->p < ' ' || *s->p > '~' || *s->p == '\\')
				return false;
			out[(*used)++] = *s->p++;
			s->n--;
		}
		if (!take(s, '"'))
			return false;
	}
	out[(*used)++] = '\0';
	return *used > begin + 1;
}

static bool
take_entry(struct span *s, struct event_labels *l, uint32_t *used)
{
	struct event_label *x = &l->all[l->n];

	if (!take(s, '{') || !take_value(s, &x->value) || !take(s, ','))
		return false;
	x->name = *used;
	if (!take_strings(s, l->names, used) || !take(s, '}'))
		return false;
	l->n++;
	return true;
}

/* The entries, up to the parenthesis. */
static bool
take_entries(struct span *s, struct event_labels *l)
{
	uint32_t used = 0;

	do
		if (!take_entry(s, l, &used))
			return false;
	while (take(s, ','));
	return take(s, ')');
}

/* Reads the list that S begins with, and removes it. OK without labels: it is
 * none. */
static enum status
read_list(struct span *s, struct event_labels *out)
{
	const char *end = memchr(s->p, ')', s->n);
	struct span list;

	/* Memory by the length of the list; a parenthesis ends it that comes
	 * after an entry. */
	while (end != NULL &&
	       !(end > s->p &&
		   (end[-1] == '}' ||
		       (end - 1 > s->p && end[-1] == ' ' && end[-2] == '}'))))
		end = memchr(end + 1, ')', s->n - (size_t)(end + 1 - s->p));
	*out = (struct event_labels){ 0 };
	if (end == NULL) {
		s->n = 0; /* nor does a later list end */
		return OK;
	}
	list = (struct span){ s->p, (size_t)(end + 1 - s->p) };
	s->p += list.n;
	s->n -= list.n;
	out->all = calloc(list.n / ENTRY_MIN + 1, sizeof(*out->all));
	out->names = malloc(list.n);
	if (out->all == NULL || out->names == NULL) {
		event_labels_free(out);
		return E_NOMEM;
	}
	if (!take_entries(&list, out))
		event_labels_free(out);
	return OK;
}

/* Removes a name, and the comma after it. */
static struct event_field *
take_field(struct event_format *f, struct span *s)
{
	size_t n = 0;

	while (n < s->n && s->p[n] != ',' && n < EVENT_NAME_MAX)
		n++;
	for (unsigned i = f->n_common; i < f->n_fields && n < s->n; i++) {
		struct event_field *x = &f->fields[i];

		if (strlen(x->name) == n && memcmp(x->name, s->p, n) == 0 &&
		    x->kind == FIELD_INTEGER && x->labels.n == 0) {
			s->p += n + 1;
			s->n -= n + 1;
			return x;
		}
	}
	return NULL;
}

/* Removes the separator of __print_flags(). */
static bool
take_separator(struct span *s)
{
	const char *end;

	if (!take(s, '"'))
		return false;
	end = memchr(s->p, '"', s->n);
	if (end == NULL)
		return false;
	s->n -= (size_t)(end + 1 - s->p);
	s->p = end + 1;
	return take(s, ',');
}

enum status
event_labels_parse(struct event_format *f, struct span text)
{
	static const char call[] = "__print_";
	const char *at;
	enum status st = OK;

	/* A field has one list. */
	for (unsigned i = 0; i < EVENT_FIELDS_MAX && st == OK; i++) {
		struct event_field *x;
		bool is_flags;

		at = memmem(text.p, text.n, call, sizeof(call) - 1);
		if (at == NULL)
			break;
		text.n -= (size_t)(at - text.p) + sizeof(call) - 1;
		text.p = at + sizeof(call) - 1;
		is_flags = event_format_take(&text, "flags(REC->");
		if (!is_flags && !event_format_take(&text, "symbolic(REC->"))
			continue;
		x = take_field(f, &text);
		if (x != NULL && (!is_flags || take_separator(&text)))
			st = read_list(&text, &x->labels);
	}
	return st;
}

void
event_labels_free(struct event_labels *l)
{
	free(l->all);
	free(l->names);
	*l = (struct event_labels){ 0 };
}
