/* SPDX-License-Identifier: MIT */
/* The sub-commands of tracepulse-ftrace, and how they read their options. */
#ifndef TOOLS_FTRACE_COMMAND_H
#define TOOLS_FTRACE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "tools/client/usage.h"

#define EXIT_USAGE 2

/* ARGV[0] is the sub-command's name. Each returns the exit status; messages go
 * to stderr. */
int command_broker(int argc, char **argv);
int command_connect(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_flush(int argc, char **argv);
int command_list(int argc, char **argv);
int command_listen(int argc, char **argv);
int command_reach(int argc, char **argv);
int command_record(int argc, char **argv);

/* The most options of one sub-command. */
#define COMMAND_ROWS 64

struct command {
	const char *program; /* "tracepulse-ftrace listen" */
	const char *usage;   /* for --help: what stands before the options */
	const struct usage_row *rows;
	size_t n_rows;
	/* Called for each option given, except --help: I is its row, VALUE its
	 * argument or NULL. False: the value is not valid. */
	bool (*set)(void *arg, size_t i, const char *value);
	/* The first word that is not an option begins another program's command
	 * line. */
	bool has_command;
};

/* Reads the command line; ARG is passed to C->set(). The first word that is not
 * an option is argv[*FIRST]. False: exit with *STATUS, --help or a message was
 * printed. */
bool command_parse(const struct command *c, void *arg, int argc, char **argv,
    int *first, int *status) MUST_CHECK;
/* Prints what is wrong with the command line, in printf's words. Returns
 * EXIT_USAGE. */
int command_refuse(const struct command *c, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

/* Raises the limit of open descriptors as far as it goes; returns the limit. */
uint64_t command_raise_descriptors(void);

#endif
