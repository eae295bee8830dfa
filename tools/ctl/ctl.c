/* SPDX-License-Identifier: MIT */
#include "tools/ctl/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/text.h"

/* Of a line, with its escapes. */
#define LINE_BYTES 1024

int
ctl_fail(const char *fmt, ...)
{
	va_list ap;

	fputs("tracepulse: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
	return CTL_FAILED;
}

int
ctl_fail_fetch(const struct ctl *c)
{
	return ctl_fail("%s", fetch_error(c->fetch));
}

int
ctl_print_json(const struct ctl *c, const json_t *j)
{
	/* Other than ASCII characters may change a terminal's text direction.
	 */
	const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(15) |
			     (c->terminal.is_terminal ? JSON_ENSURE_ASCII : 0);

	if (json_dumpf(j, stdout, flags) != 0)
		return ctl_fail("cannot write to standard output");
	putc('\n', stdout);
	return CTL_OK;
}

void *
ctl_memory(void *p)
{
	if (p == NULL)
		exit(ctl_fail("out of memory"));
	return p;
}

char *
ctl_text(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	return ctl_memory(text);
}

bool
ctl_is_called(const char *text, const char *host, const char *name)
{
	const size_t n = strlen(host);

	return strcmp(text, name) == 0 ||
	       (strncmp(text, host, n) == 0 && text[n] == '/' &&
		   strcmp(text + n + 1, name) == 0);
}

void
ctl_print_name(const char *host, const char *name)
{
	char shown[2][1024];

	text_escape(shown[0], sizeof(shown[0]), host);
	text_escape(shown[1], sizeof(shown[1]), name);
	if (strcmp(shown[0], host) == 0 && strcmp(shown[1], name) == 0)
		printf("%s/%s\n", host, name);
}

void
ctl_line(const struct ctl *c, const char *label, enum tone tone,
    const char *fmt, ...)
{
	char text[LINE_BYTES], escaped[LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(c->terminal.out, "%-12s ", label);
	terminal_put(
	    &c->terminal, tone, text_escape(escaped, sizeof(escaped), text));
	putc('\n', c->terminal.out);
}
