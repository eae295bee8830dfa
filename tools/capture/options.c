/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/parse.h"
#include "tools/client/usage.h"

#define FLUSH_NS NS_PER_S
#define FLUSH_MIN_NS (10 * NS_PER_MS)
#define FLUSH_MAX_NS (60 * NS_PER_S)
#define TIME_MAX_NS (UINT64_C(366) * 86400 * NS_PER_S)

#define OPTIONS_TABLE "tools/capture/options.tbl.h"
#include "tools/client/option_rows.h"

static void
print_usage(void)
{
	printf("Usage: tracepulse-capture -i URI... [OPTION]... "
	       "--relay URL | --output DIR | --write URI\n"
	       "Makes a CTF trace of network packets.\n\n");
	usage_print_rows(rows, N_OPTIONS, 28);
	printf("\nURI is libtrace's: int:eth0, ring:eth0, pcapfile:FILE, "
	       "erf:FILE, ...\nTIME is 250ms, 2s, 1m.\n"
	       "See tracepulse-capture(1).\n");
}

static enum status
complain(const char *about, const char *what)
{
	return usage_complain("tracepulse-capture", about, what);
}

/* The place of ARG among the words of the row, which "|" separates. */
static bool
choose(enum option_id id, const char *arg, unsigned *out)
{
	const char *at = rows[id].arg;
	const size_t n = strlen(arg);

	for (*out = 0;; ++*out) {
		const size_t len = strcspn(at, "|");

		if (len == n && strncmp(at, arg, n) == 0)
			return true;
		if (at[len] == '\0')
			return false;
		at += len + 1;
	}
}

static bool
set_number(uint64_t *out, const char *arg, uint64_t least, uint64_t most)
{
	return parse_u64(arg, least, most, out) == OK;
}

static bool
set_text(const char **out, const char *arg)
{
	*out = arg;
	return *arg != '\0';
}

static bool
set_time(uint64_t *out, const char *arg, uint64_t least, uint64_t most)
{
	return parse_duration(arg, most, out) == OK && *out >= least;
}

static bool
set_choice(struct capture_options *o, enum option_id id, const char *arg)
{
	unsigned n;

	if (!choose(id, arg, &n))
		return false;
	switch (id) {
	case OPT_PAYLOAD:
		o->payload = (enum payload)n;
		return true;
	case OPT_ANON_CHECKSUMS:
		o->checksums = n == 0 ? ANON_MEND : ANON_BLANK;
		return true;
	case OPT_HASH:
		o->hash = n == 0 ? HASH_BALANCE : HASH_FLOW;
		return true;
	case OPT_ORDER:
		o->is_strict = n == 1;
		return true;
	case OPT_COMPRESS_TYPE:
		o->compression = writer_compression_parse(arg);
		return o->compression != WRITER_COMPRESSIONS;
	default:
		return false;
	}
}

static bool
set_input(struct capture_options *o, const char *arg)
{
	if (o->n_uris == CAPTURE_INPUTS_MAX || *arg == '\0')
		return false;
	o->uris[o->n_uris++] = arg;
	return true;
}

static bool
set_value(struct capture_options *o, enum option_id id, const char *arg)
{
	uint64_t n = 0;

	switch (id) {
	case OPT_SNAPLEN:
		if (!set_number(&n, arg, 0, RECORD_LEN_MAX))
			return false;
		o->snaplen = (uint32_t)n;
		return true;
	case OPT_THREADS:
		if (!set_number(&n, arg, 1, PIPELINE_THREADS_MAX))
			return false;
		o->threads = (unsigned)n;
		return true;
	case OPT_FLUSH:
		return set_time(&o->flush_ns, arg, FLUSH_MIN_NS, FLUSH_MAX_NS);
	case OPT_ROTATE_SIZE:
		return parse_size(arg, 1, UINT64_MAX, &o->rotate_bytes) == OK;
	case OPT_ROTATE_TIME:
		return set_time(&o->rotate_ns, arg, 1, TIME_MAX_NS);
	case OPT_COMPRESS:
		if (!set_number(&n, arg, 0, 9))
			return false;
		o->level = (int)n;
		return true;
	case OPT_COUNT:
		return set_number(&o->count, arg, 1, UINT64_MAX);
	case OPT_DURATION:
		return set_time(&o->duration_ns, arg, 1, TIME_MAX_NS);
	default:
		return set_choice(o, id, arg);
	}
}

static bool
set_place(struct capture_options *o, enum option_id id, const char *arg)
{
	switch (id) {
	case OPT_INPUT:
		return set_input(o, arg);
	case OPT_FILTER:
		return set_text(&o->filter, arg);
	case OPT_ANON_KEY:
		return set_text(&o->anon_key, arg);
	case OPT_RELAY:
		return set_text(&o->relay, arg);
	case OPT_SESSION:
		return set_text(&o->session, arg);
	case OPT_HOSTNAME:
		return set_text(&o->hostname, arg);
	case OPT_OUTPUT:
		return set_text(&o->output, arg);
	case OPT_WRITE:
		return set_text(&o->write, arg);
	case OPT_FROM_CTF:
		return set_text(&o->from_ctf, arg);
	default:
		return set_value(o, id, arg);
	}
}

