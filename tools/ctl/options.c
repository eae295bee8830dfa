/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ctl/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/near.h"
#include "common/option.h"
#include "tools/ctl/since.h"

#define PROGRAM "tracepulse"
#define SECONDS_MAX 3600.0
/* Options of each command. */
#define OF_ALL                                                 \
	(UINT32_C(1) << OPT_URL | UINT32_C(1) << OPT_TIMEOUT | \
	    UINT32_C(1) << OPT_HELP | UINT32_C(1) << OPT_VERSION)

static enum status
take_seconds(const struct option_row *r, void *to, const char *arg)
{
	char *end;
	const double v = strtod(arg, &end);

	(void)r;
	if (end == arg || *end != '\0' || !(v >= 0.1) || v > SECONDS_MAX)
		return E_MALFORMED;
	*(unsigned *)to = (unsigned)(v * 1000);
	return OK;
}

static enum status
take_percent(const struct option_row *r, void *to, const char *arg)
{
	double *out = to;
	char *end;

	(void)r;
	*out = strtod(arg, &end);
	if (end != arg && *end == '%')
		end++;
	return end != arg && *end == '\0' && *out >= 0 && *out <= 100
		   ? OK
		   : E_MALFORMED;
}

static enum status
take_sort(const struct option_row *r, void *to, const char *arg)
{
	struct ctl_options *o = to;

	(void)r;
	for (enum sort_key k = 0; k < N_SORT_KEYS; k++)
		if (strcmp(arg, sort_key_names[k]) == 0) {
			o->sort = k;
			return OK;
		}
	return E_MALFORMED;
}

static enum status
take_since(const struct option_row *r, void *to, const char *arg)
{
	struct ctl_options *o = to;

	(void)r;
	o->has_since = true;
	return since_parse(arg, clock_wall_ns(), &o->since_ns);
}

static enum status
append(struct ctl_list *list, const char *text)
{
	if (list->n == CTL_LIST_MAX || *text == '\0')
		return E_MALFORMED;
	list->all[list->n++] = text;
	return OK;
}

static enum status
take_event(const struct option_row *r, void *to, const char *arg)
{
	(void)r;
	return append(&((struct ctl_options *)to)->events, arg);
}

static enum status
take_filter(const struct option_row *r, void *to, const char *arg)
{
	const char *equals = strchr(arg, '=');

	(void)r;
	return equals == NULL || equals == arg
		   ? E_MALFORMED
		   : append(&((struct ctl_options *)to)->filters, arg);
}

#define OPTIONS_TABLE "tools/ctl/options.tbl.h"
#define OPTIONS_STRUCT struct ctl_options
#define SECONDS(field) .take = take_seconds, .at = OPTION_PLACE(field, unsigned)
#define PERCENT(field) .take = take_percent, .at = OPTION_PLACE(field, double)
#include "common/option_rows.h"

static const struct option_table table = {
	.program = PROGRAM, .rows = rows, .n = N_OPTIONS
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
	struct option_row some[N_OPTIONS];
	const char *operand = NULL;
	uint32_t options = UINT32_MAX;
	unsigned n = 0;
	bool has_session;

	if (command == N_COMMANDS) {
		printf("Usage: " PROGRAM " COMMAND [OPTION]...\n"
		       "Shows the state of a tracepulse-relayd.\n\n");
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
	has_session = command == N_COMMANDS ||
		      (operand != NULL && strstr(operand, "SESSION") != NULL);
	if (has_session)
		printf("SESSION is a number, NAME or HOST/NAME.\n");
	if (command == COMMAND_watch || command == COMMAND_tail)
		printf("It may be a pattern, such as 'web*' or 'box/*'.\n");
	if (has_session)
		putchar('\n');
	for (size_t i = 0; i < N_OPTIONS; i++)
		if ((options >> i & 1) != 0)
			some[n++] = rows[i];
	option_print_rows(some, n);
	printf("\nSee " PROGRAM "(1).\n");
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

	for (size_t i = 0; i < N_COMMANDS; i++) {
		d = near_distance(name, command_rows[i].name);
		if (d < near && near_enough(name, d)) {
			near = d;
			hint = command_rows[i].name;
		}
	}
	if (hint == NULL)
		return option_refuse(&table,
		    "unknown command \"%s\"; see " PROGRAM " help", name);
	return option_refuse(&table,
	    "unknown command \"%s\" (did you mean \"%s\"?)", name, hint);
}

/* WORDS, N of them: what is not an option. In "help status" and "status --help"
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
	bool has_any;
	int most;

	if (operand == NULL && n > 1)
		return option_refuse(
		    &table, "unexpected argument \"%s\"; see --help", words[1]);
	/* --host and --all of tail may select sessions, too. */
	has_any = o->host != NULL || (o->command == COMMAND_tail && o->all);
	if (o->command == COMMAND_export ? n < 3
					 : operand != NULL && n < 2 && !has_any)
		return option_refuse(&table, "%s requires %s; see --help",
		    command_rows[o->command].name,
		    o->command == COMMAND_export ? operand : "a SESSION");
	most = strstr(operand != NULL ? operand : "", "...") != NULL ? n
	       : o->command == COMMAND_get ? 3
					   : 2;
	if (n > most)
		return option_refuse(&table,
		    "unexpected argument \"%s\"; see --help", words[most]);
	o->operands = words + 1;
	o->n_operands = (size_t)n - 1;
	return OK;
}

static enum status
choose_url(struct ctl_options *o)
{
	const char *variable = getenv("TRACEPULSE_URL"), *why;
	const char *url = o->url;

	if (url == NULL && variable != NULL && *variable != '\0')
		url = variable;
	if (url == NULL)
		url = ADDRESS_DEFAULT;
	return address_parse(&o->address, url, &why) == OK
		   ? OK
		   : option_refuse(&table, "%s: %s", url, why);
}

/* Does the command have these options (bits)? */
static enum status
fit_options(const struct ctl_options *o, uint32_t given)
{
	for (unsigned id = 0; id < N_OPTIONS; id++)
		if ((given & ~OF_ALL & ~command_rows[o->command].options) >>
			id &
		    1)
			return option_refuse(&table,
			    "--%s cannot be used with %s; see --help",
			    rows[id].name, command_rows[o->command].name);
	return OK;
}

/* Arguments after "--" are not ours. Returns the number of words before it. */
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
	struct option_words words;
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
	/* Set the command before parsing: it decides the exit status of bad
	 * options too. */
	for (int i = 1; i < n && o->command == N_COMMANDS; i++)
		o->command = find_command(argv[i]);
	st = option_parse(&table, o, n, argv, &words);
	if (st != OK)
		return st;
	if (words.is_done) {
		o->is_done = true;
		return OK;
	}
	argv += words.first;
	n -= words.first;
	if (o->is_done || (n > 0 && strcmp(argv[0], "help") == 0)) {
		o->is_done = true;
		return help(argv, n);
	}
	if (n <= 0)
		return option_refuse(
		    &table, "no command given; see " PROGRAM " help");
	o->command = find_command(argv[0]);
	if (o->command == N_COMMANDS)
		return unknown_command(argv[0]);
	if (o->more != NULL && o->command != COMMAND_watch)
		return option_refuse(
		    &table, "only watch accepts arguments after --");
	st = fit_options(o, (uint32_t)words.given);
	if (st == OK && o->command == COMMAND_tail &&
	    o->json + o->text + (o->perfetto != NULL) > 1)
		st = option_refuse(&table,
		    "only one of --json, --text and --perfetto can be given");
	if (st == OK)
		st = take_words(o, argv, n);
	return st == OK ? choose_url(o) : st;
}
