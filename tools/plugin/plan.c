/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/plan.h"

enum {
	EXACT_BITS = 53, /* of an integer that a double holds exactly */
};

static bool compile(const struct plan_config *config, struct plan *p,
    const bt_field_class *class, const char *beside);

bool
plan_match(const bt_value *patterns, const char *name)
{
	if (patterns == NULL)
		return true;
	for (uint64_t i = 0; i < bt_value_array_get_length(patterns); i++) {
		const bt_value *one =
		    bt_value_array_borrow_element_by_index_const(patterns, i);

		if (fnmatch(bt_value_string_get(one), name, 0) == 0)
			return true;
	}
	return false;
}

static void
plan_clear(struct plan *p)
{
	for (uint64_t i = 0; i < p->n; i++)
		plan_clear(&p->parts[i]);
	free(p->parts);
	free(p->name);
	free(p->label);
}

static void
plan_drop(struct plan *p)
{
	plan_clear(p);
	*p = (struct plan){ 0 };
}

void
plan_destroy(struct plan *plan)
{
	if (plan != NULL)
		plan_clear(plan);
	free(plan);
}

/* "PATHSUFFIX": with escapes, or PATH= for people, or NULL. */
static char *
make_key(const struct plan_config *config, const char *path, const char *suffix)
{
	struct text t = { 0 };

	if (config->words) {
		text_word(&t, path, strlen(path));
		text_bytes(&t, "=", sizeof("="));
	} else {
		text_byte(&t, '"');
		text_escaped(&t, path, strlen(path));
		text_puts(&t, suffix);
		text_bytes(&t, "\":", sizeof("\":"));
	}
	if (t.failed)
		text_free(&t);
	return t.bytes;
}

static bool
is_taken(const bt_field_class *taken, const char *name)
{
	return taken != NULL &&
	       bt_field_class_structure_borrow_member_by_name_const(
		   taken, name) != NULL;
}

static bool
compile_member(const struct plan_config *config, struct plan *p,
    const bt_field_class_structure_member *member, const char *prefix,
    const bt_field_class *taken)
{
	const char *name = bt_field_class_structure_member_get_name(member);
	const bt_field_class *class =
	    bt_field_class_structure_member_borrow_field_class_const(member);
	char *path;
	bool ok;

	if (asprintf(&path, "%s%s%s", prefix, name,
		is_taken(taken, name) ? "_" : "") < 0)
		return false;
	p->name = make_key(config, path, "");
	p->label_too = config->flat &&
		       bt_field_class_type_is(bt_field_class_get_type(class),
			   BT_FIELD_CLASS_TYPE_ENUMERATION);
	if (p->label_too)
		p->label = make_key(config, path, ".label");
	if (config->number != NULL)
		p->id = config->number(config->data, path);
	ok = p->name != NULL && (p->id > 0 || config->number == NULL) &&
	     p->label_too == (p->label != NULL) &&
	     compile(config, p, class, config->flat ? path : NULL);
	free(path);
	return ok;
}

/* FIELDS, if not NULL, chooses members; PREFIX is that of their names. */
static bool
compile_structure(const struct plan_config *config, struct plan *p,
    const bt_field_class *class, const char *prefix,
    const bt_field_class *taken, const bt_value *fields)
{
	uint64_t n = bt_field_class_structure_get_member_count(class);
	bool ok = true;

	p->kind = PLAN_STRUCTURE;
	p->words = config->words;
	p->parts = calloc(n + 1, sizeof(*p->parts));
	if (p->parts == NULL)
		return false;
	for (uint64_t i = 0; i < n && ok; i++) {
		const bt_field_class_structure_member *member =
		    bt_field_class_structure_borrow_member_by_index_const(
			class, i);

		if (!plan_match(fields,
			bt_field_class_structure_member_get_name(member)))
			continue;
		p->parts[p->n].index = i;
		ok = compile_member(
		    config, &p->parts[p->n], member, prefix, taken);
		if (!p->parts[p->n].beside || p->parts[p->n].n > 0 || !ok)
			p->n++;
		else
			plan_drop(&p->parts[p->n]);
	}
	return ok;
}

