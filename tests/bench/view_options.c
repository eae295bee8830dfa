/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tests/bench/program.h"
#include "tests/bench/view.h"

#define OPTIONS_TABLE "tests/bench/view.tbl.h"
#define OPTIONS_STRUCT struct view_options
#include "common/option_rows.h"

static const struct option_table table = {
	.program = "viewgen",
	.usage = "viewgen --live=PORT [OPTION]...\n"
		 "The load is described as for loadgen.\n",
	.rows = rows,
	.n = N_OPTIONS,
};

void
view_options_parse(struct view_options *o, int argc, char **argv)
{
	*o = (struct view_options){
		.shape = { 1, 0, 4, 1000, 256 * 1024, 0 },
		.viewers = 1,
		.piece = 256 * 1024,
		.host = "127.0.0.1",
	};
	program_options(&table, o, argc, argv);
	if (o->live == 0)
		program_bad_usage("where to?");
	o->relay = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons((in_port_t)o->live),
		.sin_addr = program_address(o->host) };
}
