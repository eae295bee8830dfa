/* SPDX-License-Identifier: MIT */
/*
 * Members of the relay's answers. One that is not there is 0, "" or NULL, since
 * other versions of the relay have more or fewer; one of another type makes the
 * answer wrong, which is looked at once, at the end. Any thread.
 */
#ifndef TOOLS_CTL_ANSWER_H
#define TOOLS_CTL_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct answer {
	const char *wrong; /* the first member with another type; NULL: none */
};

/* O may be NULL: then nothing is there. Below 0 is another type. */
uint64_t answer_number(struct answer *a, const json_t *o, const char *name);
/* An integer will do, too. */
double answer_real(struct answer *a, const json_t *o, const char *name);
bool answer_bool(struct answer *a, const json_t *o, const char *name);
/* Borrowed from O. */
const char *answer_text(struct answer *a, const json_t *o, const char *name);
/* Borrowed from O. NULL: not there. */
const json_t *answer_object(
    struct answer *a, const json_t *o, const char *name);
const json_t *answer_array(struct answer *a, const json_t *o, const char *name);

/* The sum of a number, or of all numbers below an object. */
uint64_t answer_sum(struct answer *a, const json_t *o, const char *name);

#endif
