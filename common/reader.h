/* SPDX-License-Identifier: MIT */
/*
 * A bounds-checked cursor over big-endian bytes. After one read that does not
 * fit, every read yields zero, so a decoder tests for failure once, at the end.
 * The bytes are borrowed.
 */
#ifndef COMMON_READER_H
#define COMMON_READER_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/status.h"

/* Borrowed characters, not terminated. */
struct span {
	const char *p;
	size_t n;
};

struct reader {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct reader
reader_over(const void *p, size_t n)
{
	return (struct reader){ .p = p, .end = (const uint8_t *)p + n };
}

static inline uint64_t
reader_left(const struct reader *r)
{
	return r->bad ? 0 : (uint64_t)(r->end - r->p);
}

/* The only bounds check. NULL: there are no N bytes left. */
static inline const uint8_t *
reader_take(struct reader *r, uint64_t n)
{
	const uint8_t *p = r->p;

	if (r->bad || (uint64_t)(r->end - r->p) < n) {
		r->bad = true;
		return NULL;
	}
	r->p += n;
	return p;
}

static inline uint8_t
reader_u8(struct reader *r)
{
	const uint8_t *p = reader_take(r, 1);

	return p == NULL ? 0 : *p;
}

static inline uint16_t
reader_u16(struct reader *r)
{
	const uint8_t *p = reader_take(r, sizeof(uint16_t));
	uint16_t v = 0;

	if (p != NULL)
		memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t
reader_u32(struct reader *r)
{
	const uint8_t *p = reader_take(r, sizeof(uint32_t));
	uint32_t v = 0;

	if (p != NULL)
		memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t
reader_u64(struct reader *r)
{
	const uint8_t *p = reader_take(r, sizeof(uint64_t));
	uint64_t v = 0;

	if (p != NULL)
		memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* Copy N raw bytes to OUT; zeros when there are no N bytes left. */
static inline void
reader_copy(struct reader *r, void *out, size_t n)
{
	const uint8_t *p = reader_take(r, n);

	if (p != NULL)
		memcpy(out, p, n);
	else
		memset(out, 0, n);
}

/*
 * A string of N bytes that ends with a NUL. The span is the string without the
 * NUL. Fails unless the last byte, and only the last, is NUL.
 */
static inline struct span
reader_cstr(struct reader *r, uint64_t n)
{
	const uint8_t *p = reader_take(r, n);

	/* Compilers do not see that there are fewer than PTRDIFF_MAX bytes. */
	if (p == NULL || n == 0 || n > PTRDIFF_MAX ||
	    memchr(p, '\0', (size_t)n) != p + n - 1) {
		r->bad = true;
		return (struct span){ "", 0 };
	}
	return (struct span){ (const char *)p, n - 1 };
}

/* A NUL-terminated string within a field of N bytes; no NUL: failure. */
static inline struct span
reader_cstr_array(struct reader *r, size_t n)
{
	const uint8_t *p = reader_take(r, n);
	size_t len = p == NULL ? n : strnlen((const char *)p, n);

	if (p == NULL || len == n) {
		r->bad = true;
		return (struct span){ "", 0 };
	}
	return (struct span){ (const char *)p, len };
}

/*
 * Did every read fit? Bytes left over are no failure: peers may send more than
 * this version knows (relay protocol, streaming 2.1).
 */
static inline enum status
reader_done(const struct reader *r)
{
	return r->bad ? E_MALFORMED : OK;
}

#endif
