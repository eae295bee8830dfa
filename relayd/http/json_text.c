/* SPDX-License-Identifier: MIT */
#include "relayd/http/json_text.h"

#include <string.h>

#include "common/clock.h"
#include "relayd/http/text.h"

static void
add(struct buf *b, const char *text)
{
	buf_bytes(b, text, strlen(text));
}

/* What stands before a value. */
static void
name_of(struct buf *b, const char *name)
{
	const size_t n = buf_len(b);
	const uint8_t last = n == 0 ? '[' : buf_data(b)[n - 1];

	if (last != '[' && last != '{')
		buf_u8(b, ',');
	if (name == NULL)
		return;
	buf_u8(b, '"');
	add(b, name);
	add(b, "\":");
}

void
json_text_open(struct buf *b, const char *name, char bracket)
{
	name_of(b, name);
	buf_u8(b, (uint8_t)bracket);
}

void
json_text_close(struct buf *b, char bracket)
{
	buf_u8(b, (uint8_t)bracket);
}

/* At least WIDTH digits. */
static void
digits(struct buf *b, uint64_t n, unsigned width)
{
	char text[24];
	char *p = text + sizeof(text);

	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0 || text + sizeof(text) - p < (ptrdiff_t)width);
	buf_bytes(b, p, (size_t)(text + sizeof(text) - p));
}

void
json_text_number(struct buf *b, const char *name, uint64_t n)
{
	name_of(b, name);
	digits(b, n, 1);
}

void
json_text_bool(struct buf *b, const char *name, bool is)
{
	name_of(b, name);
	add(b, is ? "true" : "false");
}

void
json_text_null(struct buf *b, const char *name)
{
	name_of(b, name);
	add(b, "null");
}

void
json_text_string(struct buf *b, const char *name, const char *text)
{
	name_of(b, name);
	buf_u8(b, '"');
	text_json(b, text);
	buf_u8(b, '"');
}

void
json_text_seconds(struct buf *b, const char *name, uint64_t ns)
{
	name_of(b, name);
	digits(b, ns / NS_PER_S, 1);
	buf_u8(b, '.');
	digits(b, ns / NS_PER_MS % 1000, 3);
}
