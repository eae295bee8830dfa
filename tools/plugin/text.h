/* SPDX-License-Identifier: MIT */
/*
 * Bytes of JSON that wait to be written.
 *
 * What cannot be stored for want of memory sets "failed", which the caller
 * tests once per record; until then all calls are harmless.
 */
#ifndef TOOLS_PLUGIN_TEXT_H
#define TOOLS_PLUGIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
	char *bytes;
	size_t len;
	size_t room;
	bool failed;
};

void text_free(struct text *t);

/* Room for N more bytes; false if there is no memory. */
bool text_grow(struct text *t, size_t n);

static inline bool
text_room(struct text *t, size_t n)
{
	return t->room - t->len >= n || text_grow(t, n);
}

static inline void
text_bytes(struct text *t, const char *bytes, size_t n)
{
	if (n > 0 && text_room(t, n)) {
		memcpy(t->bytes + t->len, bytes, n);
		t->len += n;
	}
}

static inline void
text_byte(struct text *t, char c)
{
	if (text_room(t, 1))
		t->bytes[t->len++] = c;
}

static inline void
text_puts(struct text *t, const char *s)
{
	text_bytes(t, s, strlen(s));
}

/* Decimal. */
void text_unsigned(struct text *t, uint64_t n);
void text_signed(struct text *t, int64_t n);

/*
 * The fewest of 15 to 17 digits that are read back as the same number, with a
 * point or an exponent. NaN and infinities, which JSON does not have, are the
 * strings "NaN", "Infinity" and "-Infinity".
 */
void text_real(struct text *t, double n);

/*
 * A string with quotes (RFC 8259). Control characters are escaped, those of C1
 * and of the direction of writing, too: a terminal obeys them. Each byte that
 * is no part of valid UTF-8 (RFC 3629) becomes U+FFFD.
 */
void text_string(struct text *t, const char *s, size_t len);

/* The same without quotes. */
void text_escaped(struct text *t, const char *s, size_t len);

/* Each byte that is no part of valid UTF-8 becomes U+FFFD. */
void text_utf8(struct text *t, const char *s, size_t len);

/* The same for people: with quotes only if it is not one word. */
void text_word(struct text *t, const char *s, size_t len);

/* Nanoseconds since 1970, UTC, as RFC 3339 has them, with quotes. */
void text_time(struct text *t, int64_t ns);

#endif
