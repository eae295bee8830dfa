/* SPDX-License-Identifier: MIT */
/*
 * Tests written as text, step after step, for what is a sequence of calls with
 * their results. Steps are separated by ";". A step is WORDS, or WORDS =
 * ANSWER; each answer must be given, and must be the whole one. "3x STEP, STEP"
 * does these three times.
 *
 *     append 3; file 1; place 2 = file 0 from 0; 3x append 1, place 3 = gone
 */
#ifndef TESTS_LIB_SCRIPT_H
#define TESTS_LIB_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"

#define SCRIPT_WORDS_MAX 8 /* of a step */

/* Runs a step: W are its words, then NULL. False: the first one is unknown. */
typedef bool script_step(char **w);

/* Failures name NAME, which says what is true, and the step. */
void script_run(const char *name, const char *steps, script_step *run);

/* For a function that runs steps: append to its answer; end the test; the
 * number that a word is, 0 if there is none. */
void script_say(const char *format, ...) PRINTF_LIKE(1, 2);
void script_fail(const char *format, ...) PRINTF_LIKE(1, 2);
uint64_t script_number(const char *word);
/* Is W there, and TEXT? */
bool script_is(const char *word, const char *text);

#endif
