/* SPDX-License-Identifier: MIT */
#include "config.h"

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
	.usage =
	    "tracepulse-send [OPTION]... SOURCE SINK\n"
	    "Sends CTF 1.8 traces on.\n"
	    "\n"
	    "SOURCE is one of:\n"
	    "  TRACE-DIR...\n"
	    "  net://HOST[:LIVE-PORT]/host/HOSTNAME/SESSION\n"
	    "  --all net://HOST[:LIVE-PORT]\n"
	    "  --group=NAME kafka://BROKER[:PORT][,BROKER[:PORT]].../TOPIC\n"
	    "SINK is one of:\n"
	    "  net://HOST[:CONTROL-PORT[:DATA-PORT]][/PATH]\n"
	    "  kafka://BROKER[:PORT][,BROKER[:PORT]].../TOPIC\n",
	.more = "\nSee tracepulse-send(1).\n",
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
check_kafka_url(struct kafka_url *u, const char *text)
{
	const char *why;

#ifndef HAVE_KAFKA
	return option_refuse(
	    &table, "%s: this program was built without librdkafka", text);
#endif
	if (kafka_url_parse(u, text, &why) != OK)
		return option_refuse(&table, "%s: %s", text, why);
	return OK;
}

/* A sink that is not a relay. */
static enum status
check_no_relay(uint64_t given)
{
	static const unsigned of_relays[] = { OPT_RATE, OPT_UDP, OPT_RESEND,
		OPT_FRAGMENT, OPT_GAP_TIMEOUT, OPT_OUTSTANDING };

	return option_only(
	    &table, given, of_relays, ARRAY_LEN(of_relays), "a relay");
}

/* A source that is not directories. */
static enum status
check_no_traces(const struct send_options *o, uint64_t given)
{
	static const unsigned of_traces[] = { OPT_SESSION, OPT_HOSTNAME,
		OPT_LIVE, OPT_LIVE_TIMER, OPT_REALTIME, OPT_FOLLOW,
		OPT_QUIET_AFTER, OPT_LINGER, OPT_LOOP };

	if (o->n_directories != 1)
		return option_refuse(
		    &table, "unexpected argument \"%s\"", o->directories[1]);
	return option_only(
	    &table, given, of_traces, ARRAY_LEN(of_traces), "a TRACE-DIR");
}

static enum status
check_from_kafka(struct send_options *o, uint64_t given)
{
	if (o->group == NULL)
		return option_refuse(&table, "a topic requires --group");
	if (check_no_traces(o, given) != OK)
		return E_REFUSED;
	return check_kafka_url(&o->kafka_from, o->directories[0]);
}

/* The source is live sessions of a relay. */
static enum status
check_from_live(struct send_options *o, uint64_t given)
{
	const char *why, *text = o->directories[0];
	char *slash;

	if (check_no_traces(o, given) != OK)
		return E_REFUSED;
	if (url_parse_live(&o->from, text, &why) != OK)
		return option_refuse(&table, "%s: %s", text, why);
	o->from_text = text;
	if (o->all && o->from.path[0] != '\0')
		return option_refuse(
		    &table, "%s names one session, --all means all", text);
	if (o->all)
		return OK;
	slash = strncmp(o->from.path, "host/", strlen("host/")) != 0
		    ? NULL
		    : strchr(o->from.path + strlen("host/"), '/');
	if (slash == NULL || slash[1] == '\0' || strchr(slash + 1, '/') != NULL)
		return option_refuse(&table,
		    "%s: which session? net://HOST/host/HOSTNAME/SESSION, or "
		    "--all",
		    text);
	*slash = '\0';
	o->from_host = o->from.path + strlen("host/");
	o->from_session = slash + 1;
	return OK;
}

static enum status
check_source(struct send_options *o, uint64_t given)
{
	const char *text = o->directories[0];

	if (o->group != NULL && !kafka_url_is(text))
		return option_refuse(
		    &table, "--group requires a topic to read");
	if (o->all && !url_is(text))
		return option_refuse(
		    &table, "--all is for the sessions of a relay, net://HOST");
	if (kafka_url_is(text))
		return check_from_kafka(o, given);
	return url_is(text) ? check_from_live(o, given) : OK;
}

static enum status
check_sink(struct send_options *o, const char *to, uint64_t given)
{
	const char *const from = o->directories[0];
	const char *why;

	if (send_sink_address(&o->sink, to, &why) != OK)
		return option_refuse(&table, "%s: %s", to, why);
	if (o->group == NULL && o->sink.target != SEND_TOPIC &&
	    o->sink.kafka_config != NULL)
		return option_refuse(
		    &table, "--kafka-config requires a kafka:// URL");
	if (o->sink.target == SEND_RELAY)
		return OK;
	/* Directories are copied by others. */
	if (o->sink.target == SEND_DIR && !url_is(from) && !kafka_url_is(from))
		return option_refuse(&table,
		    "%s: traces in directories go to net:// or kafka://", to);
	return check_no_relay(given);
}

/* A relay knows what it has; a topic does not. A finished trace begins anew. */
static enum status
check_state(struct send_options *o)
{
	const bool is_continued = o->from_text != NULL || o->group != NULL;

	if (o->state == NULL || o->follow) /* which keeps it itself */
		return OK;
	o->sink.kafka_state = o->state;
	if (is_continued && o->sink.target == SEND_TOPIC)
		return OK;
	return option_refuse(&table, "--state requires --follow, or a topic "
				     "that live sessions go to");
}

static enum status
check(struct send_options *o, uint64_t given, int n, char **operands)
{
	static const unsigned bad_network[] = { OPT_DROP, OPT_DUPLICATE,
		OPT_REORDER, OPT_CORRUPT };
	static const unsigned of_follow[] = { OPT_QUIET_AFTER };

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
	o->sink.udp |= o->sink.resend;
	if (!o->sink.udp && badnet_is_bad(&o->sink.badnet) &&
	    option_need(&table, given, bad_network, ARRAY_LEN(bad_network),
		OPT_UDP) != OK)
		return E_REFUSED;
	if (check_name("--session", o->session, SESSION_NAME_MOST) != OK ||
	    check_name("--hostname", o->hostname, NAME_MAX) != OK)
		return E_REFUSED;
	if (n < 2)
		return option_refuse(
		    &table, "a SOURCE and a SINK are required; see --help");
	o->directories = operands;
	o->n_directories = (unsigned)n - 1;
	if (check_source(o, given) != OK ||
	    check_sink(o, operands[n - 1], given) != OK)
		return E_REFUSED;
	return check_state(o);
}

enum status
send_options_parse(struct send_options *o, int argc, char **argv)
{
	struct option_words words;
	enum status st;

	*o = (struct send_options){ .loop = 1,
		.sink = { .program = table.program, .badnet = { .seed = 1 } } };
	st = option_parse(&table, o, argc, argv, &words);
	o->is_done = words.is_done;
	if (st != OK || o->is_done)
		return st;
	return check(o, words.given, argc - words.first, argv + words.first);
}
