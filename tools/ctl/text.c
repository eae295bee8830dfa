/* SPDX-License-Identifier: MIT */
#include "tools/ctl/text.h"

#include <math.h>
#include <inttypes.h>
#include <langinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
#include <wctype.h>

#include "common/utf8.h"
#include "tools/ctl/ctl.h"

/* The character at *S, which moves past it. UINT32_MAX: a byte that is not
 * UTF-8. */
static uint32_t
next_character(const char **s)
{
	uint32_t c;
	const size_t n = utf8_decode(*s, &c);

	*s += n == 0 ? 1 : n;
	return c;
}

/* How the character from FROM to TO is shown; returns the length. */
static size_t
shape(char out[UTF8_ESCAPE_SIZE], uint32_t c, const char *from, const char *to)
{
	const bool has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;

	if (c == UINT32_MAX || utf8_is_hidden(c) ||
	    (c >= 0x80 &&
		(!has_utf8 || !iswprint((wint_t)c) || wcwidth((wchar_t)c) < 0)))
		return utf8_escape(out, c, *from);
	memcpy(out, from, (size_t)(to - from));
	return (size_t)(to - from);
}

char *
text_escape(char *out, size_t n, const char *s)
{
	char one[UTF8_ESCAPE_SIZE];
	const char *from;
	size_t at = 0, len;
	uint32_t c;

	while (*s != '\0') {
		from = s;
		c = next_character(&s);
		len = shape(one, c, from, s);
		if (at + len >= n)
			break;
		memcpy(out + at, one, len);
		at += len;
	}
	out[at] = '\0';
	return out;
}

char *
text_escaped(const char *s)
{
	/* A byte becomes at most 4; the two of a character like \u00a0, 6. */
	const size_t n = strlen(s) * 4 + 1;
	char *out = ctl_memory(malloc(n));

	text_escape(out, n, s);
	return ctl_memory(realloc(out, strlen(out) + 1));
}

static unsigned
columns_of(uint32_t c)
{
	int w = c < 0x80 ? 1 : wcwidth((wchar_t)c);

	return w < 0 ? 0 : (unsigned)w;
}

unsigned
text_width(const char *s)
{
	unsigned n = 0;

	while (*s != '\0')
		n += columns_of(next_character(&s));
	return n;
}

size_t
text_fit(const char *s, unsigned columns)
{
	const char *start = s, *before = s;
	unsigned n = 0;

	while (*s != '\0') {
		before = s;
		n += columns_of(next_character(&s));
		if (n > columns)
			return (size_t)(before - start);
	}
	return (size_t)(s - start);
}

static char *
with_unit(char out[TEXT_UNIT_MAX], double n, const char *suffix)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB",
		"PiB", "EiB" };
	unsigned u = 0;

	/* 1023.5 would be shown as 1024. */
	while (n >= (u == 0 ? 1024 : 1023.5) &&
	       u < sizeof(units) / sizeof(units[0]) - 1) {
		n /= 1024;
		u++;
	}
	snprintf(out, TEXT_UNIT_MAX, "%.*f %s%s", u == 0 || n >= 99.95 ? 0 : 1,
	    n, units[u], suffix);
	return out;
}

char *
text_bytes(char out[TEXT_UNIT_MAX], uint64_t n)
{
	return with_unit(out, (double)n, "");
}

char *
text_rate(char out[TEXT_UNIT_MAX], double n)
{
	/* Less than a byte per second counts as nothing. */
	return with_unit(out,
	    !isfinite(n) || n < 1 ? 0
	    : n < 1e18		  ? n
				  : 1e18,
	    "/s");
}

char *
text_per_second(char out[TEXT_UNIT_MAX], double n)
{
	if (!isfinite(n) || n <= 0)
		n = 0;
	else if (n < 0.1)
		n = 0.1;
	else if (n > 1e18)
		n = 1e18;
	snprintf(out, TEXT_UNIT_MAX, "%.*f", n > 0 && n < 9.95 ? 1 : 0, n);
	return out;
}

char *
text_count(char out[TEXT_UNIT_MAX], uint64_t n, const char *one)
{
	snprintf(
	    out, TEXT_UNIT_MAX, "%" PRIu64 " %s%s", n, one, n == 1 ? "" : "s");
	return out;
}

char *
text_duration(char out[TEXT_UNIT_MAX], double seconds)
{
	const uint64_t s = !isfinite(seconds) || seconds < 0 ? 0
			   : seconds < 1e15		     ? (uint64_t)seconds
							     : 1000000000000000;

	if (s < 60)
		snprintf(out, TEXT_UNIT_MAX, "%" PRIu64 "s", s);
	else if (s < 3600)
		snprintf(out, TEXT_UNIT_MAX, "%" PRIu64 "m %02" PRIu64 "s",
		    s / 60, s % 60);
	else if (s < 86400)
		snprintf(out, TEXT_UNIT_MAX, "%" PRIu64 "h %02" PRIu64 "m",
		    s / 3600, s / 60 % 60);
	else
		snprintf(out, TEXT_UNIT_MAX, "%" PRIu64 "d %02" PRIu64 "h",
		    s / 86400, s / 3600 % 24);
	return out;
}

char *
text_time(char out[TEXT_UNIT_MAX], uint64_t seconds)
{
	const time_t t = (time_t)seconds;
	struct tm tm;

	if (seconds == 0 || seconds > INT64_MAX ||
	    localtime_r(&t, &tm) == NULL ||
	    strftime(out, TEXT_UNIT_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(out, TEXT_UNIT_MAX, "-");
	return out;
}
