/* SPDX-License-Identifier: MIT */
#include "common/log_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/utf8.h"

static const char *const level_names[] = { [LOG_ERROR] = "error",
	[LOG_WARN] = "warning",
	[LOG_NOTICE] = "notice",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug" };

/* LOG_ERROR is 3, the others follow. */
int
log_priority(enum log_level level)
{
	return 3 + (int)level;
}

/*
 * Writes the character C, whose first byte is BYTE, as an escape to OUT, and
 * returns its length. In JSON a byte that is not UTF-8 becomes the text \xNN.
 */
static size_t
escape_one(char out[UTF8_ESCAPE_SIZE], uint32_t c, char byte, bool is_json)
{
	if (!is_json)
		return utf8_escape(out, c, byte);
	if (c == '"' || c == '\\')
		return (size_t)snprintf(out, UTF8_ESCAPE_SIZE, "\\%c", byte);
	if (c == UINT32_MAX)
		return (size_t)snprintf(
		    out, UTF8_ESCAPE_SIZE, "\\\\x%02x", (unsigned char)byte);
	if (c < 0x10000)
		return (size_t)snprintf(
		    out, UTF8_ESCAPE_SIZE, "\\u%04x", (unsigned)c);
	c -= 0x10000;
	return (size_t)snprintf(out, UTF8_ESCAPE_SIZE, "\\u%04x\\u%04x",
	    0xd800 + (unsigned)(c >> 10), 0xdc00 + (unsigned)(c & 0x3ff));
}

size_t
log_escape(char *out, size_t n, const char *text, const char *end, bool is_json)
{
	size_t len = 0;

	while (text < end) {
		char one[UTF8_ESCAPE_SIZE];
		uint32_t c;
		size_t k = utf8_decode(text, &c), used = k == 0 ? 1 : k;

		if (k == 0 || utf8_is_hidden(c) ||
		    (is_json && (c == '"' || c == '\\')))
			k = escape_one(one, c, *text, is_json);
		else
			memcpy(one, text, k);
		if (len + k >= n)
			break;
		memcpy(out + len, one, k);
		len += k;
		text += used;
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

/* Bytes after a value: its quote, the brace, the newline. */
#define JSON_END 8

size_t
log_take_tag(const char *name, const char **detail, const char **value)
{
	const size_t k = strlen(name);
	size_t len;

	*value = *detail;
	if (strncmp(*detail, name, k) != 0 || (*detail)[k] != '=')
		return 0;
	*value = *detail + k + 1;
	len = strcspn(*value, " ");
	*detail = *value + len + ((*value)[len] == ' ');
	return len;
}

/* "name":"value" for a tag at the start of *DETAIL. */
static size_t
put_tag(char *out, size_t n, const char *name, const char **detail)
{
	size_t len, value_len;
	const char *value;

	if (n < strlen(name) + 2 * JSON_END)
		return 0;
	value_len = log_take_tag(name, detail, &value);
	if (value_len == 0)
		return 0;
	len = (size_t)snprintf(out, n, ",\"%s\":\"", name);
	len += log_escape(
	    out + len, n - len - JSON_END, value, value + value_len, true);
	out[len++] = '"';
	return len;
}

static size_t
put_json(char *out, size_t n, enum log_level level, const char *detail)
{
	static const char *const tags[] = { "peer", "host", "session",
		"stream" };
	size_t len = (size_t)snprintf(out, n, "{\"time\":\"");

	len += put_time(out + len, n - len);
	len += (size_t)snprintf(
	    out + len, n - len, "\",\"level\":\"%s\"", level_names[level]);
	/* Long names leave a third of the line for the message. */
	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		len += put_tag(out + len, n * 2 / 3 - len, tags[i], &detail);
	len += (size_t)snprintf(out + len, n - len, ",\"message\":\"");
	len += log_escape(out + len, n - len - JSON_END, detail,
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
		len += (size_t)snprintf(out, n, "<%d>", log_priority(level));
	if (look.is_json)
		return len + put_json(out + len, n - len, level, detail);
	if (look.has_time) {
		len += put_time(out + len, n - len);
		out[len++] = ' ';
	}
	len += (size_t)snprintf(out + len, n - len, "%s ", level_names[level]);
	len += log_escape(
	    out + len, n - len, detail, detail + strlen(detail), false);
	out[len++] = '\n';
	return len;
}
