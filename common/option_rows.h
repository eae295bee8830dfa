/* SPDX-License-Identifier: MIT */
/*
 * The options of one program or command. Included once by its source, after
 * OPTIONS_TABLE, the name of the table, and OPTIONS_STRUCT, where the values
 * go. Makes enum option_id, with OPT_ID for each row and N_OPTIONS after the
 * last, unless OPTIONS_HAS_IDS says that a header has done it; and rows[]. A
 * row of the table is OPTION(ID, LETTER, NAME, ARGUMENT, KIND, HELP) as in
 * struct option_row. KIND is one of those below; OWN(FUNCTION) calls a function
 * of the source with the whole struct.
 */
#ifndef COMMON_OPTION_ROWS_H
#define COMMON_OPTION_ROWS_H

#include "common/option.h"

#ifndef OPTIONS_HAS_IDS
enum option_id {
#define OPTION(id, letter, name, arg, kind, help) OPT_##id,
#include OPTIONS_TABLE
#undef OPTION
	N_OPTIONS
};
#endif

/* The offset of FIELD. The compiler warns if its type is not TYPE. */
#define OPTION_PLACE(field, type)                          \
	(offsetof(OPTIONS_STRUCT, field) +                 \
	    0 * sizeof(&((OPTIONS_STRUCT *)NULL)->field == \
		       (__typeof__(type) *)NULL))
#define OPTION_AT(kind, field, type) \
	.take = option_take_##kind, .at = OPTION_PLACE(field, type)
#define OPTION_SHOWN(kind, field, type) \
	OPTION_AT(kind, field, type), .show = option_show_##kind

#define FLAG(field) OPTION_SHOWN(flag, field, bool)
#define TEXT(field) OPTION_AT(text, field, const char *)
#define NUMBER(field, least, most) \
	OPTION_SHOWN(number, field, unsigned), .min = least, .max = most
#define COUNT(field, least, most) \
	OPTION_AT(count, field, uint64_t), .min = least, .max = most
#define DECIMAL(field, least, most) \
	OPTION_AT(decimal, field, double), .min = least, .max = most
#define SIZE(field, least, most)                                        \
	OPTION_SHOWN(size, field, uint64_t), .min = least, .max = most, \
					     .units = OPTION_SIZE_UNITS
#define TIME(field, least, most)                                        \
	OPTION_SHOWN(time, field, uint64_t), .min = least, .max = most, \
					     .units = OPTION_TIME_UNITS
#define CHOICE(field) OPTION_SHOWN(choice, field, unsigned)
#define OWN(function) .take = function
#define PRINT .take = NULL /* --help, --version */
/* Begins a group of rows in --help. */
#define GROUP(title, ...) __VA_ARGS__, .group = title

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
