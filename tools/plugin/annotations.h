/* SPDX-License-Identifier: MIT */
/* Fields of an event as Perfetto's debug annotations. */
#ifndef TOOLS_PLUGIN_ANNOTATIONS_H
#define TOOLS_PLUGIN_ANNOTATIONS_H

#include <stdbool.h>

#include "tools/plugin/arena.h"
#include "tools/plugin/perfetto.pb-c.h"
#include "tools/plugin/plan.h"

struct annotations {
	Perfetto__DebugAnnotation **list;
	size_t n;
	struct arena *arena;
	struct text *scratch; /* for a string while it is made */
};

/* Room for N annotations, in ARENA. False: no memory. */
bool annotations_begin(struct annotations *a, size_t n);

/*
 * Adds the members of FIELD, a structure, of which PLAN has numbered the names.
 * An enumeration is its label, or its value if none or several fit; an array of
 * bytes is text in hexadecimal; of an option that is empty nothing is added.
 * False: no memory.
 */
bool annotations_add(
    struct annotations *a, const struct plan *plan, const bt_field *field);

/* Adds a number. */
bool annotations_add_number(
    struct annotations *a, uint64_t name_iid, uint64_t value);

/* S as valid UTF-8, in ARENA; NULL: no memory. */
char *annotations_string(struct annotations *a, const char *s);

/* The same of a string in a trace. */
char *annotations_field(struct annotations *a, const bt_field *string);

#endif
