/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tools/plugin/places.h"

const bt_field_class *
places_class(const bt_event_class *class, enum part part)
{
	switch (part) {
	case PART_COMMON:
		return bt_stream_class_borrow_event_common_context_field_class_const(
		    bt_event_class_borrow_stream_class_const(class));
	case PART_SPECIFIC:
		return bt_event_class_borrow_specific_context_field_class_const(
		    class);
	default:
		return bt_event_class_borrow_payload_field_class_const(class);
	}
}

const bt_field *
places_part(const bt_event *event, enum part part)
{
	switch (part) {
	case PART_COMMON:
		return bt_event_borrow_common_context_field_const(event);
	case PART_SPECIFIC:
		return bt_event_borrow_specific_context_field_const(event);
	default:
		return bt_event_borrow_payload_field_const(event);
	}
}

bool
places_member(const bt_field_class *structure, const char *name,
    bt_field_class_type type, uint64_t *index)
{
	uint64_t n = structure == NULL
			 ? 0
			 : bt_field_class_structure_get_member_count(structure);

	for (uint64_t i = 0; i < n; i++) {
		const bt_field_class_structure_member *m =
		    bt_field_class_structure_borrow_member_by_index_const(
			structure, i);
		const bt_field_class *class =
		    bt_field_class_structure_member_borrow_field_class_const(m);

		if (strcmp(bt_field_class_structure_member_get_name(m), name) !=
		    0)
			continue;
		*index = i;
		return bt_field_class_type_is(
		    bt_field_class_get_type(class), type);
	}
	return false;
}

bool
places_find(struct place *place, const bt_event_class *class, enum part first,
    enum part last, const char *name, bt_field_class_type type)
{
	for (enum part part = first; part <= last && !place->is_there; part++) {
		place->is_there = places_member(
		    places_class(class, part), name, type, &place->index);
		place->part = part;
	}
	return place->is_there;
}

const bt_field *
places_field(const bt_event *event, const struct place *place)
{
	return bt_field_structure_borrow_member_field_by_index_const(
	    places_part(event, place->part), place->index);
}

int64_t
places_integer(const bt_field *field)
{
	if (bt_field_class_type_is(bt_field_get_class_type(field),
		BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return (int64_t)bt_field_integer_unsigned_get_value(field);
	return bt_field_integer_signed_get_value(field);
}

bool
places_get(const bt_event *event, const struct place *place, int64_t *out)
{
	if (place->is_there)
		*out = places_integer(places_field(event, place));
	return place->is_there;
}
