/* SPDX-License-Identifier: MIT */
/* What a program says of its command line: --help, and what is wrong. */
#ifndef TOOLS_CLIENT_USAGE_H
#define TOOLS_CLIENT_USAGE_H

#include <stddef.h>

#include "common/compiler.h"
#include "common/status.h"

/* One option. */
struct usage_row {
	char letter;		       /* 0: it has no short name */
	const char *name, *arg, *help; /* ARG: NULL if it takes none */
};

/* The rows of --help, the first column so many characters wide. */
void usage_print_rows(const struct usage_row *rows, size_t n, int width);

/* Each is one line on stderr, and E_REFUSED. */
enum status usage_complain(
    const char *program, const char *about, const char *what) MUST_CHECK;
/* VALUE is not what the option ROW takes, which the line says. */
enum status usage_bad_value(const char *program, const struct usage_row *row,
    const char *value) MUST_CHECK;

#endif
