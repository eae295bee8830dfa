/* SPDX-License-Identifier: MIT */
#include "common/utf8.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/compiler.h"

size_t
utf8_decode(const char *s, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	const size_t n = p[0] < 0x80		 ? 1
			 : (p[0] & 0xe0) == 0xc0 ? 2
			 : (p[0] & 0xf0) == 0xe0 ? 3
			 : (p[0] & 0xf8) == 0xf0 ? 4
						 : 0;
	uint32_t v = n < 2 ? p[0] : p[0] & (0x7fu >> n);

	*c = UINT32_MAX;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (p[i] & 0x3f);
	}
	if (n == 0 || v < least[n] || v > 0x10ffff ||
	    (v >= 0xd800 && v < 0xe000))
		return 0;
	*c = v;
	return n;
}

bool
utf8_is_hidden(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0xad, 0xad },
		{ 0x34f, 0x34f },
		{ 0x600, 0x605 },
		{ 0x61c, 0x61c },
		{ 0x6dd, 0x6dd },
		{ 0x70f, 0x70f },
		{ 0x890, 0x891 },
		{ 0x8e2, 0x8e2 },
		{ 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },
		{ 0x180b, 0x180f },
		{ 0x200b, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },
		{ 0x3164, 0x3164 },
		{ 0xfdd0, 0xfdef },
		{ 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb },
		{ 0x110bd, 0x110bd },
		{ 0x110cd, 0x110cd },
		{ 0x13430, 0x1343f },
		{ 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff },
	};

	if (c < 0xa0)
		return c < 0x20 || c >= 0x7f;
	for (size_t i = 0; i < ARRAY_LEN(ranges) && c >= ranges[i][0]; i++)
		if (c <= ranges[i][1])
			return true;
	return (c & 0xfffe) == 0xfffe; /* noncharacters */
}

size_t
utf8_escape(char out[UTF8_ESCAPE_SIZE], uint32_t c, char byte)
{
	int n;

	if (c < 0x80 || c == UINT32_MAX)
		n = snprintf(
		    out, UTF8_ESCAPE_SIZE, "\\x%02x", (unsigned char)byte);
	else if (c < 0x10000)
		n = snprintf(out, UTF8_ESCAPE_SIZE, "\\u%04" PRIx32, c);
	else
		n = snprintf(out, UTF8_ESCAPE_SIZE, "\\U%08" PRIx32, c);
	return (size_t)n;
}
