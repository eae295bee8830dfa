/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/places.h"
#include "tools/plugin/value.h"

enum {
	VALUE_NAME_MAX = 256,	 /* of a member, as LTTng has it */
	VALUE_ADDRESS_PARTS = 8, /* of IPv6 */
};

static bool
is(const bt_field *field, bt_field_class_type type)
{
	return bt_field_class_type_is(bt_field_get_class_type(field), type);
}

/* What is in an option or a variant; NULL: nothing. */
static const bt_field *
selected(const bt_field *field)
{
	while (field != NULL) {
		if (is(field, BT_FIELD_CLASS_TYPE_OPTION))
			field = bt_field_option_borrow_field_const(field);
		else if (is(field, BT_FIELD_CLASS_TYPE_VARIANT))
			field =
			    bt_field_variant_borrow_selected_option_field_const(
				field);
		else
			break;
	}
	return field;
}

/* A name may have points itself, as contexts of applications do. */
const bt_field *
value_member(const bt_field *field, const char *name)
{
	const bt_field *found;
	char first[VALUE_NAME_MAX];
	const char *point;
	size_t n;

	field = selected(field);
	if (field == NULL || !is(field, BT_FIELD_CLASS_TYPE_STRUCTURE))
		return NULL;
	found = bt_field_structure_borrow_member_field_by_name_const(
	    field, name);
	point = strchr(name, '.');
	if (found != NULL || point == NULL)
		return selected(found);
	n = (size_t)(point - name);
	if (n >= sizeof(first))
		return NULL;
	memcpy(first, name, n);
	first[n] = '\0';
	return value_member(
	    bt_field_structure_borrow_member_field_by_name_const(field, first),
	    point + 1);
}

const bt_field *
value_find(const bt_event *event, const char *name)
{
	static const enum part parts[] = { PART_PAYLOAD, PART_COMMON,
		PART_SPECIFIC };
	const bt_field *found = NULL;

	for (int i = 0; i < PARTS && found == NULL; i++)
		found = value_member(places_part(event, parts[i]), name);
	return found;
}

static bool
is_label(const bt_field *field, const char *want)
{
	bt_field_class_enumeration_mapping_label_array labels;
	uint64_t n = 0;

	if (is(field, BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION))
		(void)bt_field_enumeration_unsigned_get_mapping_labels(
		    field, &labels, &n);
	else
		(void)bt_field_enumeration_signed_get_mapping_labels(
		    field, &labels, &n);
	while (n > 0)
		if (fnmatch(want, labels[--n], 0) == 0)
			return true;
	return false;
}

static bool
is_integer(const bt_field *field, const char *want)
{
	const bool is_unsigned = is(
	    field, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER);
	char *end;

	if (is(field, BT_FIELD_CLASS_TYPE_ENUMERATION) && is_label(field, want))
		return true;
	if (is_unsigned)
		return strtoull(want, &end, 0) ==
			   bt_field_integer_unsigned_get_value(field) &&
		       end != want && *end == '\0' && *want != '-';
	return strtoll(want, &end, 0) ==
		   bt_field_integer_signed_get_value(field) &&
	       end != want && *end == '\0';
}

static bool
is_real(const bt_field *field, const char *want)
{
	char *end;
	const double n = strtod(want, &end);

	if (end == want || *end != '\0')
		return false;
	if (is(field, BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL))
		return (float)n ==
		       bt_field_real_single_precision_get_value(field);
	return n == bt_field_real_double_precision_get_value(field);
}

static bool
is_address(const bt_field *field, const char *want)
{
	struct text t = { 0 };
	bool is_same = false;

	if (value_address(field, &t) && !t.failed)
		is_same = t.len == strlen(want) &&
			  memcmp(t.bytes, want, t.len) == 0;
	text_free(&t);
	return is_same;
}

bool
value_is(const bt_field *field, const char *want)
{
	if (is(field, BT_FIELD_CLASS_TYPE_STRING))
		return fnmatch(want, bt_field_string_get_value(field), 0) == 0;
	if (is(field, BT_FIELD_CLASS_TYPE_INTEGER))
		return is_integer(field, want);
	if (is(field, BT_FIELD_CLASS_TYPE_BOOL))
		return strcmp(want,
			   bt_field_bool_get_value(field) ? "true" : "false") ==
		       0;
	if (is(field, BT_FIELD_CLASS_TYPE_REAL))
		return is_real(field, want);
	return is(field, BT_FIELD_CLASS_TYPE_ARRAY) && is_address(field, want);
}

/* All N elements, if they are unsigned integers of SIZE bits. */
static bool
take_parts(const bt_field *field, uint64_t n, uint64_t size, uint16_t *parts)
{
	if (bt_field_array_get_length(field) != n)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		const bt_field *one =
		    bt_field_array_borrow_element_field_by_index_const(
			field, i);

		if (!is(one, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER) ||
		    bt_field_class_integer_get_field_value_range(
			bt_field_borrow_class_const(one)) != size)
			return false;
		parts[i] = (uint16_t)bt_field_integer_unsigned_get_value(one);
	}
	return true;
}

bool
value_address(const bt_field *field, struct text *t)
{
	uint16_t p[VALUE_ADDRESS_PARTS];
	char out[INET6_ADDRSTRLEN];

	if (!is(field, BT_FIELD_CLASS_TYPE_ARRAY))
		return false;
	if (take_parts(field, 4, 8, p)) {
		snprintf(
		    out, sizeof(out), "%u.%u.%u.%u", p[0], p[1], p[2], p[3]);
	} else if (take_parts(field, 6, 8, p)) {
		snprintf(out, sizeof(out), "%02x:%02x:%02x:%02x:%02x:%02x",
		    p[0], p[1], p[2], p[3], p[4], p[5]);
	} else if (take_parts(field, 8, 16, p)) {
		for (int i = 0; i < VALUE_ADDRESS_PARTS; i++)
			p[i] = htons(p[i]);
		inet_ntop(AF_INET6, p, out, sizeof(out));
	} else {
		return false;
	}
	text_puts(t, out);
	return true;
}
