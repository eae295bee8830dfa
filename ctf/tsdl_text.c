/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "ctf/tsdl_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Most lines are shorter. */
#define LINE 128

void
tsdl_text(struct buf *out, const char *s)
{
	buf_bytes(out, s, strlen(s));
}

void
tsdl_format(struct buf *out, const char *fmt, ...)
{
	size_t space = LINE, n = 0;

	for (unsigned i = 0; i < 2; i++) {
		uint8_t *at = buf_reserve(out, space);
		va_list ap;
		int k;

		if (at == NULL)
			return;
		va_start(ap, fmt);
		k = vsnprintf((char *)at, space, fmt, ap);
		va_end(ap);
		n = k < 0 ? 0 : (size_t)k;
		if (n < space)
			break;
		space = n + 1;
	}
	buf_added(out, n);
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