/* A structure that is a member; its members may stand beside it. */
static bool
compile_inner(const struct plan_config *config, struct plan *p,
    const bt_field_class *class, const char *beside)
{
	char *prefix = NULL;
	bool ok;

	p->beside = beside != NULL;
	if (p->beside && asprintf(&prefix, "%s.", beside) < 0)
		return false;
	ok = compile_structure(
	    config, p, class, p->beside ? prefix : "", NULL, NULL);
	free(prefix);
	return ok;
}

static bool
compile_parts(struct plan *p, uint64_t n)
{
	p->parts = calloc(n, sizeof(*p->parts));
	p->n = p->parts != NULL ? n : 0;
	return p->parts != NULL;
}

/* Bytes that the metadata has in hexadecimal. */
static bool
is_byte(const bt_field_class *class)
{
	return bt_field_class_get_type(class) ==
		   BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER &&
	       bt_field_class_integer_get_field_value_range(class) == 8 &&
	       bt_field_class_integer_get_preferred_display_base(class) ==
		   BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL;
}

static bool
compile_array(const struct plan_config *config, struct plan *p,
    const bt_field_class *class)
{
	const bt_field_class *element =
	    bt_field_class_array_borrow_element_field_class_const(class);

	p->kind = is_byte(element) ? PLAN_BLOB : PLAN_ARRAY;
	return p->kind == PLAN_BLOB ||
	       (compile_parts(p, 1) &&
		   compile(config, &p->parts[0], element, NULL));
}

static bool
compile_variant(const struct plan_config *config, struct plan *p,
    const bt_field_class *class)
{
	uint64_t n = bt_field_class_variant_get_option_count(class);
	bool ok = compile_parts(p, n);

	p->kind = PLAN_VARIANT;
	for (uint64_t i = 0; i < n && ok; i++) {
		const bt_field_class_variant_option *option =
		    bt_field_class_variant_borrow_option_by_index_const(
			class, i);

		ok = compile(config, &p->parts[i],
		    bt_field_class_variant_option_borrow_field_class_const(
			option),
		    NULL);
	}
	return ok;
}

static bool
is(const bt_field_class *class, bt_field_class_type type)
{
	return bt_field_class_type_is(bt_field_class_get_type(class), type);
}

