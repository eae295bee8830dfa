/* SPDX-License-Identifier: MIT */
/*
 * A page of the kernel's ring buffer, and the events in it (trace-cmd 3.5). The
 * bytes come from a peer; whatever they say, nothing outside of the page is
 * read. Pure functions; the bytes are borrowed.
 */
#ifndef TOOLS_FTRACE_PAGE_H
#define TOOLS_FTRACE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"
#include "tools/ftrace/dat_layout.h"

#define PAGE_SIZE_MIN 64
#define PAGE_SIZE_MAX DAT_PAGE_BYTES_MAX

/* The layout of all pages of a recording. */
struct page_layout {
	uint32_t size;	      /* of a page; PAGE_SIZE_MIN to PAGE_SIZE_MAX */
	uint32_t commit_at;   /* offset of the commit word */
	uint32_t commit_size; /* 4 or 8 */
	uint32_t data_at;     /* offset of the events, less than SIZE */
	bool is_big;	      /* byte order of all numbers */
};

/* The layout that kernels with longs of LONG_SIZE use unless header_page says
 * otherwise. */
static inline struct page_layout
page_layout_of(uint32_t size, uint32_t long_size, bool is_big)
{
	return (struct page_layout){ .size = size,
		.commit_at = 8,
		.commit_size = long_size,
		.data_at = 8 + long_size,
		.is_big = is_big };
}

/* Reads the kernel's header_page, which describes its fields. False: what it
 * describes is no page. */
bool page_layout_parse(struct page_layout *l, struct span text);

struct page {
	const uint8_t *bytes; /* the next event's */
	const uint8_t *end;
	uint64_t time; /* of the last event; before the first, the page's own */
	uint64_t lost; /* events missing before this page */
	bool lost_is_known; /* false: LOST is 1, a minimum */
	bool is_big;
	bool is_malformed; /* the rest is not readable */
};

struct page_event {
	const uint8_t *data;
	uint32_t size;
	uint64_t time;
};

/* Opens L->size bytes at BYTES. E_MALFORMED: the page claims more data than it
 * has. */
enum status page_open(struct page *p, const struct page_layout *l,
    const uint8_t *bytes) MUST_CHECK;
/* False: no further event can be read. */
bool page_next(struct page *p, struct page_event *out);
/* The first bytes of a page that show whether it can be a page. */
static inline uint32_t
page_head(const struct page_layout *l)
{
	return l->data_at + 8;
}
/* The size of the events in the page that begins with these page_head() bytes;
 * 0: it has no events, or no page begins like this. */
uint32_t page_data_bytes(const struct page_layout *l, const uint8_t *bytes);
/* Ends the page after its last whole event within the first N bytes; the other
 * bytes are not part of it. False: there is no such event, and the page is
 * unchanged. */
bool page_cut(
    const struct page_layout *l, uint8_t *bytes, uint32_t n) MUST_CHECK;
/* Notes that an unknown number of events is missing before the page. */
void page_set_lost(const struct page_layout *l, uint8_t *bytes);

#endif
