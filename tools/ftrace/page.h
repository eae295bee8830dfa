/* SPDX-License-Identifier: MIT */
/*
 * A page of the kernel's ring buffer, and the events in it (trace-cmd 3.5). The
 * bytes come from a peer; nothing outside of the page is read, whatever they
 * say. Pure functions; the bytes are borrowed.
 */
#ifndef TOOLS_FTRACE_PAGE_H
#define TOOLS_FTRACE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/dat_layout.h"

#define PAGE_SIZE_MIN 64
#define PAGE_SIZE_MAX DAT_PAGE_BYTES_MAX

/* How pages of one recording look. */
struct page_layout {
	uint32_t size;	      /* of a page; PAGE_SIZE_MIN to PAGE_SIZE_MAX */
	uint32_t commit_at;   /* offset of the commit word */
	uint32_t commit_size; /* 4 or 8 */
	uint32_t data_at;     /* offset of the events; below SIZE */
	bool is_big;	      /* the byte order of all of it */
};

/* As kernels with such longs have them, as far as header_page says nothing
 * else. */
static inline struct page_layout
page_layout_of(uint32_t size, uint32_t long_size, bool is_big)
{
	return (struct page_layout){ .size = size,
		.commit_at = 8,
		.commit_size = long_size,
		.data_at = 8 + long_size,
		.is_big = is_big };
}

struct page {
	const uint8_t *bytes; /* the next event's */
	const uint8_t *end;
	uint64_t time;	    /* of the last event; at first, the page's own */
	uint64_t lost;	    /* events that are missing in front of it */
	bool lost_is_known; /* else LOST is 1, and there may be more */
	bool is_big;
	bool is_malformed; /* the rest cannot be read */
};

struct page_event {
	const uint8_t *data;
	uint32_t size;
	uint64_t time;
};

/* L->size bytes at BYTES. E_MALFORMED: it claims more data than it has. */
enum status page_open(struct page *p, const struct page_layout *l,
    const uint8_t *bytes) MUST_CHECK;
/* False: there is no other event, or none that can be read. */
bool page_next(struct page *p, struct page_event *out);
/* So many bytes show whether a page can begin with them. */
static inline uint32_t
page_head(const struct page_layout *l)
{
	return l->data_at + 8;
}
/* Bytes of events in the page that begins with these page_head() bytes; 0: it
 * has none, or no page can begin so. */
uint32_t page_data_bytes(const struct page_layout *l, const uint8_t *bytes);
/* Of the page only the first N bytes are right: it ends behind its last whole
 * event then. False: it has none, and is as it was. */
bool page_cut(
    const struct page_layout *l, uint8_t *bytes, uint32_t n) MUST_CHECK;
/* Some events, nobody knows how many, are missing in front of it. */
void page_set_lost(const struct page_layout *l, uint8_t *bytes);
/* The time of the last event in a page; of the page, if it has none. */
uint64_t page_last_time(const struct page *p);

#endif
