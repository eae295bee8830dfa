/* SPDX-License-Identifier: MIT */
/*
 * Members of the relay's answers. A missing member is 0, "" or NULL: other
 * versions of the relay have more or fewer. A member of another type makes the
 * answer invalid, which is checked once, at the end. Any thread.
 */
#ifndef TOOLS_CTL_ANSWER_H
#define TOOLS_CTL_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct json_answer {
	const char *wrong; /* the first member with another type; NULL: none */
};

/* O may be NULL: it has no members then. A negative number is of another type.
 */
uint64_t answer_number(
    struct json_answer *a, const json_t *o, const char *name);
/* May be an integer, too. */
double answer_real(struct json_answer *a, const json_t *o, const char *name);
bool answer_bool(struct json_answer *a, const json_t *o, const char *name);
/* Borrowed from O. */
const char *answer_text(
    struct json_answer *a, const json_t *o, const char *name);
/* Borrowed from O. NULL: missing. */
const json_t *answer_object(
    struct json_answer *a, const json_t *o, const char *name);
const json_t *answer_array(
    struct json_answer *a, const json_t *o, const char *name);

/* The sum of a number, or of all numbers below an object. */
uint64_t answer_sum(struct json_answer *a, const json_t *o, const char *name);

#endif
