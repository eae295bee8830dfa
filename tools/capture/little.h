/* SPDX-License-Identifier: MIT */
/* Store little-endian numbers at any address. Each returns the address after
 * it. */
#ifndef TOOLS_CAPTURE_LITTLE_H
#define TOOLS_CAPTURE_LITTLE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint8_t *
little_bytes(uint8_t *out, const void *p, size_t n)
{
	memcpy(out, p, n);
	return out + n;
}

static inline uint8_t *
little_u8(uint8_t *out, uint8_t v)
{
	*out = v;
	return out + 1;
}

static inline uint8_t *
little_u16(uint8_t *out, uint16_t v)
{
	v = htole16(v);
	return little_bytes(out, &v, sizeof(v));
}

static inline uint8_t *
little_u32(uint8_t *out, uint32_t v)
{
	v = htole32(v);
	return little_bytes(out, &v, sizeof(v));
}

static inline uint8_t *
little_u64(uint8_t *out, uint64_t v)
{
	v = htole64(v);
	return little_bytes(out, &v, sizeof(v));
}

#endif
