/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tools/plugin/annotations.h"

typedef Perfetto__DebugAnnotation annotation;

static bool set(struct annotations *a, annotation *out, const struct plan *p,
    const bt_field *field);

bool
annotations_begin(struct annotations *a, size_t n)
{
	a->n = 0;
	a->list = arena_alloc(a->arena, n * sizeof(a->list[0]));
	return a->list != NULL;
}

static annotation *
make(struct annotations *a)
{
	annotation *out = arena_alloc(a->arena, sizeof(*out));

	if (out != NULL)
		perfetto__debug_annotation__init(out);
	return out;
}

static annotation *
make_named(struct annotations *a, uint64_t name_iid)
{
	annotation *out = make(a);

	if (out != NULL) {
		out->name_field_case =
		    PERFETTO__DEBUG_ANNOTATION__NAME_FIELD_NAME_IID;
		out->name_iid = name_iid;
	}
	return out;
}

/* What SCRATCH holds, which is emptied. */
static char *
take_scratch(struct annotations *a)
{
	char *out = NULL;

	text_byte(a->scratch, '\0');
	if (!a->scratch->failed)
		out = arena_alloc(a->arena, a->scratch->len);
	if (out != NULL)
		memcpy(out, a->scratch->bytes, a->scratch->len);
	a->scratch->len = 0;
	return out;
}

char *
annotations_string(struct annotations *a, const char *s)
{
	text_utf8(a->scratch, s, strlen(s));
	return take_scratch(a);
}

char *
annotations_field(struct annotations *a, const bt_field *string)
{
	/* babeltrace2 2.0.4 ends only strings that are not empty by a NUL. */
	text_utf8(a->scratch, bt_field_string_get_value(string),
	    bt_field_string_get_length(string));
	return take_scratch(a);
}

static bool
set_string(annotation *out, char *s)
{
	out->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
	out->string_value = s;
	return s != NULL;
}

static bool
set_unsigned(annotation *out, uint64_t n)
{
	out->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
	out->uint_value = n;
	return true;
}

static bool
set_signed(annotation *out, int64_t n)
{
	out->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE;
	out->int_value = n;
	return true;
}

static bool
set_real(annotation *out, double n)
{
	out->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_DOUBLE_VALUE;
	out->double_value = n;
	return true;
}

static bool
set_enum(struct annotations *a, annotation *out, const struct plan *p,
    const bt_field *field)
{
	bt_field_class_enumeration_mapping_label_array labels;
	uint64_t n;

	if (!plan_labels(p, field, &labels, &n))
		return false;
	if (n == 1)
		return set_string(out, annotations_string(a, labels[0]));
	if (p->kind == PLAN_ENUM_SIGNED)
		return set_signed(
		    out, bt_field_integer_signed_get_value(field));
	return set_unsigned(out, bt_field_integer_unsigned_get_value(field));
}

static bool
set_array(struct annotations *a, annotation *out, const struct plan *p,
    const bt_field *field)
{
	uint64_t n = bt_field_array_get_length(field);

	out->array_values = arena_alloc(
	    a->arena, n * sizeof(out->array_values[0]));
	if (out->array_values == NULL)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		annotation *element = make(a);

		if (element == NULL ||
		    !set(a, element, &p->parts[0],
			bt_field_array_borrow_element_field_by_index_const(
			    field, i)))
			return false;
		out->array_values[out->n_array_values++] = element;
	}
	return true;
}

static bool
set_structure(struct annotations *a, annotation *out, const struct plan *p,
    const bt_field *field)
{
	struct annotations inner = { .arena = a->arena, .scratch = a->scratch };

	if (!annotations_begin(&inner, p->n) ||
	    !annotations_add(&inner, p, field))
		return false;
	out->dict_entries = inner.list;
	out->n_dict_entries = inner.n;
	return true;
}

static bool
set_option(struct annotations *a, annotation *out, const struct plan *p,
    const bt_field *field)
{
	const bt_field *inner = bt_field_option_borrow_field_const(field);

	return inner == NULL || set(a, out, &p->parts[0], inner);
}

static bool
set_variant(struct annotations *a, annotation *out, const struct plan *p,
    const bt_field *field)
{
	uint64_t i = bt_field_variant_get_selected_option_index(field);

	return set(a, out, &p->parts[i],
	    bt_field_variant_borrow_selected_option_field_const(field));
}

static bool
set(struct annotations *a, annotation *out, const struct plan *p,
    const bt_field *field)
{
	switch (p->kind) {
	case PLAN_BOOL:
		out->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_BOOL_VALUE;
		out->bool_value = bt_field_bool_get_value(field) != 0;
		return true;
	case PLAN_BITS:
		return set_unsigned(
		    out, bt_field_bit_array_get_value_as_integer(field));
	case PLAN_UNSIGNED:
		return set_unsigned(
		    out, bt_field_integer_unsigned_get_value(field));
	case PLAN_SIGNED:
		return set_signed(
		    out, bt_field_integer_signed_get_value(field));
	case PLAN_ENUM_UNSIGNED:
	case PLAN_ENUM_SIGNED:
		return set_enum(a, out, p, field);
	case PLAN_SINGLE:
		return set_real(out,
		    (double)bt_field_real_single_precision_get_value(field));
	case PLAN_DOUBLE:
		return set_real(
		    out, bt_field_real_double_precision_get_value(field));
	case PLAN_STRING:
		return set_string(out, annotations_field(a, field));
	case PLAN_BLOB:
		plan_print_blob(field, a->scratch);
		return set_string(out, take_scratch(a));
	case PLAN_ARRAY:
		return set_array(a, out, p, field);
	case PLAN_STRUCTURE:
		return set_structure(a, out, p, field);
	case PLAN_OPTION:
		return set_option(a, out, p, field);
	case PLAN_VARIANT:
		return set_variant(a, out, p, field);
	}
	return true;
}

bool
annotations_add(
    struct annotations *a, const struct plan *plan, const bt_field *field)
{
	for (uint64_t i = 0; i < plan->n; i++) {
		const struct plan *part = &plan->parts[i];
		annotation *out = make_named(a, part->id);

		if (out == NULL ||
		    !set(a, out, part,
			bt_field_structure_borrow_member_field_by_index_const(
			    field, part->index)))
			return false;
		a->list[a->n++] = out;
	}
	return true;
}

bool
annotations_add_number(struct annotations *a, uint64_t name_iid, uint64_t value)
{
	annotation *out = make_named(a, name_iid);

	if (out == NULL)
		return false;
	a->list[a->n++] = out;
	return set_unsigned(out, value);
}
