/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/event_format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"

/* The last words of a type that are examined; "unsigned long long" is the
 * longest that matters. */
#define TYPE_WORDS_MAX 8

/* Names of types by size; 0: that of a long. The last word listed here counts:
 * "unsigned" and the like precede it. */
static const struct {
	unsigned size;
	const char *names[16];
} types[] = {
	{ 1, { "char", "s8", "u8", "__u8", "__s8", "uint8_t", "int8_t", "bool",
		 "_Bool" } },
	{ 2, { "short", "s16", "u16", "__u16", "__s16", "__le16", "__be16",
		 "uint16_t", "int16_t" } },
	{ 4, { "int", "unsigned", "s32", "u32", "__u32", "__s32", "__le32",
		 "__be32", "uint32_t", "int32_t", "pid_t", "gfp_t", "dev_t" } },
	{ 8, { "s64", "u64", "__u64", "__s64", "__le64", "__be64", "uint64_t",
		 "int64_t", "loff_t", "sector_t" } },
	{ 0, { "long", "size_t", "ssize_t", "uintptr_t", "cpumask_t" } },
};

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t';
}

static struct span
trim(struct span s)
{
	while (s.n > 0 && is_space(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n > 0 && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool
equal(struct span s, const char *word)
{
	return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

/* Removes the last word from S and returns it; empty: none. */
static struct span
take_last_word(struct span *s)
{
	struct span w;

	*s = trim(*s);
	w = (struct span){ s->p + s->n, 0 };
	while (s->n > 0 && is_word(s->p[s->n - 1])) {
		w.p--;
		w.n++;
		s->n--;
	}
	return w;
}

/* The size of the type WORD. False: it is not listed. */
static bool
find_size(struct span word, unsigned long_size, unsigned *size)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		for (const char *const *name = types[i].names; *name != NULL;
		     name++)
			if (**name == *word.p && equal(word, *name)) {
				*size = types[i].size == 0 ? long_size
							   : types[i].size;
				return true;
			}
	return false;
}

/* Bytes of an element of this type; 0: not known. */
static unsigned
element_size(struct span type, unsigned long_size)
{
	unsigned longs = 0, size = 0;
	struct span w;

	if (memchr(type.p, '*', type.n) != NULL)
		return long_size;
	for (unsigned n = 0;
	     n < TYPE_WORDS_MAX && (w = take_last_word(&type)).n > 0; n++) {
		longs += equal(w, "long");
		if (size == 0)
			(void)find_size(w, long_size, &size);
	}
	return longs == 0 ? size : longs > 1 ? 8 : long_size;
}

/* "char" is a character, "unsigned char" a number. */
static bool
is_text(struct span type)
{
	type = trim(type);
	(void)event_format_take(&type, "const ");
	return equal(trim(type), "char");
}

/* Makes an identifier in C of any name. */
static void
copy_name(char out[EVENT_NAME_MAX], struct span name)
{
	size_t n = 0;

	if (name.n == 0 || (name.p[0] >= '0' && name.p[0] <= '9'))
		out[n++] = '_';
	for (size_t i = 0; i < name.n && n < EVENT_NAME_MAX - 1; i++)
		out[n++] = name.p[i];
	out[n] = '\0';
}

static bool
has(const char *name, const char *part)
{
	return strstr(name, part) != NULL;
}

static bool
names_code(const char *name)
{
	const size_t n = strlen(name);

	return strcmp(name, "ip") == 0 || strcmp(name, "func") == 0 ||
	       strcmp(name, "function") == 0 || strcmp(name, "caller") == 0 ||
	       strcmp(name, "call_site") == 0 ||
	       (n > 3 && strcmp(name + n - 3, "_ip") == 0);
}

/* Names of longs that are the address of code or data. */
static bool
names_address(const char *name)
{
	return names_code(name) || has(name, "addr") || has(name, "function") ||
	       has(name, "ptr");
}

/* An array of integers if the type, of EACH bytes, and the size agree. */
static void
set_elements(struct event_field *f, uint32_t count, uint32_t each)
{
	assert(f->kind != FIELD_TEXT && f->size > 0);
	if (each == 0 || f->size % each != 0)
		each = count > 0 && f->size % count == 0 ? f->size / count : 0;
	f->kind = FIELD_BYTES;
	f->element = 1;
	f->count = f->size;
	if (each != 1 && each != 2 && each != 4 && each != 8)
		return;
	f->kind = FIELD_ARRAY;
	f->element = (uint8_t)each;
	f->count = f->size / each;
}

static void
set_kind(struct event_field *f, struct span type, bool is_array, uint32_t count,
    unsigned long_size)
{
	const bool is_pointer = memchr(type.p, '*', type.n) != NULL;
	const unsigned each = element_size(type, long_size);

	f->is_code = f->size == long_size && names_code(f->name);
	f->is_address = is_pointer || (!f->is_signed && each == long_size &&
					  names_address(f->name));
	if (is_array && is_text(type) && f->size > 0) {
		f->kind = FIELD_TEXT;
		f->element = 1;
	} else if (f->size == 0) {
		f->kind = is_text(type) ? FIELD_REST_TEXT : FIELD_REST_ARRAY;
		f->element = (uint8_t)(each == 0 ? 1 : each);
	} else if (!is_array && (f->size == 1 || f->size == 2 || f->size == 4 ||
				    f->size == 8)) {
		f->kind = FIELD_INTEGER;
		f->element = (uint8_t)f->size;
	} else if (is_array) {
		set_elements(f, count, each);
	} else {
		f->kind = FIELD_BYTES;
		f->element = 1;
		f->count = f->size;
	}
}

/* A field TYPE[] whose bytes follow the fixed ones. */
static enum status
set_dynamic(struct event_field *f, struct span type, unsigned long_size)
{
	unsigned each;

	type = trim(type);
	if (f->size != 4)
		return E_MALFORMED;
	if (type.n >= 2 && memcmp(type.p + type.n - 2, "[]", 2) == 0)
		type.n -= 2;
	if (is_text(type)) {
		f->kind = FIELD_DYNAMIC_TEXT;
		f->element = 1;
		return OK;
	}
	each = element_size(type, long_size);
	f->kind = FIELD_DYNAMIC_ARRAY;
	f->element = (uint8_t)(each == 0 ? 1 : each);
	f->is_address = memchr(type.p, '*', type.n) != NULL || each == 0;
	return OK;
}

/* Removes "[16]", "[TASK_COMM_LEN]" or "[]" after a name. *COUNT is 0 if it is
 * not a number. */
static bool
take_brackets(struct span *decl, uint32_t *count)
{
	bool is_array = false;

	*count = 0;
	*decl = trim(*decl);
	while (decl->n > 0 && decl->p[decl->n - 1] == ']') {
		const char *open = memrchr(decl->p, '[', decl->n);
		uint64_t n = 0;

		if (open == NULL)
			break;
		for (const char *p = open + 1;
		     *p >= '0' && *p <= '9' && n <= EVENT_FIXED_MAX; p++)
			n = n * 10 + (uint64_t)(*p - '0');
		*count = is_array ? 0 : (uint32_t)n;
		is_array = true;
		decl->n = (size_t)(open - decl->p);
		*decl = trim(*decl);
	}
	return is_array;
}

static enum status
declare(struct event_field *f, struct span decl, unsigned long_size)
{
	bool is_dynamic = false, is_array;
	uint32_t count;

	decl = trim(decl);
	if (event_format_take(&decl, "__data_loc ")) {
		is_dynamic = true;
	} else if (event_format_take(&decl, "__rel_loc ")) {
		is_dynamic = true;
		f->is_relative = true;
	}
	is_array = take_brackets(&decl, &count);
	copy_name(f->name, take_last_word(&decl));
	if (is_dynamic)
		return set_dynamic(f, decl, long_size);
	set_kind(f, decl, is_array, count, long_size);
	return OK;
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

/* Removes a name such as "offset:", a number and ";". */
static bool
take_value(struct span *line, const char *name, uint32_t *out)
{
	*line = trim(*line);
	return event_format_take(line, name) &&
	       take_number(line, 999999999, out) &&
	       event_format_take(line, ";");
}

enum status
event_field_parse(struct event_field *out, struct span line, unsigned long_size)
{
	uint32_t is_signed = 0;
	const char *end;
	struct span decl;

	*out = (struct event_field){ 0 };
	line = trim(line);
	if (!event_format_take(&line, "field:"))
		return E_MALFORMED;
	end = memchr(line.p, ';', line.n);
	if (end == NULL)
		return E_MALFORMED;
	decl = (struct span){ line.p, (size_t)(end - line.p) };
	line.n -= decl.n + 1;
	line.p = end + 1;
	if (!take_value(&line, "offset:", &out->offset) ||
	    !take_value(&line, "size:", &out->size))
		return E_MALFORMED;
	/* Kernels before 2.6.32 do not state it. */
	(void)take_value(&line, "signed:", &is_signed);
	out->is_signed = is_signed != 0;
	if (out->offset > EVENT_FIXED_MAX || out->size > EVENT_FIXED_MAX)
		return E_MALFORMED;
	return declare(out, decl, long_size);
}

/* Lists grow by this many fields. */
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

/* Printable characters without white space; longer names are cut. */
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

/* NAMED: bit 0 is set once the name is known, bit 1 the id. */
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

/* Corrects two formats of ftrace's own events whose text is wrong: it states a
 * fixed size for the addresses of a stack, and text for what programs write to
 * trace_marker_raw. Both take the rest of the event. */
static void
correct_format(struct event_format *f)
{
	struct event_field *last;
	bool is_stack, is_raw;

	if (f->n_fields == 0 || strcmp(f->system, "ftrace") != 0)
		return;
	last = &f->fields[f->n_fields - 1];
	is_stack = strcmp(f->name, "kernel_stack") == 0 &&
		   last->kind == FIELD_ARRAY;
	is_raw = strcmp(f->name, "raw_data") == 0 &&
		 last->kind == FIELD_REST_TEXT;
	if (!is_stack && !is_raw)
		return;
	last->kind = FIELD_REST_ARRAY;
	last->size = 0;
	last->is_address |= is_stack;
	last->is_code = is_stack;
	f->fixed_size = 0;
	for (unsigned i = 0; i < f->n_fields; i++) {
		const struct event_field *x = &f->fields[i];

		if (x->offset + x->size > f->fixed_size)
			f->fixed_size = x->offset + x->size;
	}
}

enum status
event_format_parse(struct event_format **out, struct span system,
    struct span text, unsigned long_size)
{
	struct event_format *f = calloc(1, sizeof(*f));
	enum status st = f == NULL ? E_NOMEM : OK;
	unsigned named = 0;
	struct span line = { "", 0 };

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
	correct_format(f);
	st = event_labels_parse(f, line);
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
	for (unsigned i = 0; i < f->n_fields; i++)
		event_labels_free(&f->fields[i].labels);
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
