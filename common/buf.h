/* SPDX-License-Identifier: MIT */
/*
 * Bytes that are added at one end and taken from the other: what was received
 * and is not yet a whole message, what is to be sent and was not yet taken by
 * the socket. Also the big-endian writer: append failures are sticky, so an
 * encoder tests buf->bad once, at the end. Single owner; grows by doubling,
 * keeps no memory once empty after buf_trim().
 */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct buf {
	uint8_t *mem;
	size_t start, end, cap; /* the content is mem[start..end) */
	bool bad;		/* an append found no memory */
};

void buf_init(struct buf *b); /* all zero bytes is the same */
void buf_free(struct buf *b); /* back to buf_init() */

static inline size_t
buf_len(const struct buf *b)
{
	return b->end - b->start;
}

static inline const uint8_t *
buf_data(const struct buf *b)
{
	/* Nothing may be added to no memory, not even nothing. */
	return b->mem == NULL ? NULL : b->mem + b->start;
}

/* Room for N more bytes at the end; NULL and bad when there is no memory. */
uint8_t *buf_reserve(struct buf *b, size_t n);
/* N bytes were put into the reserved room. */
void buf_added(struct buf *b, size_t n);
/* Take N bytes from the front; N is at most buf_len(). */
void buf_consume(struct buf *b, size_t n);
/* Cut the content to its first N bytes: undo of appends, failed ones too, so
 * that buf->bad is false again. */
void buf_truncate(struct buf *b, size_t n);
/* Give memory back when empty. */
void buf_trim(struct buf *b);

/* Memory that buffers of one owner lend each other, so that a busy one need not
 * allocate and an idle one holds none. */
#define BUF_SPARES_MAX 64
struct buf_spares {
	struct buf bufs[BUF_SPARES_MAX];
	unsigned n, most; /* most: at most BUF_SPARES_MAX */
	size_t largest;	  /* bytes; what grew beyond is given back */
};

void buf_spares_init(struct buf_spares *s, unsigned most, size_t largest);
void buf_spares_free(struct buf_spares *s);
/* Memory for B, if it has none and there is some to spare. */
void buf_take_spare(struct buf *b, struct buf_spares *s);
/* B is empty. One that has failed stays bad, and is nobody else's. */
void buf_give_spare(struct buf *b, struct buf_spares *s);

void buf_bytes(struct buf *b, const void *p, size_t n);
void buf_zero(struct buf *b, size_t n);
void buf_u8(struct buf *b, uint8_t v);
void buf_u16(struct buf *b, uint16_t v); /* big-endian, like all below */
void buf_u32(struct buf *b, uint32_t v);
void buf_u64(struct buf *b, uint64_t v);

#endif
