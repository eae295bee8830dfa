/* SPDX-License-Identifier: MIT */
/* "Did you mean ...?" Any thread. */
#ifndef COMMON_NEAR_H
#define COMMON_NEAR_H

#include <stdbool.h>

/* Words are compared up to this length. */
#define NEAR_WORD_MAX 48

/*
 * How many letters must be inserted, removed, changed or swapped with their
 * neighbour to make A from B, in any case of letters; '_' is as good as '-'.
 */
unsigned near_distance(const char *a, const char *b);

/* Is DISTANCE small enough that somebody who wrote A may have meant a word that
 * is so far from it? */
bool near_enough(const char *a, unsigned distance);

#endif
