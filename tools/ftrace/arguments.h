/* SPDX-License-Identifier: MIT */
/*
 * The command line of a sub-command: its rows are a *.tbl.h, as those of the
 * other programs. getopt(3) reads it, so words that are no options may stand
 * anywhere.
 */
#ifndef TOOLS_FTRACE_ARGUMENTS_H
#define TOOLS_FTRACE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/usage.h"

/* Options of one sub-command, at most. */
#define ARGUMENTS_ROWS 64

struct arguments {
	const char *program; /* "tracepulse-ftrace listen" */
	const struct usage_row *rows;
	size_t n_rows;
	/* The option of row I was given with this value, or NULL. False: the
	 * value is none; a message is written. */
	bool (*set)(void *arg, size_t i, const char *value);
	/* The user wants --help: row "help", which SET does not see. */
	void (*print_usage)(void);
	/* The first word that is no option begins a command, whose options are
	 * its own. */
	bool has_command;
	void *arg;
};

/* OK: the words from argv[*FIRST] on are no options. E_EXISTS: --help was
 * printed, exit with 0. Else a message is on stderr; exit with EXIT_USAGE. */
enum status arguments_parse(
    const struct arguments *a, int argc, char **argv, int *first) MUST_CHECK;

#endif