static bool
set(struct capture_options *o, enum option_id id, const char *arg)
{
	switch (id) {
	case OPT_PROMISCUOUS:
		return o->promiscuous = true;
	case OPT_UDP:
		return o->udp = true;
	case OPT_LIVE:
		return o->live = true;
	case OPT_STATS:
		return o->stats = true;
	case OPT_JSON:
		return o->json = true;
	case OPT_QUIET:
		return o->quiet = true;
	case OPT_LIST_FORMATS:
		o->lists_formats = true;
		return o->is_done = true;
	case OPT_HELP:
		print_usage();
		return o->is_done = true;
	case OPT_VERSION:
		printf("tracepulse-capture " PACKAGE_VERSION "\n");
		return o->is_done = true;
	default:
		return set_place(o, id, arg);
	}
}

/* What belongs to one of the three outputs only. */
static enum status
check_output(struct capture_options *o)
{
	const char *why;

	if ((o->relay != NULL) + (o->output != NULL) + (o->write != NULL) != 1)
		return complain("--relay, --output, --write",
		    "one of them is needed, and only one");
	if (o->relay == NULL && (o->live || o->udp || o->session != NULL))
		return complain("--live, --udp, --session", "are of --relay");
	if (o->output == NULL && (o->rotate_bytes > 0 || o->rotate_ns > 0))
		return complain(
		    "--rotate-size, --rotate-time", "are of --output");
	if (o->write == NULL && o->level > 0)
		return complain("--compress", "is of --write");
	if (o->level == 0)
		o->compression = WRITER_PLAIN;
	if (o->relay != NULL && url_parse(&o->url, o->relay, &why) != OK)
		return complain(o->relay, why);
	return OK;
}

/* What --from-ctf goes with: the rest would change nothing. */
static enum status
check_from_ctf(uint64_t given)
{
	static const enum option_id fitting[] = { OPT_FROM_CTF, OPT_WRITE,
		OPT_COMPRESS, OPT_COMPRESS_TYPE, OPT_JSON, OPT_QUIET };
	char name[64];

	for (size_t i = 0; i < sizeof(fitting) / sizeof(*fitting); i++)
		given &= ~(UINT64_C(1) << fitting[i]);
	if (given == 0)
		return OK;
	snprintf(name, sizeof(name), "--%s", rows[__builtin_ctzll(given)].name);
	return complain(name, "does not go with --from-ctf");
}

static enum status
check(struct capture_options *o, uint64_t given)
{
	if (o->from_ctf != NULL && check_from_ctf(given) != OK)
		return E_REFUSED;
	if (o->from_ctf != NULL && o->write == NULL)
		return complain("--from-ctf", "needs --write");
	if (o->from_ctf == NULL && o->n_uris == 0)
		return complain("--input", "is needed; see --help");
	if (o->n_uris * o->threads > PIPELINE_THREADS_MAX)
		return complain(
		    "--threads", "inputs times threads may be 32 at most");
	if (o->is_strict && o->hash == HASH_FLOW && o->write == NULL)
		return complain("--hash=flow",
		    "--order=strict makes one stream of all flows");
	return check_output(o);
}

enum status
capture_options_parse(struct capture_options *o, int argc, char **argv)
{
	struct option longs[N_OPTIONS + 1] = { 0 };
	char letters[2 * N_OPTIONS + 1] = "", *at = letters;
	uint64_t given = 0; /* a bit for each option */
	int c;

	*o = (struct capture_options){ .payload = PAYLOAD_HEADERS,
		.threads = 1,
		.flush_ns = FLUSH_NS,
		.checksums = ANON_BLANK,
		.compression = WRITER_GZIP };
	for (int i = 0; i < N_OPTIONS; i++) {
		longs[i] = (struct option){ .name = rows[i].name,
			.has_arg = rows[i].arg != NULL,
			.val = 256 + i };
		if (rows[i].letter == 0)
			continue;
		*at++ = rows[i].letter;
		if (rows[i].arg != NULL)
			*at++ = ':';
	}
	*at = '\0';
	optind = 1;
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		int id = c - 256;

		for (int i = 0; c < 256 && i < N_OPTIONS; i++)
			if (rows[i].letter == c)
				id = i;
		if (id < 0)
			return E_REFUSED; /* getopt has said why */
		if (!set(o, (enum option_id)id, optarg))
			return usage_bad_value(
			    "tracepulse-capture", &rows[id], optarg);
		given |= UINT64_C(1) << id;
		if (o->is_done)
			return OK;
	}
	if (optind < argc)
		return complain(argv[optind], "is no option; see --help");
	return check(o, given);
}
