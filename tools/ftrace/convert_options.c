/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/convert_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/client/usage.h"
#include "tools/ftrace/arguments.h"

#define PROGRAM "tracepulse-ftrace convert"
#define COLUMN 26

#define OPTIONS_TABLE "tools/ftrace/convert_options.tbl.h"
#include "tools/client/option_rows.h"

static void
print_help(void)
{
	printf("Usage: " PROGRAM " [OPTION]... FILE DIRECTORY\n"
	       "       " PROGRAM " [OPTION]... FILE --relay=URL\n"
	       "A trace.dat of trace-cmd as a trace in CTF 1.8.\n\n");
	usage_print_rows(rows, N_OPTIONS, COLUMN);
}

bool
convert_options_names(const char *text, enum ctf_names *out)
{
	*out = strcmp(text, "lttng") == 0 ? CTF_NAMES_LTTNG : CTF_NAMES_SYSTEM;
	return *out == CTF_NAMES_LTTNG || strcmp(text, "system:event") == 0;
}

static bool
set_offset_ns(struct convert_options *o, const char *value)
{
	char *end;

	errno = 0;
	o->offset_ns = strtoll(value, &end, 10);
	o->has_offset = errno == 0 && end != value && *end == '\0' &&
			o->offset_ns <= CTF_OFFSET_MAX &&
			o->offset_ns >= -CTF_OFFSET_MAX;
	return o->has_offset;
}

static bool
set(void *arg, size_t i, const char *value)
{
	struct convert_options *o = arg;

	switch ((enum option_id)i) {
	case OPT_NAMES:
		return convert_options_names(value, &o->names);
	case OPT_CLOCK_OFFSET:
		return set_offset_ns(o, value);
	case OPT_RELAY:
		o->relay = value;
		return true;
	case OPT_SESSION:
		(void)snprintf(o->session, sizeof(o->session), "%s", value);
		return value[0] != '\0' && strlen(value) < sizeof(o->session);
	case OPT_QUIET:
		return o->is_quiet = true;
	case OPT_HELP:
	case N_OPTIONS:
		break;
	}
	return false;
}

/* The name of the file, without its end. */
static void
name_session(struct convert_options *o)
{
	const char *base = strrchr(o->file, '/');
	const size_t most = sizeof(o->session) - 1;
	size_t n;

	base = base == NULL ? o->file : base + 1;
	n = strlen(base);
	if (n > 4 && strcmp(base + n - 4, ".dat") == 0)
		n -= 4;
	(void)snprintf(o->session, sizeof(o->session), "%.*s",
	    (int)(n < most ? n : most), base);
}

static enum status
check_words(struct convert_options *o, int n_words, char **words)
{
	const char *why;

	if (n_words < 1)
		return usage_complain(PROGRAM, "FILE", "is needed; see --help");
	o->file = words[0];
	if (n_words > 2)
		return usage_complain(PROGRAM, words[2], "is one too many");
	o->directory = n_words == 2 ? words[1] : NULL;
	if ((o->directory == NULL) == (o->relay == NULL))
		return usage_complain(PROGRAM, "DIRECTORY, --relay",
		    "one of them is needed, and only one");
	if (o->relay == NULL && o->session[0] != '\0')
		return usage_complain(PROGRAM, "--session", "is of --relay");
	if (o->session[0] == '\0')
		name_session(o);
	if (o->relay != NULL && url_parse(&o->url, o->relay, &why) != OK)
		return usage_complain(PROGRAM, o->relay, why);
	return OK;
}

enum status
convert_options_parse(struct convert_options *o, int argc, char **argv)
{
	const struct arguments a = { .program = PROGRAM,
		.rows = rows,
		.n_rows = N_OPTIONS,
		.set = set,
		.print_usage = print_help,
		.arg = o };
	enum status st;
	int first;

	*o = (struct convert_options){ 0 };
	st = arguments_parse(&a, argc, argv, &first);
	return st == OK ? check_words(o, argc - first, argv + first) : st;
}
