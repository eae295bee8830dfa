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

/* The longest shape of one character: \U0010ffff. */
#define SHAPE_MAX 12

/* Characters that are not seen, but change what is (Unicode's category Cf, and
 * the separators of lines). The first and the last of each range. */
static const uint32_t unseen[][2] = {
	{ 0xad, 0xad },
	{ 0x600, 0x605 },
	{ 0x61c, 0x61c },
	{ 0x180e, 0x180e },
	{ 0x200b, 0x200f },
	{ 0x2028, 0x202e },
	{ 0x2060, 0x206f },
	{ 0xfeff, 0xfeff },
	{ 0xfff9, 0xfffb },
	{ 0xe0000, 0xe0fff },
};

/* The character at *S, which moves behind it. UINT32_MAX: the byte there is no
 * UTF-8 (RFC 3629). */
static uint32_t
next_character(const char **s)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)*s;
	unsigned more = p[0] < 0x80		      ? 0
			: p[0] >= 0xc2 && p[0] < 0xe0 ? 1
			: p[0] >= 0xe0 && p[0] < 0xf0 ? 2
			: p[0] >= 0xf0 && p[0] < 0xf5 ? 3
						      : 4;
	uint32_t c = more == 0 ? p[0] : p[0] & (0x3fu >> more);

	*s += 1;
	if (more == 4)
		return UINT32_MAX;
	for (unsigned i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return UINT32_MAX;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return UINT32_MAX;
	*s += more;
	return c;
}

static bool
is_utf8_locale(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static bool
can_be_shown(uint32_t c)
{
	if (c < 0x80)
		return c >= 0x20 && c != 0x7f;
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
		if (c >= unseen[i][0] && c <= unseen[i][1])
			return false;
	return is_utf8_locale() && iswprint((wint_t)c) &&
	       wcwidth((wchar_t)c) >= 0;
}

/* How the character from FROM to TO is shown; the length. */
static size_t
shape(char out[SHAPE_MAX], uint32_t c, const char *from, const char *to)
{
	if (c != UINT32_MAX && can_be_shown(c)) {
		memcpy(out, from, (size_t)(to - from));
		return (size_t)(to - from);
	}
	if (c == UINT32_MAX || c < 0x80)
		return (size_t)snprintf(
		    out, SHAPE_MAX, "\\x%02x", (unsigned char)*from);
	return (size_t)snprintf(
	    out, SHAPE_MAX, c < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32, c);
}

char *
text_escape(char *out, size_t n, const char *s)
{
	char one[SHAPE_MAX];
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
	/* A byte becomes 4 at most; the two of a character \u00a0, 6. */
	const size_t n = strlen(s) * 4 + 1;
	char *out = malloc(n), *less;

	if (out == NULL)
		return NULL;
	text_escape(out, n, s);
	less = realloc(out, strlen(out) + 1);
	return less == NULL ? out : less;
}

void
text_make_plain(char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
			*s = '?';
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
with_unit(char out[TEXT_UNIT_MAX], double n, const char *behind)
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
	    n, units[u], behind);
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
	/* Below a byte per second nothing comes. */
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
