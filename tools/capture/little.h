/* SPDX-License-Identifier: MIT */
/* Little-endian numbers: stored at any address, of which each function returns
 * the one after it, and read. */
#ifndef TOOLS_CAPTURE_LITTLE_H
#define TOOLS_CAPTURE_LITTLE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/reader.h"

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

static inline uint16_t
little_take_u16(struct reader *r)
{
	return __builtin_bswap16(reader_u16(r));
}

static inline uint32_t
little_take_u32(struct reader *r)
{
	return __builtin_bswap32(reader_u32(r));
}

static inline uint64_t
little_take_u64(struct reader *r)
{
	return __builtin_bswap64(reader_u64(r));
}

#endif
