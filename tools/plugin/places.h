/* SPDX-License-Identifier: MIT */
/* Where events of a class have a value, found out once. */
#ifndef TOOLS_PLUGIN_PLACES_H
#define TOOLS_PLUGIN_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include <babeltrace2/babeltrace.h>

/* Structures of an event. */
enum part {
	PART_COMMON,   /* context of all events of the stream */
	PART_SPECIFIC, /* context of this class */
	PART_PAYLOAD,
	PARTS,
};

/* Zeroed, there is none. */
struct place {
	bool is_there;
	enum part part;
	uint64_t index; /* of the member */
};

/* NULL: it has none. */
const bt_field_class *places_class(const bt_event_class *class, enum part part);
const bt_field *places_part(const bt_event *event, enum part part);

/* The member NAME of STRUCTURE, which may be NULL, if its type is TYPE. */
bool places_member(const bt_field_class *structure, const char *name,
    bt_field_class_type type, uint64_t *index);

/* Finds NAME of TYPE in parts FIRST to LAST. Keeps a place that is there. */
bool places_find(struct place *place, const bt_event_class *class,
    enum part first, enum part last, const char *name,
    bt_field_class_type type);

/* PLACE must be there. */
const bt_field *places_field(const bt_event *event, const struct place *place);

/* Of an integer. */
int64_t places_integer(const bt_field *field);

/* Of an integer at PLACE, if that is there. */
bool places_get(const bt_event *event, const struct place *place, int64_t *out);

#endif
