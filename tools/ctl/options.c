/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ctl/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/near.h"
#include "common/parse.h"
#include "tools/client/usage.h"

#define PROGRAM "tracepulse"
#define SECONDS_MAX 3600.0
/* Options of each command. */
#define OF_ALL                                                 \
	(UINT32_C(1) << OPT_URL | UINT32_C(1) << OPT_TIMEOUT | \
	    UINT32_C(1) << OPT_HELP | UINT32_C(1) << OPT_VERSION)

static const struct usage_row option_rows[] = {
#define OPTION(id, letter, name, arg, help) { letter, name, arg, help },
#include "tools/ctl/options.tbl.h"
#undef OPTION
};

static const struct {
	const char *name, *operand, *help;
	uint32_t options;
} command_rows[] = {
#define COMMAND(name, operand, options, help) { #name, operand, help, options },
#include "tools/ctl/commands.tbl.h"
#undef COMMAND
};

const char *const sort_key_names[N_SORT_KEYS] = { "rate", "received", "lost",
	"viewers", "held", "age", "name" };

static void
print_commands(void)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		char words[64];

		snprintf(words, sizeof(words), "%s %s", command_rows[i].name,
		    command_rows[i].operand == NULL ? ""
						    : command_rows[i].operand);
		printf("  %-20s %s\n", words, command_rows[i].help);
	}
	printf("  %-20s %s\n\n", "help [COMMAND]",
	    "print this, or the options of one command");
}

/* COMMAND: N_COMMANDS is all of them. */
static void
print_help(enum ctl_command command)
{
	struct usage_row rows[N_OPTIONS];
	const char *operand = NULL;
	uint32_t options = UINT32_MAX;
	size_t n = 0;

	if (command == N_COMMANDS) {
		printf("Usage: " PROGRAM " COMMAND [OPTION]...\n"
		       "Shows what a tracepulse-relayd does.\n\n");
		print_commands();
	} else {
		operand = command_rows[command].operand;
		options = OF_ALL | command_rows[command].options;
		printf("Usage: " PROGRAM " %s [OPTION]...%s%s%s\n%c%s.\n\n",
		    command_rows[command].name, operand == NULL ? "" : " ",
		    operand == NULL ? "" : operand,
		    command == COMMAND_watch ? " [-- ARGUMENT...]" : "",
		    toupper((unsigned char)command_rows[command].help[0]),
		    command_rows[command].help + 1);
	}
	if (command == N_COMMANDS || operand != NULL)
		printf("SESSION is a number, NAME or HOST/NAME.\n");
	if (command == COMMAND_watch)
		printf("It may be a pattern, such as 'web*' or 'box/*'.\n");
	if (command == N_COMMANDS || operand != NULL)
		putchar('\n');
	for (size_t i = 0; i < N_OPTIONS; i++)
		if ((options >> i & 1) != 0)
			rows[n++] = option_rows[i];
	usage_print_rows(rows, n, 24);
	printf("\nSee " PROGRAM "(1).\n");
}

static enum status
complain(const char *about, const char *what)
{
	return usage_complain(PROGRAM, about, what);
}

static bool
take_seconds(const char *arg, double least, unsigned *ms)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end != '\0' || !(v >= least) || v > SECONDS_MAX)
		return false;
	*ms = (unsigned)(v * 1000);
	return true;
}

static bool
take_percent(const char *arg, double *out)
{
	char *end;

	*out = strtod(arg, &end);
	if (end != arg && *end == '%')
		end++;
	return end != arg && *end == '\0' && *out >= 0 && *out <= 100;
}

static bool
take_key(const char *arg, enum sort_key *out)
{
	for (enum sort_key k = 0; k < N_SORT_KEYS; k++)
		if (strcmp(arg, sort_key_names[k]) == 0) {
			*out = k;
			return true;
		}
	return false;
}

