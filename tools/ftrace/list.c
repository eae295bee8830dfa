/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace list: prints the guests that a broker knows. */
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/link.h"
#include "tools/ftrace/loop.h"
#include "tools/ftrace/token.h"

#define PROGRAM "tracepulse-ftrace list"
#define OPTIONS_TABLE "tools/ftrace/list_options.tbl.h"
#include "tools/client/option_rows.h"

struct listing {
	struct event_base *base;
	struct background *names;
	struct link *link;
	const char *broker, *token_file;
	bool is_good; /* the broker has answered "ok" */
};

static bool
set_option(void *arg, size_t i, const char *value)
{
	struct listing *l = arg;

	switch ((enum option_id)i) {
	case OPT_BROKER:
		l->broker = value;
		return dial_is_address(value);
	case OPT_TOKEN_FILE:
		l->token_file = value;
		return *value != '\0';
	default:
		return false;
	}
}

static const struct command command = {
	.program = PROGRAM,
	.usage = PROGRAM
	" --broker HOST:PORT --token-file FILE\n"
	"Prints each guest: name, ready or busy, CPUs, address.\n",
	.rows = rows,
	.n_rows = N_OPTIONS,
	.set = set_option,
};

/* The first line is the broker's answer, the others are guests. Characters that
 * are not printable are replaced: a broker is not trusted. */
static void
on_line(void *arg, char *line)
{
	struct listing *l = arg;

	for (char *c = line; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (l->is_good) {
		printf("%s\n", line);
	} else if (strcmp(line, "ok") == 0) {
		l->is_good = true;
	} else {
		log_error("the broker refuses: %s", link_why(line));
		(void)event_base_loopbreak(l->base);
	}
}

static void
on_ended(void *arg)
{
	struct listing *l = arg;

	if (!l->is_good && link_is_connected(l->link))
		log_error("the broker does not answer");
	(void)event_base_loopbreak(l->base);
}

static const struct link_ops broker_ops = { .line = on_line,
	.ended = on_ended };

static int
ask(struct listing *l)
{
	char token[TOKEN_BYTES];
	int status = 1;

	if (token_read(token, l->token_file) != OK)
		return 1;
	l->base = event_base_new();
	if (l->base == NULL)
		return 1;
	if (background_create(&l->names, l->base, DIAL_THREADS) == OK &&
	    link_dial(&l->link, l->base, l->names, l->broker, &broker_ops, l) ==
		OK) {
		link_hear_lines(l->link);
		link_line(l->link, "list %s\n", token);
		(void)event_base_dispatch(l->base);
		status = !l->is_good;
	}
	link_destroy(l->link);
	background_destroy(l->names);
	event_base_free(l->base);
	return status;
}

int
command_list(int argc, char **argv)
{
	struct listing l = { 0 };
	int first, status;

	if (!command_parse(&command, &l, argc, argv, &first, &status))
		return status;
	if (first < argc)
		return command_refuse(
		    &command, "unexpected argument \"%s\"", argv[first]);
	if (l.broker == NULL || l.token_file == NULL)
		return command_refuse(
		    &command, "--broker and --token-file are required");
	return ask(&l);
}
