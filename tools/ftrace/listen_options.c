/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/listen_options.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/parse.h"
#include "tools/ftrace/arguments.h"
#include "tools/ftrace/convert.h"

#define PROGRAM "tracepulse-ftrace listen"
#define PREFIX_BYTES 64
/* Who waits longer may as well read the file. */
#define HOLD_S_MAX 3600

#define OPTIONS_TABLE "tools/ftrace/listen_options.tbl.h"
#include "tools/client/option_rows.h"

static void
print_usage(void)
{
	printf("Usage: " PROGRAM " [OPTION]...\n"
	       "Receives what \"trace-cmd record -N HOST:PORT\" sends.\n\n");
	usage_print_rows(rows, N_OPTIONS, 24);
	printf("\nSee tracepulse-ftrace(1).\n");
}

static bool
set_port(uint16_t *out, const char *text, uint64_t least)
{
	uint64_t v;

	if (parse_u64(text, least, UINT16_MAX, &v) != OK)
		return false;
	*out = (uint16_t)v;
	return true;
}

/* FIRST-LAST */
static bool
set_ports(struct listen_options *o, const char *text)
{
	const char *dash = strchr(text, '-');
	char first[8];

	if (dash == NULL || (size_t)(dash - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	return set_port(&o->data_first, first, 1) &&
	       set_port(&o->data_last, dash + 1, 1) &&
	       o->data_first <= o->data_last;
}

/* One component of a path, which -d stands before. */
static bool
set_prefix(struct listen_options *o, const char *text)
{
	o->prefix = text;
	return *text != '\0' && *text != '.' && strlen(text) < PREFIX_BYTES &&
	       strchr(text, '/') == NULL;
}

static bool
set_text(const char **out, const char *text)
{
	*out = text;
	return *text != '\0';
}

static bool
set_relay(struct listen_options *o, const char *text)
{
	const char *why;

	o->is_live = true;
	return url_parse(&o->live.url, text, &why) == OK;
}

static bool
set_option(void *arg, size_t i, const char *value)
{
	struct listen_options *o = arg;

	switch ((enum option_id)i) {
	case OPT_PORT:
		return set_port(&o->port, value, 0);
	case OPT_DIRECTORY:
		return set_text(&o->directory, value);
	case OPT_PREFIX:
		return set_prefix(o, value);
	case OPT_DAEMON:
		return o->is_daemon = true;
	case OPT_LOG:
		return set_text(&o->log, value);
	case OPT_BIND:
		return set_text(&o->bind, value);
	case OPT_DATA_PORTS:
		return set_ports(o, value);
	case OPT_RELAY:
		return set_relay(o, value);
	case OPT_UDP:
		return o->live.udp = true;
	case OPT_HOLD:
		return parse_duration(value, HOLD_S_MAX * NS_PER_S,
			   &o->live.hold_ns) == OK;
	case OPT_NAMES:
		return convert_options_names(value, &o->live.names);
	case OPT_NO_FILE:
		return o->has_no_file = true;
	case OPT_PID_FILE:
		return set_text(&o->pid_file, value);
	case OPT_VERBOSE:
		o->verbosity++;
		return true;
	default:
		return false;
	}
}

enum status
listen_options_parse(struct listen_options *o, int argc, char **argv)
{
	const struct arguments a = { .program = PROGRAM,
		.rows = rows,
		.n_rows = N_OPTIONS,
		.set = set_option,
		.print_usage = print_usage,
		.arg = o };
	enum status st;
	int first;

	*o = (struct listen_options){ .port = LISTEN_PORT,
		.data_first = LISTEN_DATA_FIRST,
		.data_last = LISTEN_DATA_LAST,
		.directory = ".",
		.prefix = "trace",
		.live.hold_ns = LIVE_HOLD_AUTO };
	st = arguments_parse(&a, argc, argv, &first);
	if (st == E_EXISTS) {
		o->is_done = true;
		return OK;
	}
	if (st != OK)
		return st;
	if (first < argc)
		return usage_complain(
		    PROGRAM, argv[first], "is no option; see --help");
	if (!o->is_live && o->live.udp)
		return usage_complain(PROGRAM, "--udp", "is of --relay");
	return OK;
}
