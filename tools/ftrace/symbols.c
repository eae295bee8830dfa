/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ftrace/event_format.h"

/* Where a symbol ends is where the next one begins. The last one, and one
 * before a gap, has no more than this. */
#define SYMBOL_SIZE_MAX (UINT64_C(1) << 20)
#define ADDRESS_DIGITS 16
#define NAME_MAX_LEN (SYMBOL_TEXT_MAX - 20)

struct symbol {
	uint64_t address;
	uint32_t name; /* in NAMES */
	bool is_code;
};

struct symbols {
	struct symbol *all; /* sorted */
	uint32_t n;
	char *names;
};

/* Parses "ADDRESS TYPE NAME", and possibly a module. The last two are left in
 * LINE. */
static bool
parse(struct span *line, struct symbol *out)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < line->n && i < ADDRESS_DIGITS; i++) {
		const char c = line->p[i];
		const char *digits = "0123456789abcdef",
			   *found = c == '\0' ? NULL : strchr(digits, c);

		if (found == NULL)
			break;
		v = v << 4 | (uint64_t)(found - digits);
	}
	if (i == 0 || v == 0 || line->n < i + 4 || line->p[i] != ' ' ||
	    line->p[i + 2] != ' ')
		return false;
	out->address = v;
	out->is_code = strchr("tTwW", line->p[i + 1]) != NULL &&
		       line->p[i + 1] != '\0';
	line->p += i + 3;
	line->n -= i + 3;
	return true;
}

/* Copies a name up to white space. */
static uint32_t
copy_name(char *out, struct span line)
{
	uint32_t n = 0;

	while (n < line.n && n < NAME_MAX_LEN && line.p[n] > ' ' &&
	       line.p[n] <= '~') {
		out[n] = line.p[n];
		n++;
	}
	out[n] = '\0';
	return n + 1;
}

/* At one address, code comes last: it is what is looked for. */
static int
compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->is_code != y->is_code)
		return x->is_code ? 1 : -1;
	return x->name < y->name ? 1 : -1;
}

enum status
symbols_create(struct symbols **out, struct span text)
{
	struct symbols *s = calloc(1, sizeof(*s));
	struct span rest = text, line;
	size_t lines = 1, used = 0;

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	while (event_format_line(&rest, &line))
		lines++;
	s->all = calloc(lines, sizeof(*s->all));
	/* A name is shorter than its line. */
	s->names = malloc(text.n + 1);
	if (s->all == NULL || s->names == NULL) {
		symbols_destroy(s);
		return E_NOMEM;
	}
	while (event_format_line(&text, &line)) {
		if (!parse(&line, &s->all[s->n]))
			continue;
		s->all[s->n++].name = (uint32_t)used;
		used += copy_name(s->names + used, line);
	}
	qsort(s->all, s->n, sizeof(*s->all), compare);
	*out = s;
	return OK;
}

void
symbols_destroy(struct symbols *s)
{
	if (s == NULL)
		return;
	free(s->all);
	free(s->names);
	free(s);
}

/* The last symbol that is not behind ADDRESS. */
static const struct symbol *
find(const struct symbols *s, uint64_t address)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (s->all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? NULL : &s->all[low - 1];
}

unsigned
symbols_text(
    const struct symbols *s, uint64_t address, char out[SYMBOL_TEXT_MAX])
{
	const struct symbol *x = find(s, address);
	const char *name;
	uint64_t offset;

	out[0] = '\0';
	if (x == NULL || !x->is_code)
		return 0;
	name = s->names + x->name;
	offset = address - x->address;
	if (offset >= SYMBOL_SIZE_MAX)
		return 0;
	if (offset == 0)
		return (unsigned)snprintf(out, SYMBOL_TEXT_MAX, "%s", name);
	return (unsigned)snprintf(
	    out, SYMBOL_TEXT_MAX, "%s+0x%" PRIx64, name, offset);
}
