/* SPDX-License-Identifier: MIT */
/*
 * The options of a trace.dat that describe the machine and its clock (trace-cmd
 * 3.4). The bytes come from a peer. Single owner.
 */
#ifndef TOOLS_FTRACE_DAT_OPTIONS_H
#define TOOLS_FTRACE_DAT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"
#include "tools/ftrace/dat_read.h"
#include "tools/ftrace/order.h"

/* Copies S up to a NUL, the end of a line, or the end of OUT; what is not
 * printable becomes '?'. */
void dat_copy_text(char *out, size_t size, struct span s);
void dat_option_clock(struct dat *d, struct span s);
void dat_option_uname(struct dat *d, struct span s);
void dat_option_offset(
    struct dat *d, struct span s, enum dat_offset from, int64_t ns_per_unit);
/* TIME_SHIFT: by what the times of each CPU become those of the machine that
 * recorded it as a guest. E_MALFORMED: it is cut short. E_NOMEM. */
enum status dat_option_shift(struct dat *d, struct dat_input in) MUST_CHECK;
void dat_shifts_free(struct dat *d);

#endif
