/* SPDX-License-Identifier: MIT */
/*
 * How the fields of one class become JSON, found out once: names are escaped,
 * members that nobody wants are left out, types are known. Printing follows the
 * plan and copies each value once, into the text.
 */
#ifndef TOOLS_PLUGIN_PLAN_H
#define TOOLS_PLUGIN_PLAN_H

#include <stdbool.h>

#include <babeltrace2/babeltrace.h>

#include "tools/plugin/text.h"

struct plan;

/* What the user chose. Borrowed by plans. */
struct plan_config {
	const bt_value *names;	/* patterns of events; NULL: all */
	const bt_value *fields; /* patterns of names; NULL: all */
	bool flat;		/* members of structures stand beside others */
	bool big_as_string;	/* integers of more than 53 bits are strings */
};

/* Does NAME match one of the patterns, an array of strings? NULL: yes. */
bool plan_match(const bt_value *patterns, const char *name);

/*
 * The plan of a structure, or NULL for want of memory. In its text members
 * have no braces around them. PREFIX stands before each name, as in "ctx.".
 * TAKEN, or NULL, is a structure printed before it, to whose names this one's
 * get a "_" appended where they are the same.
 */
struct plan *plan_create(const struct plan_config *config,
    const bt_field_class *structure, const char *prefix,
    const bt_field_class *taken);
void plan_destroy(struct plan *plan);

/* Appends the members of FIELD, a comma before each but the first. */
void plan_print(const struct plan *plan, const bt_field *field, struct text *t);

/* Has it members to print? */
bool plan_is_empty(const struct plan *plan);

#endif
