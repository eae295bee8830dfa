/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/command.h"

#include <sys/resource.h>

#include "tools/ftrace/dial.h"

bool
command_parse(const struct option_table *t, void *options, int argc,
    char **argv, int most, struct option_words *words, int *status)
{
	enum status st = option_parse(t, options, argc, argv, words);

	if (st == OK && !words->is_done && argc - words->first > most)
		st = option_refuse(
		    t, "unexpected argument \"%s\"", argv[words->first + most]);
	*status = st == OK ? 0 : EXIT_USAGE;
	return st == OK && !words->is_done;
}

enum status
command_take_address(const struct option_row *r, void *to, const char *arg)
{
	(void)r;
	*(const char **)to = arg;
	return dial_is_address(arg) ? OK : E_MALFORMED;
}

uint64_t
command_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 256;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}
