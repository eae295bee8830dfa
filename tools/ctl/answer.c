/* SPDX-License-Identifier: MIT */
#include "tools/ctl/answer.h"

#include <stddef.h>

/* The member, if it has one of two types. */
static json_t *
member(struct json_answer *a, const json_t *o, const char *name, json_type t,
    json_type other)
{
	json_t *j = json_object_get(o, name);

	if (j == NULL || json_is_null(j))
		return NULL;
	if (json_typeof(j) == t || json_typeof(j) == other)
		return j;
	if (a->wrong == NULL)
		a->wrong = name;
	return NULL;
}

static uint64_t
natural(struct json_answer *a, const json_t *j, const char *name)
{
	const json_int_t n = json_integer_value(j);

	if (n >= 0)
		return (uint64_t)n;
	if (a->wrong == NULL)
		a->wrong = name;
	return 0;
}

uint64_t
answer_number(struct json_answer *a, const json_t *o, const char *name)
{
	return natural(a, member(a, o, name, JSON_INTEGER, JSON_INTEGER), name);
}

double
answer_real(struct json_answer *a, const json_t *o, const char *name)
{
	return json_number_value(member(a, o, name, JSON_REAL, JSON_INTEGER));
}

bool
answer_bool(struct json_answer *a, const json_t *o, const char *name)
{
	return json_is_true(member(a, o, name, JSON_TRUE, JSON_FALSE));
}

const char *
answer_text(struct json_answer *a, const json_t *o, const char *name)
{
	const char *s = json_string_value(
	    member(a, o, name, JSON_STRING, JSON_STRING));

	return s == NULL ? "" : s;
}

const json_t *
answer_object(struct json_answer *a, const json_t *o, const char *name)
{
	return member(a, o, name, JSON_OBJECT, JSON_OBJECT);
}

const json_t *
answer_array(struct json_answer *a, const json_t *o, const char *name)
{
	return member(a, o, name, JSON_ARRAY, JSON_ARRAY);
}

uint64_t
answer_sum(struct json_answer *a, const json_t *o, const char *name)
{
	const json_t *j = member(a, o, name, JSON_INTEGER, JSON_OBJECT);
	void *i;
	uint64_t n = 0;

	if (!json_is_object(j))
		return natural(a, j, name);
	for (i = json_object_iter((json_t *)(uintptr_t)j); i != NULL;
	     i = json_object_iter_next((json_t *)(uintptr_t)j, i))
		n += answer_number(a, j, json_object_iter_key(i));
	return n;
}
