/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "common/relpath.h"
#include "proto/udp.h"
#include "tools/client/usage.h"

#define LIVE_TIMER_US 1000000
#define OUTSTANDING_MAX 65536
/* The relay appends the date, "-20261122-133000". */
#define SESSION_NAME_MOST (NAME_MAX - 16)
#define LINGER_MAX_S (365.0 * 86400)

#define OPTIONS_TABLE "tools/send/options.tbl.h"
#include "tools/client/option_rows.h"

static void
print_usage(void)
{
	printf("Usage: tracepulse-send [OPTION]... TRACE-DIR... URL\n"
	       "Streams CTF 1.8 traces to an LTTng relay.\n\n");
	usage_print_rows(rows, N_OPTIONS, 26);
	printf("\nURL is net://HOST[:CONTROL-PORT[:DATA-PORT]][/PATH].\n"
	       "See tracepulse-send(1).\n");
}

static enum status
complain(const char *what, const char *about)
{
	return usage_complain("tracepulse-send", about, what);
}

static bool
parse_seconds(const char *arg, uint64_t *ms)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end != '\0' || !(v >= 0) || v > LINGER_MAX_S)
		return false;
	*ms = (uint64_t)(v * 1000);
	return true;
}

static bool
parse_u32(const char *arg, uint64_t most, uint32_t *out)
{
	uint64_t v;

	if (parse_u64(arg, 1, most, &v) != OK)
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool
parse_probability(const char *arg, double *out)
{
	char *end;

	*out = strtod(arg, &end);
	return end != arg && *end == '\0' && *out >= 0 && *out <= 1;
}

static bool
set_udp(struct send_options *o, enum option_id id, const char *arg)
{
	uint64_t n;

	switch (id) {
	case OPT_UDP:
		return o->udp = true;
	case OPT_RESEND:
		return o->udp = o->resend = true;
	case OPT_FRAGMENT:
		if (parse_u64(arg, UDP_FRAGMENT_MIN, UDP_FRAGMENT_MAX, &n) !=
		    OK)
			return false;
		o->fragment = (uint32_t)n;
		return true;
	case OPT_GAP_TIMEOUT:
		return parse_u64(arg, 1, UINT32_MAX, &o->gap_timeout_us) == OK;
	case OPT_SEED:
		return parse_u64(arg, 0, UINT64_MAX, &o->badnet.seed) == OK;
	case OPT_DROP:
		return parse_probability(arg, &o->badnet.drop);
	case OPT_DUPLICATE:
		return parse_probability(arg, &o->badnet.duplicate);
	case OPT_CORRUPT:
		return parse_probability(arg, &o->badnet.corrupt);
	case OPT_REORDER:
		return parse_u32(arg, BADNET_DEPTH_MAX, &o->badnet.depth);
	default:
		return false;
	}
}

static bool
set(struct send_options *o, enum option_id id, const char *arg)
{
	switch (id) {
	case OPT_SESSION:
		o->session = arg;
		return true;
	case OPT_HOSTNAME:
		o->hostname = arg;
		return true;
	case OPT_LIVE:
		if (o->live_timer_us == 0)
			o->live_timer_us = LIVE_TIMER_US;
		return true;
	case OPT_LIVE_TIMER:
		return parse_u32(arg, UINT32_MAX, &o->live_timer_us);
	case OPT_REALTIME:
		return o->realtime = true;
	case OPT_LINGER:
		return parse_seconds(arg, &o->linger_ms);
	case OPT_LOOP:
		return parse_u64(arg, 0, UINT64_MAX, &o->loop) == OK;
	case OPT_RATE:
		return parse_size(arg, 0, UINT64_MAX, &o->rate) == OK;
	case OPT_OUTSTANDING:
		return parse_u32(arg, OUTSTANDING_MAX, &o->outstanding);
	case OPT_JSON:
		return o->json = true;
	case OPT_QUIET:
		return o->quiet = true;
	case OPT_HELP:
		print_usage();
		return o->is_done = true;
	case OPT_VERSION:
		printf("tracepulse-send " PACKAGE_VERSION "\n");
		return o->is_done = true;
	default:
		return set_udp(o, id, arg);
	}
}

/* NAME becomes a folder in the relay, of at most MOST bytes. NULL: as by
 * default. */
static enum status
check_name(const char *option, const char *name, size_t most)
{
	struct relpath *path;
	char why[64];
	enum status st;

	if (name == NULL)
		return OK;
	if (strchr(name, '/') != NULL)
		return complain("a name has no slash", option);
	if (strlen(name) > most) {
		snprintf(why, sizeof(why), "longer than %zu bytes", most);
		return complain(why, option);
	}
	st = relname_parse(&path, (struct span){ name, strlen(name) });
	relpath_free(path);
	if (st == E_MALFORMED)
		return complain(
		    "a name is text without control characters, and "
		    "neither empty nor \".\" nor \"..\"",
		    option);
	return st;
}

static enum status
take_operands(struct send_options *o, int n, char **operands)
{
	const char *why;

	if (badnet_is_bad(&o->badnet) && !o->udp)
		return complain("without --udp there is no bad channel",
		    "--drop, --duplicate, --reorder, --corrupt");
	if (check_name("--session", o->session, SESSION_NAME_MOST) != OK ||
	    check_name("--hostname", o->hostname, NAME_MAX) != OK)
		return E_REFUSED;
	if (n < 2)
		return complain("needs one TRACE-DIR at least, and a URL; "
				"see --help",
		    "arguments");
	o->directories = operands;
	o->n_directories = (unsigned)n - 1;
	if (url_parse(&o->url, operands[n - 1], &why) != OK)
		return complain(why, operands[n - 1]);
	return OK;
}

enum status
send_options_parse(struct send_options *o, int argc, char **argv)
{
	struct option longs[N_OPTIONS + 1] = { 0 };
	int c, row;

	*o = (struct send_options){ .loop = 1, .badnet = { .seed = 1 } };
	for (size_t i = 0; i < N_OPTIONS; i++)
		longs[i] = (struct option){ .name = rows[i].name,
			.has_arg = rows[i].arg != NULL };
	optind = 1;
	while ((c = getopt_long(argc, argv, "", longs, &row)) == 0) {
		if (!set(o, (enum option_id)row, optarg))
			return usage_bad_value(
			    "tracepulse-send", &rows[row], optarg);
		if (o->is_done)
			return OK;
	}
	if (c != -1)
		return E_REFUSED; /* getopt has said why */
	return take_operands(o, argc - optind, argv + optind);
}
