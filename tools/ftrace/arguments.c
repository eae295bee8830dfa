/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/arguments.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* What getopt returns for the first row. */
#define FIRST_ROW 256

/* The tables that getopt_long() wants. */
static void
fill(const struct arguments *a, struct option *longs, char *letters)
{
	for (size_t i = 0; i < a->n_rows; i++) {
		const struct usage_row *row = &a->rows[i];

		longs[i] = (struct option){ .name = row->name,
			.has_arg = row->arg != NULL,
			.val = FIRST_ROW + (int)i };
		if (row->letter == 0)
			continue;
		*letters++ = row->letter;
		if (row->arg != NULL)
			*letters++ = ':';
	}
	*letters = '\0';
}

static size_t
row_of(const struct arguments *a, int c)
{
	size_t i = 0;

	if (c >= FIRST_ROW)
		return (size_t)(c - FIRST_ROW);
	while (i < a->n_rows && a->rows[i].letter != c)
		i++;
	return i;
}

enum status
arguments_parse(const struct arguments *a, int argc, char **argv, int *first)
{
	struct option longs[ARGUMENTS_ROWS + 1] = { 0 };
	char letters[2 * ARGUMENTS_ROWS + 2] = "+";
	int c;

	assert(a->n_rows <= ARGUMENTS_ROWS);
	fill(a, longs, letters + a->has_command);
	optind = 1;
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const size_t i = row_of(a, c);

		if (i == a->n_rows)
			return E_REFUSED; /* getopt has said why */
		if (strcmp(a->rows[i].name, "help") == 0) {
			a->print_usage();
			return E_EXISTS;
		}
		if (!a->set(a->arg, i, optarg))
			return usage_bad_value(a->program, &a->rows[i], optarg);
	}
	*first = optind;
	return OK;
}
