/* SPDX-License-Identifier: MIT */
/*
 * How the fields of one class become JSON or words, found out once: names are
 * escaped, members that nobody wants are left out, types are known. Printing
 * follows the plan and copies each value once, into the text.
 */
#ifndef TOOLS_PLUGIN_PLAN_H
#define TOOLS_PLUGIN_PLAN_H

#include <stdbool.h>

#include <babeltrace2/babeltrace.h>

#include "tools/plugin/places.h"
#include "tools/plugin/text.h"

enum plan_kind {
	PLAN_BOOL,
	PLAN_BITS,
	PLAN_UNSIGNED,
	PLAN_SIGNED,
	PLAN_ENUM_UNSIGNED,
	PLAN_ENUM_SIGNED,
	PLAN_SINGLE,
	PLAN_DOUBLE,
	PLAN_STRING,
	PLAN_BLOB,
	PLAN_ARRAY,
	PLAN_STRUCTURE,
	PLAN_OPTION,
	PLAN_VARIANT,
};

/* A value; a structure, an array, an option and a variant have parts. */
struct plan {
	enum plan_kind kind;
	bool words;	/* of its configuration */
	bool big;	/* an integer to print as a string */
	bool beside;	/* a structure whose members stand beside others */
	bool label_too; /* an enumeration with a member for its label */
	char *name;	/* in a structure, "NAME": */
	char *label;	/* "NAME.label": */
	uint64_t id;	/* of the name, if the configuration numbers names */
	uint64_t index; /* in the structure */
	uint64_t n;
	struct plan *parts;
};

/* What the user chose. Borrowed by plans. */
struct plan_config {
	const bt_value *names;	/* patterns of events; NULL: all */
	const bt_value *fields; /* patterns of names; NULL: all */
	bool words; /* for people: name=value, labels instead of numbers */
	bool flat;  /* members of structures stand beside others */
	bool big_as_string; /* integers of more than 53 bits are strings */
	/* Numbers names from 1; 0: no memory. NULL: names are not numbered. */
	uint64_t (*number)(void *data, const char *name);
	void *data;
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

/*
 * The plans of events of CLASS, NULL for a part that it does not have. Flat,
 * names have "ctx." or "fields." before them. The specific context's names are
 * distinct from the common one's, except among words. PLANS are zeroed; also
 * on failure, which is want of memory, call plans_destroy().
 */
bool plans_create(struct plan *plans[PARTS], const struct plan_config *config,
    const bt_event_class *class);
void plans_destroy(struct plan *plans[PARTS]);

/* Leaves out the member with INDEX of the structure, if there. */
void plan_leave_out(struct plan *plan, uint64_t index);

/* Appends the members of FIELD; before each but the first a comma, or a space
 * between words. */
void plan_print(const struct plan *plan, const bt_field *field, struct text *t);

/* The labels of an enumeration, which may be none. False: no memory. */
bool plan_labels(const struct plan *plan, const bt_field *field,
    bt_field_class_enumeration_mapping_label_array *labels, uint64_t *n);

/* Appends two hexadecimal digits for each byte of an array. */
void plan_print_blob(const bt_field *field, struct text *t);

/* Has it members to print? */
bool plan_is_empty(const struct plan *plan);

#endif
