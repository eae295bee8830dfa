/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace list: prints the guests that a broker knows. */
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/link.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/token.h"

struct listing {
	struct command_loop loop;
	struct link *link;
	const char *broker, *token_file;
	bool is_good; /* the broker has answered "ok" */
};

#define OPTIONS_TABLE "tools/ftrace/list_options.tbl.h"
#define OPTIONS_STRUCT struct listing
#include "common/option_rows.h"

static const struct option_table table = { COMMAND_TABLE("list",
    "--broker HOST:PORT --token-file FILE\n"
    "Prints each guest: name, ready or busy, CPUs, address.\n") };

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
		log_error("refused by the broker: %s", link_why(line));
		(void)event_base_loopbreak(l->loop.base);
	}
}

static void
on_ended(void *arg)
{
	struct listing *l = arg;

	if (!l->is_good && link_is_connected(l->link))
		log_error("the broker does not answer");
	(void)event_base_loopbreak(l->loop.base);
}

static const struct link_ops broker_ops = { .line = on_line,
	.ended = on_ended };

int
command_list(int argc, char **argv)
{
	struct listing l = { 0 };
	struct option_words words;
	char token[TOKEN_BYTES];
	const int status = command_parse(&table, &l, argc, argv,
	    COMMAND_NEEDS(BROKER) | COMMAND_NEEDS(TOKEN_FILE), 0, &words);

	if (status != COMMAND_RUNS)
		return status;
	if (command_start(&l.loop, token, l.token_file, NULL, NULL) == OK &&
	    link_dial(&l.link, &l.loop, l.broker, &broker_ops, &l) == OK) {
		link_expect_lines(l.link);
		link_line(l.link, "list %s\n", token);
		(void)event_base_dispatch(l.loop.base);
	}
	link_destroy(l.link);
	command_loop_destroy(&l.loop);
	return !l.is_good;
}
