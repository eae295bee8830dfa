/* SPDX-License-Identifier: MIT */
/* Against the definition, bit by bit. */
#include "common/checksum.h"

#include "common/compiler.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"

static uint32_t
slow_crc32(uint32_t crc, const uint8_t *p, size_t n)
{
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* Row: the length; from every place in a word. */
TEST_ROWS(every_length_and_place, 600)
{
	uint8_t noise[700];
	struct bytes b;
	uint32_t x = 12345;

	for (size_t i = 0; i < sizeof(noise); i++) {
		x = x * 1664525 + 1013904223;
		noise[i] = (uint8_t)(x >> 24);
	}
	for (size_t from = 0; from < 17; from++) {
		const uint32_t seed = from % 2 == 0 ? 0 : 0xdeadbeef;

		b = bytes_copy(noise + from, (size_t)_i);
		ck_assert_uint_eq(
		    checksum_crc32(seed, b.p, b.n), slow_crc32(seed, b.p, b.n));
		free(b.p);
	}
}

TEST(the_known_one)
{
	ck_assert_uint_eq(checksum_crc32(0, "123456789", 9), 0xcbf43926);
	ck_assert_uint_eq(checksum_crc32(0, "", 0), 0);
	ck_assert_uint_eq(checksum_crc32(0x12345678, NULL, 0), 0x12345678);
}

/* In parts as in one piece. */
TEST(parts)
{
	static uint8_t p[100000];
	uint32_t crc = 0;
	size_t part = 1;

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(i * i >> 3);
	for (size_t at = 0; at < sizeof(p);
	     at += part, part = part * 5 % 4099) {
		if (part > sizeof(p) - at)
			part = sizeof(p) - at;
		crc = checksum_crc32(crc, p + at, part);
	}
	ck_assert_uint_eq(crc, checksum_crc32(0, p, sizeof(p)));
	ck_assert_uint_eq(crc, slow_crc32(0, p, sizeof(p)));
}
