/* SPDX-License-Identifier: MIT */
/* Check programs of one suite. A program that has no main() gets one that runs
 * its tests. */
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

/*
 * A test; the body follows in braces. TEST_ROWS: it runs once for each row of a
 * table of N rows, with the row's number in _i. TEST_SIGNAL: SIGNAL must end
 * it.
 */
#define TEST(name) UNIT_TEST(name, 0, 0)
#define TEST_ROWS(name, n) UNIT_TEST(name, n, 0)
#define TEST_SIGNAL(name, signal) UNIT_TEST(name, 0, signal)

#define UNIT_TEST(name, n, signal)                                     \
	static const TTest *name;                                      \
	__attribute__((constructor)) static void unit_add_##name(void) \
	{                                                              \
		unit_add(name, (size_t)(n), signal);                   \
	}                                                              \
	START_TEST(name)
void unit_add(const TTest *test, size_t n_rows, int signal);

/* Of the whole program: functions that run before and after each test, in its
 * process; either may be NULL. A test that fails ends without AFTER. */
#define EACH_TEST(before, after)                                      \
	__attribute__((constructor)) static void unit_each_test(void) \
	{                                                             \
		unit_each(before, after);                             \
	}
void unit_each(void (*before)(void), void (*after)(void));

/* From here on standard error is a file without a name. */
void unit_capture_stderr(void);
/* The lines that are in it. */
unsigned unit_stderr_lines(void);

/* Runs the tests, or only the one that TP_TEST_CASE names. Returns the exit
 * status for main(). */
int unit_run(void);

#endif
