/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/plugin/text.h"

enum {
	TEXT_FIRST_ROOM = 4096,
	NS_PER_S = 1000000000,
};

void
text_free(struct text *t)
{
	free(t->bytes);
	*t = (struct text){ 0 };
}

bool
text_grow(struct text *t, size_t n)
{
	size_t room = t->room > 0 ? t->room : TEXT_FIRST_ROOM;
	char *bytes;

	while (room - t->len < n)
		room *= 2;
	bytes = realloc(t->bytes, room);
	if (bytes == NULL) {
		t->failed = true;
		return false;
	}
	t->bytes = bytes;
	t->room = room;
	return true;
}

void
text_unsigned(struct text *t, uint64_t n)
{
	char digits[20];
	char *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	text_bytes(t, p, (size_t)(digits + sizeof(digits) - p));
}

void
text_signed(struct text *t, int64_t n)
{
	if (n < 0)
		text_byte(t, '-');
	text_unsigned(t, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void
text_real(struct text *t, double n)
{
	char out[40];
	char *comma;

	if (isnan(n)) {
		text_puts(t, "\"NaN\"");
		return;
	}
	if (isinf(n)) {
		text_puts(t, n < 0 ? "\"-Infinity\"" : "\"Infinity\"");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, sizeof(out), "%.*g", digits, n);
		if (strtod(out, NULL) == n)
			break;
	}
	comma = strchr(out, ',');
	if (comma != NULL) /* of the locale */
		*comma = '.';
	text_puts(t, out);
	if (strpbrk(out, ".e") == NULL)
		text_puts(t, ".0");
}

/* Bytes of the character at S, of which LEFT are there; 0: not UTF-8. */
static size_t
utf8_len(const unsigned char *s, size_t left)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (left < len)
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return len;
}

void
text_utf8(struct text *t, const char *s, size_t len)
{
	for (size_t i = 0, n; i<len; i += n> 0 ? n : 1) {
		n = utf8_len((const unsigned char *)s + i, len - i);
		if (n > 0)
			text_bytes(t, s + i, n);
		else
			text_puts(t, "\xef\xbf\xbd");
	}
}

static bool
is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* A character of two or three bytes that a terminal obeys: U+0080 to U+009F,
 * U+202A to U+202E and U+2066 to U+2069. 0: it is another one. */
static unsigned
control(const unsigned char *s, size_t len)
{
	if (len == 2 && s[0] == 0xc2 && s[1] < 0xa0)
		return s[1];
	if (len != 3 || s[0] != 0xe2)
		return 0;
	if ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
	    (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9))
		return 0x2000 + (s[1] & 0x3fu) * 64 + (s[2] & 0x3fu);
	return 0;
}

static void
escape(struct text *t, unsigned c)
{
	static const char letters[] = "btn\0fr";
	char out[8];

	if (c == '"' || c == '\\') {
		text_byte(t, '\\');
		text_byte(t, (char)c);
	} else if (c >= '\b' && c <= '\r' && c != '\v') {
		text_byte(t, '\\');
		text_byte(t, letters[c - '\b']);
	} else {
		snprintf(out, sizeof(out), "\\u%04x", c);
		text_puts(t, out);
	}
}

void
text_escaped(struct text *t, const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t i = 0;

	while (i < len) {
		size_t start = i, n;

		while (i < len && is_plain(u[i]))
			i++;
		text_bytes(t, s + start, i - start);
		if (i == len)
			break;
		n = utf8_len(u + i, len - i);
		if (n == 0)
			text_puts(t, "\xef\xbf\xbd");
		else if (n == 1)
			escape(t, u[i]);
		else if (control(u + i, n) != 0)
			escape(t, control(u + i, n));
		else
			text_bytes(t, s + i, n);
		i += n > 0 ? n : 1;
	}
}

void
text_string(struct text *t, const char *s, size_t len)
{
	text_byte(t, '"');
	text_escaped(t, s, len);
	text_byte(t, '"');
}

void
text_word(struct text *t, const char *s, size_t len)
{
	static const char separators[] = " =,{}[]";
	size_t i = 0;

	while (i < len && is_plain((unsigned char)s[i]) &&
	       strchr(separators, s[i]) == NULL)
		i++;
	if (i == len && len > 0)
		text_bytes(t, s, len);
	else
		text_string(t, s, len);
}

void
text_time(struct text *t, int64_t ns)
{
	/* Most events are in the second of the one before. */
	static _Thread_local int64_t second = INT64_MIN;
	static _Thread_local char out[sizeof("\"1970-01-01T00:00:00.")];
	int64_t s = ns / NS_PER_S;
	int64_t rest = ns % NS_PER_S;
	char digits[11] = "000000000Z\"";

	if (rest < 0) {
		rest += NS_PER_S;
		s--;
	}
	if (s != second) {
		struct tm tm;

		gmtime_r(&(time_t){ s }, &tm);
		strftime(out, sizeof(out), "\"%Y-%m-%dT%H:%M:%S.", &tm);
		second = s;
	}
	for (int i = 8; rest > 0; i--, rest /= 10)
		digits[i] = (char)('0' + rest % 10);
	text_bytes(t, out, sizeof(out) - 1);
	text_bytes(t, digits, sizeof(digits));
}
