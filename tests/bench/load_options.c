/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "proto/udp.h"
#include "tests/bench/load.h"
#include "tests/bench/program.h"

#define OPTIONS_TABLE "tests/bench/load.tbl.h"
#define OPTIONS_STRUCT struct load_options
#include "common/option_rows.h"

static const struct option_table table = {
	.program = "loadgen",
	.usage = "loadgen --control=PORT --data=PORT [OPTION]...   to a relay\n"
		 "       loadgen --raw=PORT [OPTION]...       to a plain sink\n"
		 "       loadgen --verify=DIR [OPTION]...     checks a tree\n",
	.rows = rows,
	.n = N_OPTIONS,
};

void
load_options_parse(struct load_options *o, int argc, char **argv)
{
	*o = (struct load_options){
		.shape = { 1, 0, 4, 1000, 256 * 1024, 0 },
		.outstanding = 16,
		.host = "127.0.0.1",
		.url = { .family = AF_INET },
	};
	program_options(&table, o, argc, argv);
	if (o->raw != 0 && (o->control != 0 || o->verify != NULL))
		program_bad_usage("--raw stands alone");
	if (o->raw == 0 && (o->control != 0) != (o->data != 0))
		program_bad_usage("--control and --data belong together");
	if (o->raw == 0 && o->control == 0 && o->verify == NULL)
		program_bad_usage("where to?");
	(void)program_address(o->host);
	(void)snprintf(o->url.host, sizeof(o->url.host), "%s", o->host);
	o->url.control = (uint16_t)o->control;
	o->url.data = (uint16_t)(o->raw != 0 ? o->raw : o->data);
}
