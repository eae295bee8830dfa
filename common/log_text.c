/* SPDX-License-Identifier: MIT */
#include "common/log_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"

const char *
log_level_name(enum log_level level)
{
	switch (level) {
	case LOG_ERROR:
		return "error";
	case LOG_WARN:
		return "warning";
	case LOG_NOTICE:
		return "notice";
	case LOG_INFO:
		return "info";
	case LOG_DEBUG:
		return "debug";
	}
	return "error";
}

/* Those of syslog(3): LOG_ERROR is 3, the others follow. */
static int
priority_of(enum log_level level)
{
	return 3 + (int)level;
}

static bool
in_range(unsigned char c, unsigned char low, unsigned char high)
{
	return low <= c && c <= high;
}

/*
 * The length of the printable character at S, which ends with a NUL; 0 when
 * it must be escaped. The table of well-formed UTF-8 (Unicode, table 3-7);
 * c2 80 to c2 9f are control characters.
 */
static size_t
printable_len(const unsigned char *s)
{
	static const struct {
		unsigned char first, last; /* of the first byte */
		unsigned char low, high;   /* of the second */
		size_t len;
	} rows[] = {
		{ 0xc2, 0xc2, 0xa0, 0xbf, 2 },
		{ 0xc3, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (s[0] < 0x80)
		return in_range(s[0], 0x20, 0x7e) ? 1 : 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = 2;

		if (!in_range(s[0], rows[i].first, rows[i].last))
			continue;
		if (!in_range(s[1], rows[i].low, rows[i].high))
			return 0;
		while (n < rows[i].len && in_range(s[n], 0x80, 0xbf))
			n++;
		return n == rows[i].len ? n : 0;
	}
	return 0;
}

/*
 * One character of S that cannot stand as it is, into the N bytes at OUT: the
 * length is returned, and *USED says how many bytes of S it was.
 */
static size_t
escape_one(
    char *out, size_t n, const unsigned char *s, bool is_json, size_t *used)
{
	unsigned c = s[0];

	*used = 1;
	if (!is_json)
		return (size_t)snprintf(out, n, "\\x%02x", c);
	if (c == '"' || c == '\\')
		return (size_t)snprintf(out, n, "\\%c", (int)c);
	if (c < 0x80)
		return (size_t)snprintf(out, n, "\\u%04x", c);
	/* U+0080 to U+009f */
	if (c == 0xc2 && in_range(s[1], 0x80, 0x9f)) {
		*used = 2;
		return (size_t)snprintf(out, n, "\\u%04x", (unsigned)s[1]);
	}
	return (size_t)snprintf(out, n, "\\\\x%02x", c);
}

/* Write TEXT up to END into the N bytes at OUT, never half a character. Returns
 * the length. */
static size_t
escape(char *out, size_t n, const char *text, const char *end, bool is_json)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len = 0;

	while (s < (const unsigned char *)end) {
		char one[8];
		size_t k = printable_len(s), used = k;

		if (k == 0 || (is_json && (*s == '"' || *s == '\\')))
			k = escape_one(one, sizeof(one), s, is_json, &used);
		else
			memcpy(one, s, k);
		if (len + k >= n)
			break;
		memcpy(out + len, one, k);
		len += k;
		s += used;
	}
	return len;
}

static size_t
put_time(char *out, size_t n)
{
	const uint64_t now = clock_wall_ns();
	const time_t s = (time_t)(now / NS_PER_S);
	struct tm tm = { 0 };
	size_t len;

	(void)gmtime_r(&s, &tm);
	len = strftime(out, n, "%Y-%m-%dT%H:%M:%S", &tm);
	return len + (size_t)snprintf(out + len, n - len, ".%03uZ",
			 (unsigned)(now % NS_PER_S / NS_PER_MS));
}

/* Room for what is behind a value: its quote, the brace, the newline. */
#define JSON_END 8

/* "name":"value" for a tag at *DETAIL, which then goes on behind it. */
static size_t
put_tag(char *out, size_t n, const char *name, const char **detail)
{
	const size_t k = strlen(name);
	const char *value = *detail + k + 1, *end;
	size_t len;

	if (strncmp(*detail, name, k) != 0 || (*detail)[k] != '=' ||
	    n < k + 2 * JSON_END)
		return 0;
	end = value + strcspn(value, " ");
	len = (size_t)snprintf(out, n, ",\"%s\":\"", name);
	len += escape(out + len, n - len - JSON_END, value, end, true);
	out[len++] = '"';
	*detail = *end == ' ' ? end + 1 : end;
	return len;
}

static size_t
put_json(char *out, size_t n, enum log_level level, const char *detail)
{
	static const char *const tags[] = { "peer", "session", "stream" };
	size_t len = (size_t)snprintf(out, n, "{\"time\":\"");

	len += put_time(out + len, n - len);
	len += (size_t)snprintf(
	    out + len, n - len, "\",\"level\":\"%s\"", log_level_name(level));
	/* Long names leave a third of the line for the message. */
	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		len += put_tag(out + len, n * 2 / 3 - len, tags[i], &detail);
	len += (size_t)snprintf(out + len, n - len, ",\"message\":\"");
	len += escape(out + len, n - len - JSON_END, detail,
	    detail + strlen(detail), true);
	return len + (size_t)snprintf(out + len, n - len, "\"}\n");
}

size_t
log_text(char out[LOG_JSON_MAX], struct log_look look, enum log_level level,
    const char *detail)
{
	const size_t n = look.is_json ? LOG_JSON_MAX : LOG_LINE_MAX;
	size_t len = 0;

	if (look.has_priority)
		len += (size_t)snprintf(out, n, "<%d>", priority_of(level));
	if (look.is_json)
		return len + put_json(out + len, n - len, level, detail);
	if (look.has_time) {
		len += put_time(out + len, n - len);
		out[len++] = ' ';
	}
	len += (size_t)snprintf(
	    out + len, n - len, "%s ", log_level_name(level));
	len += escape(
	    out + len, n - len, detail, detail + strlen(detail), false);
	out[len++] = '\n';
	return len;
}
