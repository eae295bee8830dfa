/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/command.h"

#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* The width of the first column of --help. */
#define COLUMN 24
/* What getopt_long() returns for the long option of the first row. */
#define FIRST_ROW 256

/* Fill the tables that getopt_long() takes. */
static void
fill(const struct command *c, struct option *longs, char *letters)
{
	for (size_t i = 0; i < c->n_rows; i++) {
		const struct usage_row *row = &c->rows[i];

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
find_row(const struct command *c, int value)
{
	size_t i = 0;

	if (value >= FIRST_ROW)
		return (size_t)(value - FIRST_ROW);
	while (i < c->n_rows && c->rows[i].letter != value)
		i++;
	return i;
}

bool
command_parse(const struct command *c, void *arg, int argc, char **argv,
    int *first, int *status)
{
	struct option longs[COMMAND_ROWS + 1] = { 0 };
	char letters[2 * COMMAND_ROWS + 2] = "+";
	int value;

	assert(c->n_rows <= COMMAND_ROWS);
	fill(c, longs, letters + c->has_command);
	*status = EXIT_USAGE;
	optind = 1;
	while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const size_t i = find_row(c, value);

		if (i == c->n_rows)
			return false; /* getopt_long() has printed why */
		if (strcmp(c->rows[i].name, "help") == 0) {
			printf("Usage: %s\n", c->usage);
			usage_print_rows(c->rows, c->n_rows, COLUMN);
			printf("\nSee tracepulse-ftrace(1).\n");
			*status = 0;
			return false;
		}
		if (!c->set(arg, i, optarg))
			return usage_bad_value(
				   c->program, &c->rows[i], optarg) == OK;
	}
	*first = optind;
	return true;
}

int
command_refuse(const struct command *c, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", c->program);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; see --help\n");
	return EXIT_USAGE;
}

uint64_t
command_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 256;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}
