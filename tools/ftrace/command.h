/* SPDX-License-Identifier: MIT */
/* What the sub-commands of tracepulse-ftrace are called with. */
#ifndef TOOLS_FTRACE_COMMAND_H
#define TOOLS_FTRACE_COMMAND_H

#include <stdint.h>

#define EXIT_USAGE 2

/* ARGV[0] is the sub-command's name. The exit status; messages are on
 * stderr. */
#define COMMAND(name, help) int command_##name(int argc, char **argv);
#include "tools/ftrace/commands.tbl.h"
#undef COMMAND

/* The sub-command ARGV[0]; EXIT_USAGE if there is none of that name. */
int command_run(int argc, char **argv);

/* For one with a socket for each CPU: as many descriptors as there may be; how
 * many. */
uint64_t command_raise_descriptors(void);

#endif
