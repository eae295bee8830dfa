/* SPDX-License-Identifier: MIT */
/* The sub-commands of tracepulse-ftrace, and what their options share. */
#ifndef TOOLS_FTRACE_COMMAND_H
#define TOOLS_FTRACE_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/option.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/tcp_port.h"
#include "tools/ftrace/token.h"

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

/* The rows of struct option_table for command NAME; the source has the rows of
 * its options. */
#define COMMAND_TABLE(command, text)                    \
	.program = "tracepulse-ftrace " command,        \
	.usage = "tracepulse-ftrace " command " " text, \
	.more = "\nSee tracepulse-ftrace(1).\n", .rows = rows, .n = N_OPTIONS
#define COMMAND_NEEDS(option) (UINT64_C(1) << OPT_##option)

/* Stores the options of T in OPTIONS. NEEDED has COMMAND_NEEDS() of those that
 * must be given. From argv[WORDS->first] on at most MOST operands may follow.
 * Returns COMMAND_RUNS, or the exit status: help or a message was printed. */
#define COMMAND_RUNS (-1)
int command_parse(const struct option_table *t, void *options, int argc,
    char **argv, uint64_t needed, int most,
    struct option_words *words) MUST_CHECK;
/* The same for operands that are names of guests, at least one. */
int command_parse_names(const struct option_table *t, void *options, int argc,
    char **argv, uint64_t needed, int most,
    struct option_words *words) MUST_CHECK;

/* Reads the token and starts the loop of a command that uses a broker; STOP as
 * for command_loop_catch_signals(). Failures are logged. */
enum status command_start(struct command_loop *loop, char token[TOKEN_BYTES],
    const char *token_file, event_callback_fn stop, void *arg) MUST_CHECK;

/* Kinds of options: an address as in tcp_port.h (const char *); and where to
 * listen, an address of this machine without a port, vsock:CID:PORT or
 * unix:PATH (struct command_bind). */
struct command_bind {
	const char *host;	       /* as for address_bind() */
	unsigned port;		       /* 0: any */
	char vsock[ADDRESS_HOST_SIZE]; /* may be HOST */
};
enum status command_take_bind(
    const struct option_row *r, void *to, const char *arg) MUST_CHECK;
#define BIND_TO(field)             \
	.take = command_take_bind, \
	.at = OPTION_PLACE(field, struct command_bind)
enum status command_take_address(
    const struct option_row *r, void *to, const char *arg) MUST_CHECK;
#define ADDRESS(field) \
	.take = command_take_address, .at = OPTION_PLACE(field, const char *)

#endif
