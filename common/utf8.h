/* SPDX-License-Identifier: MIT */
/*
 * Characters of text that peers choose, before people see it. Any thread.
 */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest escape, with its NUL: a pair of JSON, "\ud834\udd73". */
#define UTF8_ESCAPE_SIZE 16

/*
 * The length of the first character of S, which ends with a NUL; *C is set to
 * the character. 0: the first byte does not begin a well-formed character
 * (RFC 3629), and *C is UINT32_MAX.
 */
size_t utf8_decode(const char *s, uint32_t *c);

/*
 * Is C invisible, or does it change how the characters around it are read?
 * These are controls, format characters (Cf: U+202E and the like), line and
 * paragraph separators, default-ignorable characters, and noncharacters
 * (Unicode 17). They are escaped wherever people read.
 */
bool utf8_is_hidden(uint32_t c);

/*
 * "\u202e", "\U000e0001", or "\x1b" for a single byte: a C that is below 0x80
 * or UINT32_MAX, where BYTE counts. Returns the length.
 */
size_t utf8_escape(char out[UTF8_ESCAPE_SIZE], uint32_t c, char byte);

#endif
