/* SPDX-License-Identifier: MIT */
/*
 * A byte queue: received bytes that are not a complete message yet, or bytes to
 * send that the socket did not take yet. It also writes big-endian numbers:
 * after an append failed, buf->bad stays set, so that an encoder tests it once,
 * at the end. Single owner. The memory grows by doubling; buf_trim() frees it
 * when the buffer is empty.
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
	bool bad;		/* an append failed: no memory */
};

void buf_free(struct buf *b); /* B is empty then: all zeros */

static inline size_t
buf_len(const struct buf *b)
{
	return b->end - b->start;
}

static inline const uint8_t *
buf_data(const struct buf *b)
{
	/* Adding to NULL is undefined in C, even 0. */
	return b->mem == NULL ? NULL : b->mem + b->start;
}

/* Reserve N bytes at the end. Returns NULL, and B is bad, if there is no
 * memory. */
uint8_t *buf_reserve(struct buf *b, size_t n);
/* N bytes were stored there. */
void buf_added(struct buf *b, size_t n);
/* Remove N bytes from the front; N is at most buf_len(). */
void buf_consume(struct buf *b, size_t n);
/* Cut the content to its first N bytes. This undoes appends, including failed
 * ones: buf->bad is false again. */
void buf_truncate(struct buf *b, size_t n);
/* Free the memory if the buffer is empty. */
void buf_trim(struct buf *b);

/* Memory that the buffers of one owner share, so that a busy buffer need not
 * allocate and an idle one holds none. */
#define BUF_SPARES_MAX 64
struct buf_spares {
	struct buf bufs[BUF_SPARES_MAX];
	unsigned n, most; /* most: at most BUF_SPARES_MAX */
	size_t largest;	  /* bytes; larger buffers are freed */
};

void buf_spares_init(struct buf_spares *s, unsigned most, size_t largest);
void buf_spares_free(struct buf_spares *s);
/* Give B the memory of a spare if it has none and there is one. */
void buf_take_spare(struct buf *b, struct buf_spares *s);
/* Make the memory of B, which is empty, a spare. If B is bad, its memory is
 * freed, and B stays bad. */
void buf_give_spare(struct buf *b, struct buf_spares *s);

void buf_bytes(struct buf *b, const void *p, size_t n);
void buf_zero(struct buf *b, size_t n);
void buf_u8(struct buf *b, uint8_t v);
void buf_u16(struct buf *b, uint16_t v); /* big-endian, like all below */
void buf_u32(struct buf *b, uint32_t v);
void buf_u64(struct buf *b, uint64_t v);

#endif
