/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/command.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/compiler.h"
#include "common/near.h"

static const struct command {
	const char *name, *help;
	int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND(name, help) { #name, help, command_##name },
#include "tools/ftrace/commands.tbl.h"
#undef COMMAND
};

static const struct command *
find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static void
print_commands(void)
{
	printf("Usage: tracepulse-ftrace COMMAND [OPTION]...\n"
	       "Kernel traces of trace-cmd, stored and live.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].help);
	printf("\nSee tracepulse-ftrace(1).\n");
}

int
command_help(int argc, char **argv)
{
	char help[] = "--help";
	char *arguments[] = { argc > 1 ? argv[1] : NULL, help, NULL };

	if (argc > 1 && *argv[1] != '-' && strcmp(argv[1], "help") != 0)
		return command_run(2, arguments);
	print_commands();
	return 0;
}

int
command_run(int argc, char **argv)
{
	const struct command *c = find_command(argv[0]);
	unsigned nearest = NEAR_WORD_MAX;

	if (c != NULL)
		return c->run(argc, argv);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const unsigned d = near_distance(argv[0], commands[i].name);

		if (d >= nearest)
			continue;
		nearest = d;
		c = &commands[i];
	}
	if (c != NULL && near_enough(argv[0], nearest))
		fprintf(stderr,
		    "tracepulse-ftrace: %s: is no command; did you mean %s?\n",
		    argv[0], c->name);
	else
		fprintf(stderr,
		    "tracepulse-ftrace: %s: is no command; see --help\n",
		    argv[0]);
	return EXIT_USAGE;
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
