/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace: kernel traces of trace-cmd, stored and live. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "tools/ftrace/command.h"

int
main(int argc, char **argv)
{
	int status;

	if (argc < 2) {
		fprintf(stderr,
		    "tracepulse-ftrace: a command is needed; see --help\n");
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return command_help(1, argv + 1);
	if (strcmp(argv[1], "--version") == 0) {
		printf("tracepulse-ftrace " PACKAGE_VERSION "\n");
		return 0;
	}
	status = command_run(argc - 1, argv + 1);
	log_report_suppressed();
	return status;
}
