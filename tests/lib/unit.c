/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNITS_MAX 100 /* of one program */

void
unit_capture_stderr(void)
{
	FILE *f = tmpfile();

	MUST(f != NULL && dup2(fileno(f), STDERR_FILENO) >= 0);
	fclose(f);
}

unsigned
unit_stderr_lines(void)
{
	unsigned lines = 0;
	char bytes[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(STDERR_FILENO, bytes, sizeof(bytes), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			lines += bytes[i] == '\n';
		at += n;
	}
	return lines;
}

static struct unit {
	const TTest *test;
	size_t n_rows; /* 0: it has no table */
	int signal;    /* that must end it; 0: none */
} units[UNITS_MAX];
static size_t n_units;
static void (*before_each)(void), (*after_each)(void);

void
unit_add(const TTest *test, size_t n_rows, int signal)
{
	MUST(n_units < UNITS_MAX);
	units[n_units++] = (struct unit){ test, n_rows, signal };
}

void
unit_each(void (*before)(void), void (*after)(void))
{
	before_each = before;
	after_each = after;
}

int
unit_run(void)
{
	/* ./runtests NAME:CASE runs one case. */
	const char *chosen = getenv("TP_TEST_CASE");
	const char *program = program_invocation_short_name;
	Suite *suite = suite_create(program);
	TCase *tc = tcase_create(program);
	SRunner *runner;
	bool is_ok;

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, before_each, after_each);
	for (const struct unit *u = units; u < units + n_units; u++) {
		if (chosen != NULL && strcmp(chosen, u->test->name) != 0)
			continue;
		if (u->signal != 0)
			tcase_add_test_raise_signal(tc, u->test, u->signal);
		else if (u->n_rows > 0)
			tcase_add_loop_test(tc, u->test, 0, (int)u->n_rows);
		else
			tcase_add_test(tc, u->test);
	}
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	is_ok = srunner_ntests_run(runner) > 0 &&
		srunner_ntests_failed(runner) == 0;
	srunner_free(runner);
	return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
