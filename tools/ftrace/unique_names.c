/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/unique_names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The place of NAME in SORTED, where it is or belongs. */
static bool
is_taken(const struct unique_names *names, const char *name, unsigned *at)
{
	unsigned high = names->n;

	*at = 0;
	while (*at < high) {
		const unsigned middle = (*at + high) / 2;
		const int order = strcmp(
		    name, names->name[names->sorted[middle]]);

		if (order == 0) {
			*at = middle;
			return true;
		}
		if (order < 0)
			high = middle;
		else
			*at = middle + 1;
	}
	return false;
}

/* All fields may have one name, so no number is tried twice. */
const char *
unique_names_take(struct unique_names *names, const char *name)
{
	uint16_t *sorted = names->sorted;
	const unsigned n = names->n;
	char *out = names->name[n];
	unsigned at, *next;

	assert(n < UNIQUE_NAMES_MAX);
	(void)snprintf(out, UNIQUE_NAME_SIZE, "%s", name);
	if (is_taken(names, out, &at)) {
		next = &names->next[sorted[at]];
		do
			(void)snprintf(
			    out, UNIQUE_NAME_SIZE, "%s_%u", name, (*next)++);
		while (is_taken(names, out, &at));
	}
	memmove(&sorted[at + 1], &sorted[at], (n - at) * sizeof(*sorted));
	sorted[at] = (uint16_t)n;
	names->next[n] = 2;
	names->n++;
	return out;
}
