/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ./runtests NAME:CASE runs one case. */
static bool
is_chosen(const struct unit *u)
{
	const char *name = getenv("TP_TEST_CASE");

	return name == NULL || strcmp(name, u->test->name) == 0;
}

int
unit_run(const char *name, const struct unit *units, size_t n)
{
	Suite *suite = suite_create(name);
	TCase *tc = tcase_create(name);
	SRunner *runner;
	bool is_ok;

	tcase_set_timeout(tc, 600);
	for (size_t i = 0; i < n; i++) {
		if (!is_chosen(&units[i]))
			continue;
		if (units[i].signal != 0)
			tcase_add_test_raise_signal(
			    tc, units[i].test, units[i].signal);
		else if (units[i].n > 0)
			tcase_add_loop_test(
			    tc, units[i].test, 0, (int)units[i].n);
		else
			tcase_add_test(tc, units[i].test);
	}
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	is_ok = srunner_ntests_run(runner) > 0 &&
		srunner_ntests_failed(runner) == 0;
	srunner_free(runner);
	return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
