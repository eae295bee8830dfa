/* SPDX-License-Identifier: MIT */
#include "tools/client/usage.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/parse.h"

static bool
has_letters(const struct usage_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].letter != 0)
			return true;
	return false;
}

void
usage_print_rows(const struct usage_row *rows, size_t n, int width)
{
	const char *none = has_letters(rows, n) ? "    " : "";

	for (size_t i = 0; i < n; i++) {
		char name[64], letter[8];

		snprintf(letter, sizeof(letter), "-%c, ", rows[i].letter);
		snprintf(name, sizeof(name), "%s%s%s", rows[i].name,
		    rows[i].arg != NULL ? "=" : "",
		    rows[i].arg != NULL ? rows[i].arg : "");
		printf("  %s--%-*s %s\n", rows[i].letter != 0 ? letter : none,
		    width, name, rows[i].help);
	}
}

enum status
usage_complain(const char *program, const char *about, const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program, about, what);
	return E_REFUSED;
}

static enum status
lacks_unit(const char *program, const char *name, const char *value,
    const char *low, const char *high)
{
	fprintf(stderr,
	    "%s: --%s %s: a unit is missing (did you mean %s%s or %s%s?)\n",
	    program, name, value, value, low, value, high);
	return E_REFUSED;
}

enum status
usage_bad_value(
    const char *program, const struct usage_row *row, const char *value)
{
	if (strcmp(row->arg, "SIZE") == 0 && parse_lacks_unit(value))
		return lacks_unit(program, row->name, value, "k", "M");
	if (strcmp(row->arg, "TIME") == 0 && parse_lacks_unit(value))
		return lacks_unit(program, row->name, value, "ms", "s");
	fprintf(stderr, "%s: invalid value \"%s\" for --%s=%s: %s\n", program,
	    value, row->name, row->arg, row->help);
	return E_REFUSED;
}
