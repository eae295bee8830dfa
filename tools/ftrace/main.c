/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace: kernel traces of trace-cmd, stored and live. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/compiler.h"
#include "common/log.h"
#include "common/near.h"
#include "tools/ftrace/command.h"

static int command_help(int argc, char **argv);

/* In the order of --help. */
static const struct {
	const char *name, *help;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "listen",
	    "receive what trace-cmd record -N sends, and write it to files",
	    command_listen },
	{ "convert",
	    "convert a trace.dat to CTF, into a directory or to a relay",
	    command_convert },
	{ "flush",
	    "make the recorders of this machine send what they have, "
	    "at short intervals",
	    command_flush },
	{ "broker",
	    "register guests by name, for connect, list, reach and record",
	    command_broker },
	{ "connect", "register this machine's trace-cmd agent with a broker",
	    command_connect },
	{ "list", "print the guests that a broker knows", command_list },
	{ "record", "record guests of a broker, to files and live",
	    command_record },
	{ "reach", "open a port for trace-cmd record -A that leads to a guest",
	    command_reach },
	{ "help", "print this help, or the help of one command", command_help },
};

static int
run_command(int argc, char **argv)
{
	unsigned nearest = NEAR_WORD_MAX;
	const char *meant = NULL;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const unsigned d = near_distance(argv[0], commands[i].name);

		if (strcmp(argv[0], commands[i].name) == 0)
			return commands[i].run(argc, argv);
		if (d < nearest) {
			nearest = d;
			meant = commands[i].name;
		}
	}
	fprintf(stderr, "tracepulse-ftrace: unknown command \"%s\"", argv[0]);
	if (meant != NULL && near_enough(argv[0], nearest))
		fprintf(stderr, " (did you mean \"%s\"?)\n", meant);
	else
		fprintf(stderr, "; see --help\n");
	return EXIT_USAGE;
}

static int
command_help(int argc, char **argv)
{
	char help[] = "--help";
	char *arguments[] = { argc > 1 ? argv[1] : NULL, help, NULL };

	if (argc > 1 && *argv[1] != '-' && strcmp(argv[1], "help") != 0)
		return run_command(2, arguments);
	printf("Usage: tracepulse-ftrace COMMAND [OPTION]...\n"
	       "Kernel traces of trace-cmd, stored and live.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].help);
	printf("\nSee tracepulse-ftrace(1).\n");
	return 0;
}

int
main(int argc, char **argv)
{
	int status;

	if (argc < 2) {
		fprintf(stderr,
		    "tracepulse-ftrace: a command is required; see --help\n");
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return command_help(1, argv + 1);
	if (strcmp(argv[1], "--version") == 0) {
		printf("tracepulse-ftrace " PACKAGE_VERSION "\n");
		return 0;
	}
	status = run_command(argc - 1, argv + 1);
	log_report_suppressed();
	return status;
}
