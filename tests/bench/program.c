/* SPDX-License-Identifier: MIT */
#include "tests/bench/program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static void
say(const char *fmt, va_list ap, const char *end)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, ap);
	fputs(end, stderr);
}

void
program_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap, "\n");
	va_end(ap);
	exit(1);
}

void
program_bad_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap, " (--help says more)\n");
	va_end(ap);
	exit(2);
}

void
program_options(const struct option_table *t, void *o, int argc, char **argv)
{
	struct option_words words;

	if (option_parse(t, o, argc, argv, &words) != OK)
		exit(2);
	if (words.is_done)
		exit(0);
	if (words.first < argc)
		program_bad_usage("%s: not an option", argv[words.first]);
}

struct in_addr
program_address(const char *text)
{
	struct in_addr a;

	if (inet_pton(AF_INET, text, &a) != 1)
		program_bad_usage("%s: not an IPv4 address", text);
	return a;
}

void
program_raise_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}
