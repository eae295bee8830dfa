/* SPDX-License-Identifier: MIT */
/* Numbers in the byte order of a trace.dat, which is its sender's. */
#ifndef TOOLS_FTRACE_ORDER_H
#define TOOLS_FTRACE_ORDER_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/buf.h"

static inline uint16_t
order_u16(bool is_big, const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return is_big ? be16toh(v) : le16toh(v);
}

static inline uint32_t
order_u32(bool is_big, const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return is_big ? be32toh(v) : le32toh(v);
}

static inline uint64_t
order_u64(bool is_big, const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return is_big ? be64toh(v) : le64toh(v);
}

static inline void
order_put_u16(struct buf *b, bool is_big, uint16_t v)
{
	buf_u16(b, is_big ? v : __builtin_bswap16(v));
}

static inline void
order_put_u32(struct buf *b, bool is_big, uint32_t v)
{
	buf_u32(b, is_big ? v : __builtin_bswap32(v));
}

static inline void
order_put_u64(struct buf *b, bool is_big, uint64_t v)
{
	buf_u64(b, is_big ? v : __builtin_bswap64(v));
}

/* To any address; each returns what is behind it. */
static inline uint8_t *
order_store_u16(bool is_big, uint8_t *at, uint16_t v)
{
	v = is_big ? htobe16(v) : htole16(v);
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

static inline uint8_t *
order_store_u32(bool is_big, uint8_t *at, uint32_t v)
{
	v = is_big ? htobe32(v) : htole32(v);
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

static inline uint8_t *
order_store_u64(bool is_big, uint8_t *at, uint64_t v)
{
	v = is_big ? htobe64(v) : htole64(v);
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

#endif
