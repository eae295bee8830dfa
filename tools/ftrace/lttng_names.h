/* SPDX-License-Identifier: MIT */
/* Names and fields of kernel events as LTTng's kernel tracer has them, for
 * programs that know only these. Pure functions. */
#ifndef TOOLS_FTRACE_LTTNG_NAMES_H
#define TOOLS_FTRACE_LTTNG_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/ftrace/event_format.h"

#define LTTNG_NAME_SIZE (2 * EVENT_NAME_MAX)

void lttng_event_name(char out[LTTNG_NAME_SIZE], const struct event_format *f);
/* Changes the NAME of a field of F. */
void lttng_field_name(char name[EVENT_NAME_MAX], const struct event_format *f);
/* Is X the kind of a block request? It is text in the kernel's event, and flags
 * of 32 bits in LTTng's. */
bool lttng_is_rwbs(const struct event_format *f, const struct event_field *x);
/* The flags of N letters at DATA, up to a NUL. */
uint32_t lttng_rwbs_flags(const uint8_t *data, uint32_t n);

#endif
