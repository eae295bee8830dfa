/* SPDX-License-Identifier: MIT */
#include "tools/send/options.h"

#include <limits.h>
#include <string.h>

#include "common/relpath.h"
#include "proto/udp.h"

#define LIVE_TIMER_US 1000000
#define OUTSTANDING_MAX 65536
/* The relay appends the date, "-20261122-133000". */
#define SESSION_NAME_MOST (NAME_MAX - 16)
#define LINGER_MAX_S (365 * 86400)
#define QUIET_MAX_S LINGER_MAX_S

#define OPTIONS_TABLE "tools/send/options.tbl.h"
#define OPTIONS_STRUCT struct send_options
#include "common/option_rows.h"

static const struct option_table table = {
	.program = "tracepulse-send",
	.usage = "tracepulse-send [OPTION]... TRACE-DIR... URL\n"
		 "Streams CTF 1.8 traces to an LTTng relay.\n",
	.more = "\nURL is net://HOST[:CONTROL-PORT[:DATA-PORT]][/PATH].\n"
		"See tracepulse-send(1).\n",
	.rows = rows,
	.n = N_OPTIONS,
};

/* NAME becomes a folder in the relay, of at most MOST bytes. NULL: the
 * default. */
static enum status
check_name(const char *option, const char *name, size_t most)
{
	struct relpath *path;
	enum status st;

	if (name == NULL)
		return OK;
	if (strchr(name, '/') != NULL)
		return option_refuse(&table,
		    "invalid %s \"%s\": it contains a slash", option, name);
	if (strlen(name) > most)
		return option_refuse(
		    &table, "%s is longer than %zu bytes", option, most);
	st = relname_parse(&path, (struct span){ name, strlen(name) });
	relpath_free(path);
	if (st == E_MALFORMED)
		return option_refuse(&table,
		    "invalid %s: it must be text without control characters, "
		    "and not empty, \".\" or \"..\"",
		    option);
	return st;
}

static enum status
check(struct send_options *o, uint64_t given, int n, char **operands)
{
	static const unsigned bad_network[] = { OPT_DROP, OPT_DUPLICATE,
		OPT_REORDER, OPT_CORRUPT };
	static const unsigned of_follow[] = { OPT_QUIET_AFTER, OPT_STATE };
	const char *why;

	if (!o->follow && option_need(&table, given, of_follow,
			      ARRAY_LEN(of_follow), OPT_FOLLOW) != OK)
		return E_REFUSED;
	if (o->follow && (o->realtime || o->loop != 1))
		return option_refuse(&table,
		    "--follow sends what is recorded now: --realtime and "
		    "--loop are for finished traces");
	if (o->follow && n > 2)
		return option_refuse(&table, "--follow takes one TRACE-DIR");
	o->live |= o->follow;
	if (o->live && o->live_timer_us == 0)
		o->live_timer_us = LIVE_TIMER_US;
	o->udp |= o->resend;
	if (!o->udp && badnet_is_bad(&o->badnet) &&
	    option_need(&table, given, bad_network, ARRAY_LEN(bad_network),
		OPT_UDP) != OK)
		return E_REFUSED;
	if (check_name("--session", o->session, SESSION_NAME_MOST) != OK ||
	    check_name("--hostname", o->hostname, NAME_MAX) != OK)
		return E_REFUSED;
	if (n < 2)
		return option_refuse(
		    &table, "a TRACE-DIR and a URL are required; see --help");
	o->directories = operands;
	o->n_directories = (unsigned)n - 1;
	o->to = operands[n - 1];
	if (url_parse(&o->url, o->to, &why) != OK)
		return option_refuse(&table, "%s: %s", o->to, why);
	return OK;
}

enum status
send_options_parse(struct send_options *o, int argc, char **argv)
{
	struct option_words words;
	enum status st;

	*o = (struct send_options){ .loop = 1, .badnet = { .seed = 1 } };
	st = option_parse(&table, o, argc, argv, &words);
	o->is_done = words.is_done;
	if (st != OK || o->is_done)
		return st;
	return check(o, words.given, argc - words.first, argv + words.first);
}
