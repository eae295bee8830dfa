/* SPDX-License-Identifier: MIT */
/* The sub-commands of tracepulse-ftrace, and what their options share. */
#ifndef TOOLS_FTRACE_COMMAND_H
#define TOOLS_FTRACE_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/option.h"

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

/* Stores the options of T in OPTIONS. At most MOST operands may follow, from
 * argv[WORDS->first] on. False: exit with *STATUS; help or a message was
 * printed. */
bool command_parse(const struct option_table *t, void *options, int argc,
    char **argv, int most, struct option_words *words, int *status) MUST_CHECK;

/* A kind of option: HOST:PORT (const char *). */
enum status command_take_address(
    const struct option_row *r, void *to, const char *arg) MUST_CHECK;
#define ADDRESS(field) \
	.take = command_take_address, .at = OPTION_PLACE(field, const char *)

/* Raises the limit of open descriptors as far as it goes; returns the limit. */
uint64_t command_raise_descriptors(void);

#endif