static bool
take_value(struct ctl_options *o, enum ctl_option id, const char *arg)
{
	switch (id) {
	case OPT_TIMEOUT:
		return take_seconds(arg, 0.1, &o->timeout_ms);
	case OPT_HOST:
		o->host = arg;
		return *arg != '\0';
	case OPT_SORT:
		return take_key(arg, &o->sort);
	case OPT_INTERVAL:
		return take_seconds(arg, 0.1, &o->interval_ms);
	case OPT_COUNT:
		return parse_u64(arg, 1, UINT64_MAX, &o->count) == OK;
	case OPT_RECENT:
		return parse_u64(arg, 0, 1000, &o->recent) == OK;
	case OPT_STATE:
		o->state = arg;
		return *arg != '\0';
	case OPT_LOST_WARNING:
		return parse_u64(arg, 1, UINT64_MAX, &o->lost_warning) == OK;
	case OPT_LOST_CRITICAL:
		return parse_u64(arg, 1, UINT64_MAX, &o->lost_critical) == OK;
	case OPT_DISK_WARNING:
		return take_percent(arg, &o->disk_warning);
	case OPT_DISK_CRITICAL:
		return take_percent(arg, &o->disk_critical);
	default:
		return false;
	}
}

static bool
take_option(struct ctl_options *o, enum ctl_option id, const char *arg,
    const char **url)
{
	switch (id) {
	case OPT_URL:
		*url = arg;
		return true;
	case OPT_JSON:
		return o->json = true;
	case OPT_LONG:
		return o->is_long = true;
	case OPT_ALL:
		return o->all = true;
	case OPT_NAMES:
		return o->names = true;
	case OPT_DRY_RUN:
		return o->dry_run = true;
	case OPT_NO:
		return o->no = true;
	case OPT_HELP:
		return o->is_done = true;
	case OPT_VERSION:
		printf(PROGRAM " " PACKAGE_VERSION "\n");
		return o->is_done = true;
	default:
		return take_value(o, id, arg);
	}
}

static enum ctl_command
find_command(const char *name)
{
	enum ctl_command c = 0;

	if (strcmp(name, "ls") == 0)
		return COMMAND_sessions;
	while (c < N_COMMANDS && strcmp(command_rows[c].name, name) != 0)
		c++;
	return c;
}

static enum status
unknown_command(const char *name)
{
	unsigned near = UINT32_MAX, d;
	const char *hint = NULL;
	char text[NEAR_WORD_MAX + 64];

	for (size_t i = 0; i < N_COMMANDS; i++) {
		d = near_distance(name, command_rows[i].name);
		if (d < near && near_enough(name, d)) {
			near = d;
			hint = command_rows[i].name;
		}
	}
	if (hint == NULL)
		return complain(name, "unknown command (see " PROGRAM " help)");
	snprintf(
	    text, sizeof(text), "unknown command (did you mean %s?)", hint);
	return complain(name, text);
}

/* WORDS, N of them: what is not an option. Of "help status" and "status --help"
 * the command is status. */
static enum status
help(char **words, int n)
{
	enum ctl_command c = N_COMMANDS;

	if (n > 0 && strcmp(words[0], "help") == 0) {
		words++;
		n--;
	}
	if (n > 0) {
		c = find_command(words[0]);
		if (c == N_COMMANDS && strcmp(words[0], "help") != 0)
			return unknown_command(words[0]);
	}
	print_help(c);
	return OK;
}

/* WORDS: what is not an option, the command first. */
static enum status
take_words(struct ctl_options *o, char **words, int n)
{
	const char *operand = command_rows[o->command].operand;

	if (operand == NULL && n > 1)
		return complain(words[1], "unexpected argument");
	/* --host may choose sessions, too. */
	if (operand != NULL && n < 2 && o->host == NULL)
		return complain(
		    command_rows[o->command].name, "a SESSION is missing");
	if (n > 2 && o->command != COMMAND_watch)
		return complain(words[2], "unexpected argument");
	o->operands = words + 1;
	o->n_operands = (size_t)n - 1;
	return OK;
}

