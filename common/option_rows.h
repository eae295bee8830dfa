/* SPDX-License-Identifier: MIT */
/*
 * The options of one program or command. Included once by its source, after
 * OPTIONS_TABLE, the name of the table, and OPTIONS_STRUCT, where the values
 *go. Makes enum option_id, with OPT_ID for each row and N_OPTIONS after the
 *last, and rows[]. A row of the table is OPTION(ID, LETTER, NAME, ARGUMENT,
 *KIND, HELP) as in struct option_row. KIND is one of those below; OWN(FUNCTION)
 *calls a function of the source with the whole struct.
 */
#ifndef COMMON_OPTION_ROWS_H
#define COMMON_OPTION_ROWS_H

#include "common/option.h"

enum option_id {
#define OPTION(id, letter, name, arg, kind, help) OPT_##id,
#include OPTIONS_TABLE
#undef OPTION
	N_OPTIONS
};

/* The offset of FIELD. If it does not have the type TYPE, the compiler warns.
 */
#define OPTION_PLACE(field, type)                          \
	(offsetof(OPTIONS_STRUCT, field) +                 \
	    0 * sizeof(&((OPTIONS_STRUCT *)NULL)->field == \
		       (__typeof__(type) *)NULL))
#define OPTION_AT(kind, field, type) \
	.take = option_take_##kind, .at = OPTION_PLACE(field, type)

#define FLAG(field) OPTION_AT(flag, field, bool)
#define TEXT(field) OPTION_AT(text, field, const char *)
#define NUMBER(field, least, most) \
	OPTION_AT(number, field, unsigned), .min = least, .max = most
#define COUNT(field, least, most) \
	OPTION_AT(count, field, uint64_t), .min = least, .max = most
#define DECIMAL(field, least, most) \
	OPTION_AT(decimal, field, double), .min = least, .max = most
#define SIZE(field, least, most) \
	OPTION_AT(size, field, uint64_t), .min = least, .max = most
#define TIME(field, least, most) \
	OPTION_AT(time, field, uint64_t), .min = least, .max = most
#define CHOICE(field) OPTION_AT(choice, field, unsigned)
#define OWN(function) .take = function
#define PRINT .take = NULL /* --help, --version */

static const struct option_row rows[] = {
#define OPTION(id, short_name, long_name, argument, kind, text) \
	{ .letter = short_name,                                 \
		.name = long_name,                              \
		.arg = argument,                                \
		.help = text,                                   \
		kind },
#include OPTIONS_TABLE
#undef OPTION
};

#endif
