/* SPDX-License-Identifier: MIT */
#include "common/utf8.h"

#include <string.h>

#include "common/compiler.h"
#include "tests/lib/unit.h"

static const struct {
	const char *text;
	size_t len; /* 0: not UTF-8 */
	uint32_t c;
} characters[] = {
	{ "", 1, 0 },
	{ "a", 1, 'a' },
	{ "\x7f", 1, 0x7f },
	{ "\xc2\x80", 2, 0x80 },
	{ "\xc3\xa9x", 2, 0xe9 },
	{ "\xe2\x80\xae", 3, 0x202e },
	{ "\xef\xbf\xbf", 3, 0xffff },
	{ "\xf0\x9f\x98\x80", 4, 0x1f600 },
	{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
	{ "\x80", 0, UINT32_MAX },
	{ "\xc0\xaf", 0, UINT32_MAX },
	{ "\xe0\x80\xaf", 0, UINT32_MAX },
	{ "\xed\xa0\x80", 0, UINT32_MAX },
	{ "\xf4\x90\x80\x80", 0, UINT32_MAX },
	{ "\xf8\x88\x80\x80\x80", 0, UINT32_MAX },
	{ "\xff", 0, UINT32_MAX },
	{ "\xc3", 0, UINT32_MAX },
	{ "\xe2\x80", 0, UINT32_MAX },
	{ "\xf0\x9f\x98", 0, UINT32_MAX },
};

TEST_ROWS(characters_are_decoded, ARRAY_LEN(characters))
{
	uint32_t c = 1;

	ck_assert_uint_eq(
	    utf8_decode(characters[_i].text, &c), characters[_i].len);
	ck_assert_uint_eq(c, characters[_i].c);
}

TEST(hidden_characters_are_known)
{
	static const uint32_t hidden[] = { 0, '\n', 0x1b, 0x7f, 0x80, 0x9f,
		0xad, 0x34f, 0x600, 0x61c, 0x70f, 0x115f, 0x180e, 0x200b,
		0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066,
		0x2069, 0x3164, 0xfdd0, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xfffe,
		0xffff, 0x110bd, 0x1d173, 0x1ffff, 0xe0001, 0xe007f, 0xe0100,
		0x10ffff };
	static const uint32_t seen[] = { ' ', '~', 0xa0, 0xac, 0xae, 0xe9,
		0x301, 0x5d0, 0x606, 0x628, 0x200a, 0x2010, 0x2027, 0x202f,
		0x205f, 0x2070, 0x6f22, 0xfdcf, 0xfffc, 0xfffd, 0x1f600,
		0xf0000 };

	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		ck_assert_msg(utf8_is_hidden(hidden[i]), "%x", hidden[i]);
	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		ck_assert_msg(!utf8_is_hidden(seen[i]), "%x", seen[i]);
}

static const struct {
	uint32_t c;
	char byte;
	const char *text;
} escapes[] = {
	{ 0x1b, '\x1b', "\\x1b" },
	{ UINT32_MAX, '\xff', "\\xff" },
	{ 0x9b, '\xc2', "\\u009b" },
	{ 0x202e, '\xe2', "\\u202e" },
	{ 0xe0001, '\xf3', "\\U000e0001" },
};

TEST_ROWS(escapes_are_those_of_c, ARRAY_LEN(escapes))
{
	char out[UTF8_ESCAPE_SIZE];

	ck_assert_uint_eq(utf8_escape(out, escapes[_i].c, escapes[_i].byte),
	    strlen(escapes[_i].text));
	ck_assert_str_eq(out, escapes[_i].text);
}
