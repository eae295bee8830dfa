/* SPDX-License-Identifier: MIT */
/* A Check program of one suite, so that a test file ends with its list. */
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H

#include <check.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * For helpers that children call, too, which are killed on purpose: each
 * ck_assert() writes to the runner, and half a message makes it give up.
 */
#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

struct unit {
	const TTest *test;
	size_t n;   /* rows of its table; 0: it has none */
	int signal; /* that must end it; 0: none */
};

/* The exit status for main(). */
int unit_run(const char *name, const struct unit *units, size_t n);

#endif
