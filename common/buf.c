/* SPDX-License-Identifier: MIT */
#include "common/buf.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define BUF_MIN 256

void
buf_free(struct buf *b)
{
	free(b->mem);
	*b = (struct buf){ 0 };
}

static bool
grow(struct buf *b, size_t need)
{
	size_t cap = b->cap < BUF_MIN ? BUF_MIN : b->cap;
	uint8_t *mem;

	while (cap < need) {
		if (cap > SIZE_MAX / 2)
			return false;
		cap *= 2;
	}
	if (cap == b->cap)
		return true;
	mem = realloc(b->mem, cap);
	if (mem == NULL)
		return false;
	b->mem = mem;
	b->cap = cap;
	return true;
}

uint8_t *
buf_reserve(struct buf *b, size_t n)
{
	const size_t len = buf_len(b);

	if (b->bad)
		return NULL;
	if (b->mem != NULL && b->cap - b->end >= n)
		return b->mem + b->end;
	if (n > SIZE_MAX / 2 - len) {
		b->bad = true;
		return NULL;
	}
	/*
	 * Move bytes to the front only if at least as many were consumed.
	 * Otherwise a long message after many short ones would be moved once
	 * for each of these.
	 */
	if (b->start > 0 && b->start >= len) {
		memmove(b->mem, b->mem + b->start, len);
		b->start = 0;
		b->end = len;
	}
	if (!grow(b, b->end + n)) {
		b->bad = true;
		return NULL;
	}
	return b->mem + b->end;
}

void
buf_added(struct buf *b, size_t n)
{
	assert(n <= b->cap - b->end);
	b->end += n;
}

void
buf_consume(struct buf *b, size_t n)
{
	assert(n <= buf_len(b));
	b->start += n;
	if (b->start == b->end)
		b->start = b->end = 0;
}

void
buf_truncate(struct buf *b, size_t n)
{
	assert(n <= buf_len(b));
	b->end = b->start + n;
	b->bad = false;
	buf_consume(b, 0);
}

void
buf_trim(struct buf *b)
{
	if (buf_len(b) > 0)
		return;
	free(b->mem);
	b->mem = NULL;
	b->start = b->end = b->cap = 0;
}

void
buf_spares_init(struct buf_spares *s, unsigned most, size_t largest)
{
	assert(most <= BUF_SPARES_MAX);
	*s = (struct buf_spares){ .most = most, .largest = largest };
}

void
buf_spares_free(struct buf_spares *s)
{
	while (s->n > 0)
		buf_free(&s->bufs[--s->n]);
}

void
buf_take_spare(struct buf *b, struct buf_spares *s)
{
	if (b->mem == NULL && !b->bad && s->n > 0)
		*b = s->bufs[--s->n];
}

void
buf_give_spare(struct buf *b, struct buf_spares *s)
{
	assert(buf_len(b) == 0);
	if (b->mem == NULL || b->bad || b->cap > s->largest ||
	    s->n == s->most) {
		buf_trim(b);
		return;
	}
	s->bufs[s->n++] = *b;
	*b = (struct buf){ 0 };
}

void
buf_bytes(struct buf *b, const void *p, size_t n)
{
	uint8_t *to = buf_reserve(b, n);

	if (to == NULL || n == 0)
		return;
	memcpy(to, p, n);
	b->end += n;
}

void
buf_zero(struct buf *b, size_t n)
{
	uint8_t *to = buf_reserve(b, n);

	if (to == NULL)
		return;
	memset(to, 0, n);
	b->end += n;
}

void
buf_u8(struct buf *b, uint8_t v)
{
	buf_bytes(b, &v, sizeof(v));
}

void
buf_u16(struct buf *b, uint16_t v)
{
	v = htobe16(v);
	buf_bytes(b, &v, sizeof(v));
}

void
buf_u32(struct buf *b, uint32_t v)
{
	v = htobe32(v);
	buf_bytes(b, &v, sizeof(v));
}

void
buf_u64(struct buf *b, uint64_t v)
{
	v = htobe64(v);
	buf_bytes(b, &v, sizeof(v));
}
