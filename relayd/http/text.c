/* SPDX-License-Identifier: MIT */
#include "relayd/http/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"

void
text_add(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	uint8_t *at;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->bad = true;
		return;
	}
	at = buf_reserve(b, (size_t)n + 1);
	if (at == NULL)
		return;
	va_start(ap, fmt);
	(void)vsnprintf((char *)at, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_added(b, (size_t)n);
}

enum kind { LABEL, JSON };

/* How many bytes from P on are letters, digits and the like, which no kind
 * escapes. */
static size_t
plain(const unsigned char *p)
{
	size_t n = 0;

	while ((p[n] >= '-' && p[n] <= ';') || (p[n] >= '@' && p[n] <= '[') ||
	       (p[n] >= ']' && p[n] <= '~') || p[n] == ' ')
		n++;
	return n;
}

static void
add_text(struct buf *b, const char *text, enum kind kind)
{
	const unsigned char *p = (const unsigned char *)text;
	uint32_t c;
	size_t n;

	for (; *p != '\0'; p += n == 0 ? 1 : n) {
		n = plain(p);
		if (n > 0) {
			buf_bytes(b, p, n);
			continue;
		}
		n = utf8_decode((const char *)p, &c);
		if (n == 0)
			buf_bytes(b, "\xef\xbf\xbd", 3);
		else if (kind == JSON && *p < ' ')
			text_add(b, "\\u%04x", *p);
		else if (kind == LABEL && *p == '\n')
			buf_bytes(b, "\\n", 2);
		else if (*p == '"' || *p == '\\')
			buf_bytes(b, *p == '"' ? "\\\"" : "\\\\", 2);
		else
			buf_bytes(b, p, n);
	}
}

void
text_label(struct buf *b, const char *value)
{
	add_text(b, value, LABEL);
}

void
text_json(struct buf *b, const char *text)
{
	add_text(b, text, JSON);
}
