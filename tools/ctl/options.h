/* SPDX-License-Identifier: MIT */
/* The command line of tracepulse; its tables are options.tbl.h and
 * commands.tbl.h. */
#ifndef TOOLS_CTL_OPTIONS_H
#define TOOLS_CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ctl/address.h"

enum ctl_command {
#define COMMAND(name, operand, options, help) COMMAND_##name,
#include "tools/ctl/commands.tbl.h"
#undef COMMAND
	N_COMMANDS
};

enum sort_key {
	SORT_RATE,
	SORT_RECEIVED,
	SORT_LOST,
	SORT_VIEWERS,
	SORT_HELD,
	SORT_AGE,
	SORT_NAME,
	N_SORT_KEYS
};
extern const char *const sort_key_names[N_SORT_KEYS];

/* An option that may be given more than once. */
#define CTL_LIST_MAX 32
struct ctl_list {
	const char *all[CTL_LIST_MAX];
	size_t n;
};

struct ctl_options {
	bool is_done; /* help or version was printed: exit with status 0 */
	enum ctl_command command; /* N_COMMANDS: none was recognised */
	char *const *operands;
	size_t n_operands;
	char **more;	 /* after "--", for babeltrace2; ends with NULL */
	const char *url; /* NULL: the default */
	struct address address;
	unsigned timeout_ms;
	bool json, is_long, all, names, dry_run, no;
	const char *host, *state; /* NULL: none */
	bool text, wait, follow_name;
	const char *perfetto; /* NULL: none */
	bool has_since;
	uint64_t since_ns; /* since the epoch */
	struct ctl_list events, filters;
	enum sort_key sort;
	unsigned interval_ms;
	uint64_t count;	 /* 0: without end */
	uint64_t recent; /* events */
	uint64_t lost_warning, lost_critical;
	double disk_warning, disk_critical; /* per cent */
};

/* Fills *O; strings point into ARGV or the environment. Not OK: a message is on
 * stderr. */
enum status ctl_options_parse(
    struct ctl_options *o, int argc, char **argv) MUST_CHECK;

#endif