static void
compile_integer(const struct plan_config *config, struct plan *p,
    const bt_field_class *class)
{
	bool is_enum = is(class, BT_FIELD_CLASS_TYPE_ENUMERATION);

	if (is(class, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		p->kind = is_enum ? PLAN_ENUM_UNSIGNED : PLAN_UNSIGNED;
	else
		p->kind = is_enum ? PLAN_ENUM_SIGNED : PLAN_SIGNED;
	p->big = config->big_as_string &&
		 bt_field_class_integer_get_field_value_range(class) >
		     EXACT_BITS;
}

/* BESIDE: the path of a structure whose members stand beside it, or NULL. */
static bool
compile(const struct plan_config *config, struct plan *p,
    const bt_field_class *class, const char *beside)
{
	p->words = config->words;
	if (is(class, BT_FIELD_CLASS_TYPE_INTEGER)) {
		compile_integer(config, p, class);
	} else if (is(class, BT_FIELD_CLASS_TYPE_STRUCTURE)) {
		return compile_inner(config, p, class, beside);
	} else if (is(class, BT_FIELD_CLASS_TYPE_ARRAY)) {
		return compile_array(config, p, class);
	} else if (is(class, BT_FIELD_CLASS_TYPE_VARIANT)) {
		return compile_variant(config, p, class);
	} else if (is(class, BT_FIELD_CLASS_TYPE_OPTION)) {
		p->kind = PLAN_OPTION;
		return compile_parts(p, 1) &&
		       compile(config, &p->parts[0],
			   bt_field_class_option_borrow_field_class_const(
			       class),
			   NULL);
	} else if (is(class, BT_FIELD_CLASS_TYPE_BOOL)) {
		p->kind = PLAN_BOOL;
	} else if (is(class, BT_FIELD_CLASS_TYPE_BIT_ARRAY)) {
		p->kind = PLAN_BITS;
		p->big = config->big_as_string &&
			 bt_field_class_bit_array_get_length(class) >
			     EXACT_BITS;
	} else if (is(class, BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)) {
		p->kind = PLAN_SINGLE;
	} else if (is(class, BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)) {
		p->kind = PLAN_DOUBLE;
	} else {
		p->kind = PLAN_STRING;
	}
	return true;
}

struct plan *
plan_create(const struct plan_config *config, const bt_field_class *structure,
    const char *prefix, const bt_field_class *taken)
{
	struct plan *p = calloc(1, sizeof(*p));

	if (p != NULL && !compile_structure(config, p, structure, prefix, taken,
			     config->fields)) {
		plan_destroy(p);
		p = NULL;
	}
	return p;
}

bool
plans_create(struct plan *plans[PARTS], const struct plan_config *config,
    const bt_event_class *class)
{
	static const char *const prefixes[] = { [PART_COMMON] = "ctx.",
		[PART_SPECIFIC] = "ctx.",
		[PART_PAYLOAD] = "fields." };

	for (enum part part = 0; part < PARTS; part++) {
		const bt_field_class *structure = places_class(class, part);
		const bool has_taken = part == PART_SPECIFIC && !config->words;

		if (structure == NULL)
			continue;
		plans[part] = plan_create(config, structure,
		    config->flat ? prefixes[part] : "",
		    has_taken ? places_class(class, PART_COMMON) : NULL);
		if (plans[part] == NULL)
			return false;
	}
	return true;
}

void
plans_destroy(struct plan *plans[PARTS])
{
	for (enum part part = 0; part < PARTS; part++)
		plan_destroy(plans[part]);
}

void
plan_leave_out(struct plan *plan, uint64_t index)
{
	uint64_t i = 0;

	while (i < plan->n && plan->parts[i].index != index)
		i++;
	if (i == plan->n)
		return;
	plan_clear(&plan->parts[i]);
	plan->n--;
	memmove(&plan->parts[i], &plan->parts[i + 1],
	    (plan->n - i) * sizeof(plan->parts[0]));
}

bool
plan_is_empty(const struct plan *plan)
{
	return plan == NULL || plan->n == 0;
}

static void
print_integer(const struct plan *p, const bt_field *field, struct text *t)
{
	if (p->big)
		text_byte(t, '"');
	if (p->kind == PLAN_SIGNED || p->kind == PLAN_ENUM_SIGNED)
		text_signed(t, bt_field_integer_signed_get_value(field));
	else if (p->kind == PLAN_BITS)
		text_unsigned(
		    t, bt_field_bit_array_get_value_as_integer(field));
	else
		text_unsigned(t, bt_field_integer_unsigned_get_value(field));
	if (p->big)
		text_byte(t, '"');
}

bool
plan_labels(const struct plan *p, const bt_field *field,
    bt_field_class_enumeration_mapping_label_array *labels, uint64_t *n)
{
	int status;

	*n = 0;
	if (p->kind == PLAN_ENUM_SIGNED)
		status = (int)bt_field_enumeration_signed_get_mapping_labels(
		    field, labels, n);
	else
		status = (int)bt_field_enumeration_unsigned_get_mapping_labels(
		    field, labels, n);
	return status == BT_FIELD_ENUMERATION_GET_MAPPING_LABELS_STATUS_OK;
}

/* For people: the labels, or the number if there is none. */
static void
print_label_words(const struct plan *p, const bt_field *field, struct text *t)
{
	bt_field_class_enumeration_mapping_label_array labels;
	uint64_t n;

	if (!plan_labels(p, field, &labels, &n))
		t->failed = true;
	else if (n == 0)
		print_integer(p, field, t);
	for (uint64_t i = 0; i < n && !t->failed; i++) {
		if (i > 0)
			text_byte(t, '|');
		text_word(t, labels[i], strlen(labels[i]));
	}
}

/* One label is a string, several are an array, none is null. */
static void
print_label(const struct plan *p, const bt_field *field, struct text *t)
{
	bt_field_class_enumeration_mapping_label_array labels;
	uint64_t n;

	if (!plan_labels(p, field, &labels, &n))
		t->failed = true;
	else if (n == 0)
		text_puts(t, "null");
	else if (n > 1)
		text_byte(t, '[');
	for (uint64_t i = 0; i < n && !t->failed; i++) {
		if (i > 0)
			text_byte(t, ',');
		text_string(t, labels[i], strlen(labels[i]));
	}
	if (n > 1)
		text_byte(t, ']');
}

static void
print_enum(const struct plan *p, const bt_field *field, struct text *t)
{
	if (p->words) {
		print_label_words(p, field, t);
		return;
	}
	if (p->label_too) {
		print_integer(p, field, t);
		text_byte(t, ',');
		text_puts(t, p->label);
		print_label(p, field, t);
		return;
	}
	text_puts(t, "{\"label\":");
	print_label(p, field, t);
	text_puts(t, ",\"value\":");
	print_integer(p, field, t);
	text_byte(t, '}');
}

void
plan_print_blob(const bt_field *field, struct text *t)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t n = bt_field_array_get_length(field);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t byte = bt_field_integer_unsigned_get_value(
		    bt_field_array_borrow_element_field_by_index_const(
			field, i));

		text_byte(t, hex[byte >> 4 & 15]);
		text_byte(t, hex[byte & 15]);
	}
}

