/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "ctf/tsdl_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
tsdl_text(struct buf *out, const char *s)
{
	buf_bytes(out, s, strlen(s));
}

void
tsdl_format(struct buf *out, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		out->bad = true;
		return;
	}
	buf_bytes(out, text, (size_t)n);
	free(text);
}

/* Strings have the escapes of C: octal ones have at most three digits, so that
 * a digit may follow. */
void
tsdl_quoted(struct buf *out, const char *s)
{
	tsdl_text(out, "\"");
	for (; *s != '\0'; s++) {
		const unsigned char c = (unsigned char)*s;

		if (c >= ' ' && c <= '~' && c != '"' && c != '\\')
			buf_u8(out, c);
		else
			tsdl_format(out, "\\%03o", c);
	}
	tsdl_text(out, "\"");
}

void
tsdl_uuid(struct buf *out, const uint8_t u[CTF_UUID_LEN])
{
	tsdl_text(out, "\"");
	for (unsigned i = 0; i < CTF_UUID_LEN; i++)
		tsdl_format(out, "%s%02x",
		    i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	tsdl_text(out, "\"");
}
