/* SPDX-License-Identifier: MIT */
/* The names of the fields of an event in metadata, each once. Single owner. */
#ifndef TOOLS_FTRACE_UNIQUE_NAMES_H
#define TOOLS_FTRACE_UNIQUE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/ftrace/event_format.h"

/* Names in one event: of a field, of its length, and of its symbols. */
#define UNIQUE_NAMES_MAX (3 * EVENT_FIELDS_MAX)
#define UNIQUE_NAME_SIZE (EVENT_NAME_MAX + 16)

/* The names in an event so far: readers refuse a structure with two fields of
 * one name. */
struct unique_names {
	char name[UNIQUE_NAMES_MAX][UNIQUE_NAME_SIZE];
	/* For each name: the least N for which NAME_N may be free. */
	unsigned next[UNIQUE_NAMES_MAX];
	uint16_t sorted[UNIQUE_NAMES_MAX]; /* indexes in NAME, sorted */
	unsigned n;
};

/* NAME, or NAME_2 and so on. There are fewer than UNIQUE_NAMES_MAX. */
const char *unique_names_take(struct unique_names *names, const char *name);

#endif