static void print_value(
    const struct plan *p, const bt_field *field, struct text *t);

static void
print_array(const struct plan *p, const bt_field *field, struct text *t)
{
	uint64_t n = bt_field_array_get_length(field);

	text_byte(t, '[');
	for (uint64_t i = 0; i < n; i++) {
		if (i > 0)
			text_byte(t, ',');
		print_value(&p->parts[0],
		    bt_field_array_borrow_element_field_by_index_const(
			field, i),
		    t);
	}
	text_byte(t, ']');
}

static void
print_option(const struct plan *p, const bt_field *field, struct text *t)
{
	const bt_field *inner = bt_field_option_borrow_field_const(field);

	if (inner != NULL)
		print_value(&p->parts[0], inner, t);
	else
		text_puts(t, "null");
}

static void
print_value(const struct plan *p, const bt_field *field, struct text *t)
{
	switch (p->kind) {
	case PLAN_BOOL:
		text_puts(t, bt_field_bool_get_value(field) ? "true" : "false");
		break;
	case PLAN_BITS:
	case PLAN_UNSIGNED:
	case PLAN_SIGNED:
		print_integer(p, field, t);
		break;
	case PLAN_ENUM_UNSIGNED:
	case PLAN_ENUM_SIGNED:
		print_enum(p, field, t);
		break;
	case PLAN_SINGLE:
		text_real(
		    t, (double)bt_field_real_single_precision_get_value(field));
		break;
	case PLAN_DOUBLE:
		text_real(t, bt_field_real_double_precision_get_value(field));
		break;
	case PLAN_STRING:
		(p->words ? text_word : text_string)(t,
		    bt_field_string_get_value(field),
		    bt_field_string_get_length(field));
		break;
	case PLAN_BLOB:
		if (!p->words)
			text_byte(t, '"');
		plan_print_blob(field, t);
		if (!p->words)
			text_byte(t, '"');
		break;
	case PLAN_ARRAY:
		print_array(p, field, t);
		break;
	case PLAN_STRUCTURE:
		text_byte(t, '{');
		plan_print(p, field, t);
		text_byte(t, '}');
		break;
	case PLAN_OPTION:
		print_option(p, field, t);
		break;
	case PLAN_VARIANT:
		print_value(
		    &p->parts[bt_field_variant_get_selected_option_index(
			field)],
		    bt_field_variant_borrow_selected_option_field_const(field),
		    t);
		break;
	}
}

void
plan_print(const struct plan *plan, const bt_field *field, struct text *t)
{
	for (uint64_t i = 0; i < plan->n; i++) {
		const struct plan *part = &plan->parts[i];
		const bt_field *value =
		    bt_field_structure_borrow_member_field_by_index_const(
			field, part->index);

		if (i > 0)
			text_byte(t, plan->words ? ' ' : ',');
		if (part->beside) {
			plan_print(part, value, t);
			continue;
		}
		text_puts(t, part->name);
		print_value(part, value, t);
	}
}
