/* SPDX-License-Identifier: MIT */
#include "tests/lib/script.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *script_name, *step_text;
static script_step *run_words;
static char answer[512];

void
script_fail(const char *format, ...)
{
	char why[600];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	ck_abort_msg("%s: \"%s\": %s", script_name, step_text, why);
}

void
script_say(const char *format, ...)
{
	size_t n = strlen(answer);
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(answer + n, sizeof(answer) - n, format, ap);
	va_end(ap);
}

uint64_t
script_number(const char *word)
{
	uint64_t n = 0;

	if (word != NULL && sscanf(word, "%" SCNu64, &n) != 1)
		script_fail("%s is not a number", word);
	return n;
}

bool
script_is(const char *word, const char *text)
{
	return word != NULL && strcmp(word, text) == 0;
}

static void
run_step(char *text)
{
	char copy[256], *w[SCRIPT_WORDS_MAX + 1] = { 0 };
	char *want, *at, *rest = copy;
	unsigned n = 0;

	text += strspn(text, " ");
	want = strstr(text, " = ");
	step_text = text;
	(void)snprintf(copy, sizeof(copy), "%.*s",
	    (int)(want == NULL ? strlen(text) : (size_t)(want - text)), text);
	while ((at = strtok_r(n == 0 ? copy : NULL, " ", &rest)) != NULL &&
	       n < SCRIPT_WORDS_MAX)
		w[n++] = at;
	answer[0] = '\0';
	if (n == 0 || !run_words(w))
		script_fail("unknown step");
	if (strcmp(answer, want == NULL ? "" : want + 3) != 0)
		script_fail("got \"%s\"", answer);
}

void
script_run(const char *name, const char *steps, script_step *run)
{
	char *text = strdup(steps), *step, *part, *rest, *inner, copy[512];
	unsigned times, used;

	ck_assert_ptr_nonnull(text);
	script_name = name;
	run_words = run;
	for (step = strtok_r(text, ";", &rest); step != NULL;
	     step = strtok_r(NULL, ";", &rest)) {
		used = 0;
		if (sscanf(step, " %ux %n", &times, &used) != 1 || used == 0)
			times = 1;
		while (times-- > 0) {
			(void)snprintf(copy, sizeof(copy), "%s", step + used);
			for (part = strtok_r(copy, ",", &inner); part != NULL;
			     part = strtok_r(NULL, ",", &inner))
				run_step(part);
		}
	}
	free(text);
}
