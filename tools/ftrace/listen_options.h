/* SPDX-License-Identifier: MIT */
/* What "tracepulse-ftrace listen" was asked for; the rows are in
 * listen_options.tbl.h. */
#ifndef TOOLS_FTRACE_LISTEN_OPTIONS_H
#define TOOLS_FTRACE_LISTEN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/live.h"

/* Behind those of the relay, which are 5340 to 5344. */
#define LISTEN_PORT 5346
/* From where the stock listener searches, to below the relay's. */
#define LISTEN_DATA_FIRST 1500
#define LISTEN_DATA_LAST 5339

struct listen_options {
	bool is_done; /* printed what was asked for: exit with status 0 */
	uint16_t port, data_first, data_last;
	const char *directory, *prefix;
	const char *log, *pid_file, *bind; /* NULL: none */
	bool is_daemon, has_no_file;
	unsigned verbosity;
	bool is_live; /* --relay */
	struct live_config live;
};

/* Fills *O; strings point into ARGV. Not OK: a message is on stderr; exit
 * with EXIT_USAGE. */
enum status listen_options_parse(
    struct listen_options *o, int argc, char **argv) MUST_CHECK;

#endif