static enum status
choose_url(struct ctl_options *o, const char *url)
{
	const char *variable = getenv("TRACEPULSE_URL"), *why;

	if (url == NULL && variable != NULL && *variable != '\0')
		url = variable;
	if (url == NULL)
		url = ADDRESS_DEFAULT;
	return address_parse(&o->address, url, &why) == OK ? OK
							   : complain(url, why);
}

/* Are these options (bits) those of the command? */
static enum status
fit_options(const struct ctl_options *o, uint32_t given)
{
	for (unsigned id = 0; id < N_OPTIONS; id++)
		if ((given & ~OF_ALL & ~command_rows[o->command].options) >>
			id &
		    1) {
			char text[64];

			snprintf(text, sizeof(text), "unknown option --%s",
			    option_rows[id].name);
			return complain(command_rows[o->command].name, text);
		}
	return OK;
}

static void
make_longs(struct option longs[N_OPTIONS + 1], char shorts[2 * N_OPTIONS + 1])
{
	memset(longs, 0, (N_OPTIONS + 1) * sizeof(longs[0]));
	for (int i = 0; i < N_OPTIONS; i++) {
		const struct usage_row *r = &option_rows[i];

		longs[i] = (struct option){ .name = r->name,
			.has_arg = r->arg != NULL,
			.val = r->letter != 0 ? r->letter : 256 + i };
		if (r->letter == 0)
			continue;
		*shorts++ = r->letter;
		if (r->arg != NULL)
			*shorts++ = ':';
	}
	*shorts = '\0';
}

static enum ctl_option
option_of(int c)
{
	enum ctl_option id = 0;

	if (c >= 256)
		return (enum ctl_option)(c - 256);
	while (id < N_OPTIONS && option_rows[id].letter != c)
		id++;
	return id;
}

static enum status
read_options(struct ctl_options *o, int argc, char **argv, uint32_t *given,
    const char **url)
{
	struct option longs[N_OPTIONS + 1];
	char shorts[2 * N_OPTIONS + 1];
	int c;

	make_longs(longs, shorts);
	optind = 0; /* from the start, also in a test's second round */
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const enum ctl_option id = option_of(c);

		if (c == '?' || id == N_OPTIONS)
			return E_REFUSED; /* getopt has said why */
		if (!take_option(o, id, optarg, url))
			return usage_bad_value(
			    PROGRAM, &option_rows[id], optarg);
		*given |= UINT32_C(1) << id;
	}
	return OK;
}

/* What is behind "--" is not ours; the number of words before it. */
static int
cut_at_dashes(struct ctl_options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0) {
			o->more = argv + i + 1;
			return i;
		}
	return argc;
}

enum status
ctl_options_parse(struct ctl_options *o, int argc, char **argv)
{
	const char *url = NULL;
	uint32_t given = 0;
	enum status st;
	int n;

	_Static_assert(N_OPTIONS <= 32, "bits of a mask");
	*o = (struct ctl_options){ .command = N_COMMANDS,
		.timeout_ms = 10000,
		.interval_ms = 1000,
		.lost_warning = 1,
		.lost_critical = UINT64_MAX,
		.disk_warning = 4,
		.disk_critical = 2 };
	n = cut_at_dashes(o, argc, argv);
	/* Whose exit status it is must be known also when an option is wrong.
	 */
	for (int i = 1; i < n && o->command == N_COMMANDS; i++)
		o->command = find_command(argv[i]);
	st = read_options(o, n, argv, &given, &url);
	if (st != OK || (given & UINT32_C(1) << OPT_VERSION) != 0)
		return st;
	if (o->is_done || (optind < n && strcmp(argv[optind], "help") == 0)) {
		o->is_done = true;
		return help(argv + optind, n - optind);
	}
	if (optind >= n)
		return complain("no command given", "see " PROGRAM " help");
	o->command = find_command(argv[optind]);
	if (o->command == N_COMMANDS)
		return unknown_command(argv[optind]);
	if (o->more != NULL && o->command != COMMAND_watch)
		return complain("--", "only watch passes arguments on");
	st = fit_options(o, given);
	if (st == OK)
		st = take_words(o, argv + optind, n - optind);
	return st == OK ? choose_url(o, url) : st;
}
