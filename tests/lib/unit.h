/* SPDX-License-Identifier: MIT */
/* A Check program of one suite, so that a test file ends with its list. */
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H

#include <check.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * Check reports each assertion that holds to the process that runs the tests,
 * in case the next one crashes. Where assertions are in loops, these writes
 * take most of the time; what crashes here is seen by AddressSanitizer or a
 * debugger.
 */
#define _mark_point(file, line) ((void)0)

/*
 * For helpers that child processes call, too, which are killed on purpose: each
 * ck_assert() writes to the test runner, and half a message makes the runner
 * give up.
 */
#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

struct unit {
	const TTest *test;
	size_t n;   /* rows of its table; 0: it has none */
	int signal; /* it must end the test; 0: none */
};

/* From here on standard error is a file without a name. */
void unit_capture_stderr(void);
/* The lines that are in it. */
unsigned unit_stderr_lines(void);

/* Runs the units, or only the one that TP_TEST_CASE names. Returns the exit
 * status for main(). */
int unit_run(const char *name, const struct unit *units, size_t n);

#endif
