/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace connect: on, or beside, a guest. It dials out to the
 * broker, and hands what comes from there to the guest's agent. */
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/agent_end.h"
#include "tools/ftrace/background.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/stops.h"
#include "tools/ftrace/token.h"

#define PROGRAM "tracepulse-ftrace connect"
#define OPTIONS_TABLE "tools/ftrace/connect_options.tbl.h"
#include "tools/ftrace/command_options.h"

struct connection {
	struct agent_end_config end;
	const char *broker, *token_file;
	char token[TOKEN_BYTES];
};

static enum status
open_link(void *arg, struct link **out, const struct link_ops *ops, void *end)
{
	const struct connection *c = arg;

	return link_dial(out, c->end.base, c->end.names, c->broker, ops, end);
}

static void
print_usage(void)
{
	printf("Usage: " PROGRAM " NAME --broker HOST:PORT --token-file FILE "
	       "[OPTION]...\n"
	       "Makes the agent of trace-cmd on this machine known.\n\n");
	usage_print_rows(rows, N_OPTIONS, 24);
}

static bool
set_option(void *arg, size_t i, const char *value)
{
	struct connection *c = arg;
	uint64_t cpus;

	switch ((enum option_id)i) {
	case OPT_BROKER:
		c->broker = value;
		return dial_is_address(value);
	case OPT_AGENT:
		c->end.agent = value;
		return dial_is_address(value);
	case OPT_TOKEN_FILE:
		c->token_file = value;
		return *value != '\0';
	case OPT_CPUS:
		if (parse_u64(value, 0, 65536, &cpus) != OK)
			return false;
		c->end.cpus = (unsigned)cpus;
		return true;
	default:
		return false;
	}
}

/* Again and again, until somebody stops it. */
static int
serve(struct connection *c)
{
	enum status st = token_read(c->token, c->token_file);
	struct agent_end *end = NULL;
	struct stops stops = { 0 };

	c->end.base = event_base_new();
	if (c->end.base == NULL)
		return 1;
	c->end.token = c->token;
	if (st == OK)
		st = background_create(
		    &c->end.names, c->end.base, DIAL_THREADS);
	if (st == OK)
		st = stops_add(&stops, c->end.base, NULL, NULL);
	if (st == OK)
		st = agent_end_create(&end, &c->end);
	if (st == OK)
		(void)event_base_dispatch(c->end.base);
	agent_end_destroy(end);
	background_destroy(c->end.names);
	stops_remove(&stops);
	event_base_free(c->end.base);
	return st == OK ? 0 : 1;
}

int
command_connect(int argc, char **argv)
{
	struct connection c = { .end = { .agent = "127.0.0.1:823",
				    .cpus = (unsigned)sysconf(
					_SC_NPROCESSORS_CONF),
				    .open = open_link } };
	int first, status;

	if (!read_options(&c, argc, argv, &first, &status))
		return status;
	if (first + 1 != argc || !token_is_name(argv[first]) ||
	    c.broker == NULL || c.token_file == NULL) {
		fprintf(stderr,
		    PROGRAM ": a name of letters, digits and .-_, "
			    "--broker and --token-file are needed\n");
		return EXIT_USAGE;
	}
	log_set_level(LOG_NOTICE);
	(void)command_raise_descriptors();
	c.end.name = argv[first];
	c.end.arg = &c;
	return serve(&c);
}
