/* SPDX-License-Identifier: MIT */
/*
 * The options of one command, of the table that OPTIONS_TABLE names. Included
 * once by its source, behind PROGRAM and OPTIONS_TABLE; set_option() and
 * print_usage() are there, too. HAS_COMMAND: as arguments.h has it.
 */
#ifndef TOOLS_FTRACE_COMMAND_OPTIONS_H
#define TOOLS_FTRACE_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/client/option_rows.h"
#include "tools/ftrace/arguments.h"

#ifndef HAS_COMMAND
#define HAS_COMMAND false
#endif

static bool set_option(void *arg, size_t i, const char *value);
static void print_usage(void);

/* What set_option() makes of the command line is in ARG; argv[*FIRST] is the
 * first word that is no option. False: the command ends with *STATUS. */
static bool
read_options(void *arg, int argc, char **argv, int *first, int *status)
{
	const struct arguments a = { .program = PROGRAM,
		.rows = rows,
		.n_rows = N_OPTIONS,
		.set = set_option,
		.print_usage = print_usage,
		.has_command = HAS_COMMAND,
		.arg = arg };
	const enum status st = arguments_parse(&a, argc, argv, first);

	*status = st == E_EXISTS ? 0 : EXIT_USAGE;
	return st == OK;
}

#endif
