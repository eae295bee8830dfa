/* SPDX-License-Identifier: MIT */
/*
 * The options of one program or command, of the table that OPTIONS_TABLE names:
 * enum option_id with OPT_ID of each and N_OPTIONS behind the last, and rows[],
 * which --help prints. Included once by its source, behind OPTIONS_TABLE. A row
 * of the table is OPTION(ID, LETTER, NAME, ARG, HELP), as in struct usage_row.
 */
#ifndef TOOLS_CLIENT_OPTION_ROWS_H
#define TOOLS_CLIENT_OPTION_ROWS_H

#include "tools/client/usage.h"

enum option_id {
#define OPTION(id, letter, name, arg, help) OPT_##id,
#include OPTIONS_TABLE
#undef OPTION
	N_OPTIONS
};

static const struct usage_row rows[] = {
#define OPTION(id, letter, name, arg, help) { letter, name, arg, help },
#include OPTIONS_TABLE
#undef OPTION
};

#endif
