/* SPDX-License-Identifier: MIT */
/* Shared by the files of the options: the rows of options.tbl.h. */
#ifndef RELAYD_PROCESS_OPTIONS_INTERNAL_H
#define RELAYD_PROCESS_OPTIONS_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/option.h"
#include "common/status.h"
#include "relayd/process/options.h"

/* The longest value as text. */
#define OPTION_TEXT_MAX (PATH_MAX + 64)

extern const struct option_row option_rows[N_OPTIONS];

#define MEMORY_MIN (UINT64_C(1) << 20)

/* Functions of rows that say OWN or ORDER (options_own.c). */
#define FLAG(field)
#define BOOL(field)
#define TEXT(field)
#define FILE_PATH(field)
#define NUMBER(field, least, most)
#define SIZE(field, least, most)
#define TIME(field, most)
#define URL(field)
#define RELOADED(field, ...) __VA_ARGS__
#define ORDER(name)                      \
	enum status options_take_##name( \
	    const struct option_row *r, void *to, const char *arg) MUST_CHECK;
#define OWN(name, field)                                                       \
	ORDER(name)                                                            \
	void options_show_##name(const struct option_row *r, const void *from, \
	    char *out, size_t n);
#define OPTION(id, short_name, name, arg, needs_trust, kind, help) kind
#include "relayd/process/options.tbl.h"
#undef FLAG
#undef BOOL
#undef TEXT
#undef FILE_PATH
#undef NUMBER
#undef SIZE
#undef TIME
#undef URL
#undef RELOADED
#undef ORDER
#undef OWN
#undef OPTION

/* The limit of descriptors of the process. */
unsigned options_descriptor_limit(void);
void options_show(
    const struct options *o, enum option_id id, char out[OPTION_TEXT_MAX]);

/* The source of the value that is being set; NULL: none is. */
const struct origin *options_origin(void);
#define AGE_MAX (UINT64_C(36500) * 24 * 3600 * NS_PER_S)
/* E_REFUSED, logged: --max-age is below --keep-at-least. */
enum status options_compare_ages(const struct options *o) MUST_CHECK;
/* Report an invalid value and what the option takes, see options_refuse(). */
enum status options_bad_value(const struct option_row *r, const char *arg);
/* The same for a value with a unit; if the unit is missing, the message
 * suggests ARG with each of two units. */
enum status options_bad_amount(const struct option_row *r, const char *arg,
    const char *low, const char *high);
/* The same for sizes; a number of many digits must be bytes. */
enum status options_bad_size(const struct option_row *r, const char *arg,
    const char *low, const char *high);
/* Log an error about the value that is being set, with its file and line or its
 * variable. Returns E_REFUSED. */
enum status options_refuse(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* The source of a value for messages: "FILE:LINE: " or "VARIABLE: "; "" for a
 * default or the command line. */
void options_where(const struct origin *from, char *out, size_t n);
/* listen_url_parse() of the value that is being set. */
enum status options_parse_url(
    struct listen_url *u, const char *arg, const char **why) MUST_CHECK;

void options_usage(void); /* --help */

#endif
