/* SPDX-License-Identifier: MIT */
/* Shared by the commands of tracepulse. Main thread. */
#ifndef TOOLS_CTL_CTL_H
#define TOOLS_CTL_CTL_H

#include <jansson.h>
#include <stdbool.h>

#include "common/compiler.h"
#include "tools/ctl/fetch.h"
#include "tools/ctl/options.h"
#include "tools/ctl/terminal.h"

/* Exit statuses; those of check are in check.c. */
#define CTL_OK 0
#define CTL_FAILED 1
#define CTL_USAGE 2

/* Thousands of sessions cost the relay time: for a command that asks again and
 * again, its answers may take at most one in this many parts of the time. */
#define CTL_ASK_PART 4

struct ctl {
	struct ctl_options options;
	struct address admin; /* the relay's admin socket, once it is in use */
	struct fetch *fetch;
	struct terminal terminal;
};

/* One for each command: command_status() ... They return the exit status. */
#define COMMAND(name, operand, options, help) int command_##name(struct ctl *c);
#include "tools/ctl/commands.tbl.h"
#undef COMMAND

/* Print "tracepulse: ..." on standard error. Returns CTL_FAILED. Text from a
 * peer must be escaped. */
int ctl_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Print what fetch_error() says. Returns CTL_FAILED. */
int ctl_fail_fetch(const struct ctl *c);
/* Print J for scripts. Returns the exit status. */
int ctl_print_json(const struct ctl *c, const json_t *j);

/* Returns P, unless it is NULL: ends the program for lack of memory. */
void *ctl_memory(void *p);
/* Format as printf(3), into memory that the caller frees. */
char *ctl_text(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Is TEXT NAME or HOST/NAME? */
bool ctl_is_called(const char *text, const char *host, const char *name);
/* Print a line HOST/NAME for scripts and completions, but no name that must be
 * escaped: a user could not type it. */
void ctl_print_name(const char *host, const char *name);

/* Print a line "LABEL  text"; the text is escaped and cut at 1 KiB. */
void ctl_line(const struct ctl *c, const char *label, enum tone tone,
    const char *fmt, ...) PRINTF_LIKE(4, 5);

#endif
