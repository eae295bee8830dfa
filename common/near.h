/* SPDX-License-Identifier: MIT */
/* "Did you mean ...?" Any thread. */
#ifndef COMMON_NEAR_H
#define COMMON_NEAR_H

#include <stdbool.h>

/* Words are compared up to this length. */
#define NEAR_WORD_MAX 48

/*
 * The number of letters that must be inserted, removed, changed or swapped with
 * the next one to turn B into A. Ignores case; '_' equals '-'.
 */
unsigned near_distance(const char *a, const char *b);

/* Is DISTANCE small enough for A to be a misspelling of that word? */
bool near_enough(const char *a, unsigned distance);

#endif
