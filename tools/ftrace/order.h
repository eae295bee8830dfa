/* SPDX-License-Identifier: MIT */
/* Numbers in the byte order of a trace.dat, which is that of the machine that
 * was traced: loads, stores, appends, and a cursor. */
#ifndef TOOLS_FTRACE_ORDER_H
#define TOOLS_FTRACE_ORDER_H

#include <byteswap.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/buf.h"
#include "common/reader.h"

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

/* Store at any address; each returns the address after the number. */
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

/*
 * A bounds-checked cursor over the output of trace-cmd, built on the one of
 * common/reader.h (trace-cmd 3.1). After one read that does not fit, every read
 * yields zero.
 */

struct dat_input {
	struct reader r;
	bool is_big;
};

static inline struct dat_input
dat_input_over(const void *p, size_t n, bool is_big)
{
	return (struct dat_input){ reader_over(p, n), is_big };
}

static inline uint8_t
dat_input_u8(struct dat_input *in)
{
	return reader_u8(&in->r);
}

static inline uint16_t
dat_input_u16(struct dat_input *in)
{
	const uint16_t v = reader_u16(&in->r);

	return in->is_big ? v : bswap_16(v);
}

static inline uint32_t
dat_input_u32(struct dat_input *in)
{
	const uint32_t v = reader_u32(&in->r);

	return in->is_big ? v : bswap_32(v);
}

static inline uint64_t
dat_input_u64(struct dat_input *in)
{
	const uint64_t v = reader_u64(&in->r);

	return in->is_big ? v : bswap_64(v);
}

static inline struct span
dat_input_span(struct dat_input *in, uint64_t n)
{
	const uint8_t *p = reader_take(&in->r, n);

	return p == NULL ? (struct span){ "", 0 }
			 : (struct span){ (const char *)p, (size_t)n };
}

/* A NUL-terminated string of at most MOST bytes, the NUL included. */
static inline struct span
dat_input_string(struct dat_input *in, size_t most)
{
	const uint64_t left = reader_left(&in->r);
	const size_t n = left < most ? (size_t)left : most;
	const size_t len = n == 0 ? 0 : strnlen((const char *)in->r.p, n);

	return reader_cstr(&in->r, len + 1);
}

/* Consumes the N bytes of WORD, if the next bytes are equal to them. */
static inline bool
dat_input_word(struct dat_input *in, const char *word, size_t n)
{
	if (reader_left(&in->r) < n || memcmp(in->r.p, word, n) != 0)
		return false;
	in->r.p += n;
	return true;
}

#endif
