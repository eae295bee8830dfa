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
/* The least --max-memory. */
#define MEMORY_MIN (UINT64_C(1) << 20)

extern const struct option_row *const option_rows; /* N_OPTIONS */

void options_show(
    const struct options *o, enum option_id id, char out[OPTION_TEXT_MAX]);

/* The source of the value that is being set. */
const struct origin *options_origin(void);
/* Log an error about the value that is being set, with its file and line or its
 * variable. Returns E_REFUSED. */
enum status options_refuse(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* The source of a value as text. */
void options_origin_text(const struct origin *from, char out[OPTION_TEXT_MAX]);
/* The source of a value for messages: "FILE:LINE: " or "VARIABLE: "; "" for a
 * default or the command line. */
void options_where(const struct origin *from, char *out, size_t n);

#endif
