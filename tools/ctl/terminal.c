/* SPDX-License-Identifier: MIT */
#include "tools/ctl/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/parse.h"

#define COLUMNS_LIMIT 10000

/* The size in an environment variable; 0: none. */
static unsigned
size_from(const char *variable)
{
	const char *s = getenv(variable);
	uint64_t n;

	return s != NULL && parse_u64(s, 1, COLUMNS_LIMIT, &n) == OK
		   ? (unsigned)n
		   : 0;
}

void
terminal_measure(struct terminal *t)
{
	struct winsize w = { 0 };

	t->columns = size_from("COLUMNS");
	t->rows = size_from("LINES");
	if (!t->is_terminal)
		return;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0) {
		t->columns = w.ws_col > 0 ? w.ws_col : t->columns;
		t->rows = w.ws_row > 0 ? w.ws_row : t->rows;
	}
	/* A serial line has no size. */
	t->columns = t->columns > 0 ? t->columns : 80;
	t->rows = t->rows > 0 ? t->rows : 24;
}

void
terminal_open(struct terminal *t)
{
	const char *no = getenv("NO_COLOR"), *kind = getenv("TERM");

	*t = (struct terminal){ .out = stdout,
		.is_terminal = isatty(STDOUT_FILENO) };
	t->has_colours = t->is_terminal && (no == NULL || *no == '\0') &&
			 kind != NULL && *kind != '\0' &&
			 strcmp(kind, "dumb") != 0;
	terminal_measure(t);
}

void
terminal_put(const struct terminal *t, enum tone tone, const char *text)
{
	static const char *const begins[] = {
		[TONE_PLAIN] = "",
		[TONE_HEAD] = "\033[1m",
		[TONE_GOOD] = "\033[32m",
		[TONE_WARNING] = "\033[33m",
		[TONE_BAD] = "\033[1;31m",
	};

	if (!t->has_colours || tone == TONE_PLAIN || *text == '\0')
		fputs(text, t->out);
	else
		fprintf(t->out, "%s%s\033[0m", begins[tone], text);
}
