/* SPDX-License-Identifier: MIT */
/*
 * The names of a field's values, from the print format of an event (trace-cmd
 * 3.6): __print_symbolic() and __print_flags() of a field, whose values are
 * plain numbers. The text comes from a peer; what is not such a list is not
 * used. Pure functions.
 */
#ifndef TOOLS_FTRACE_EVENT_LABELS_H
#define TOOLS_FTRACE_EVENT_LABELS_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

struct event_format;

struct event_label {
	int64_t value;
	uint32_t name; /* offset in the names */
};

struct event_labels {
	struct event_label *all; /* at least one, in the text's order */
	uint32_t n;
	char *names; /* printable; not empty */
};

/* Adds the labels of TEXT to the integer fields of F. E_NOMEM. */
enum status event_labels_parse(
    struct event_format *f, struct span text) MUST_CHECK;
void event_labels_free(struct event_labels *l); /* a zeroed struct is fine */

#endif
