/* SPDX-License-Identifier: MIT */
/*
 * Divides the bytes of one CPU, which come in pieces of any size, into pages.
 * Counting bytes is not enough: when a stock recorder is told to end while it
 * waits for its socket, the rest of a page stays in a pipe, and the next page
 * follows directly (trace-cmd 3.1.6). So each page is checked. Where a page is
 * not valid and another one begins inside it, the first is cut there: its whole
 * events stay, and the next page notes that events are missing. A readable page
 * is passed on as soon as it is whole, whatever its time: a machine may sleep
 * for days, and clocks are set. Unreadable pages in which no other begins are
 * passed on unchanged. If that is the first page of a stream, or happens too
 * often in a row, checking ends. Pure; the bytes come from a peer.
 */
#ifndef TOOLS_FTRACE_PAGE_ALIGN_H
#define TOOLS_FTRACE_PAGE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/page.h"

/* The most failed searches for a page in a row, as when a page ends too early
 * or is not readable; then checking ends. A page that ends early is passed on
 * with its full size: a few bytes must not become many pages. */
#define PAGE_ALIGN_MISSES_MAX 8

struct page_align {
	struct page_layout layout;
	/* Called with whole pages, in order; borrowed. */
	void (*pages)(void *arg, const uint8_t *p, size_t n);
	void *arg;
	uint8_t *rest; /* bytes not divided yet; owned */
	size_t n_rest;
	size_t wanted;	  /* the number of bytes at which to try again */
	uint8_t *changed; /* a modified page, after REST in memory */
	uint64_t time;	  /* of the previous page */
	uint64_t cuts;	  /* pages of which a part is missing */
	unsigned misses;
	bool has_begun, is_off;
	bool has_gap; /* events are missing before the next page */
};

/* PAGES is called by page_align_bytes() and page_align_end() only. */
enum status page_align_init(struct page_align *a,
    const struct page_layout *layout,
    void (*pages)(void *arg, const uint8_t *p, size_t n), void *arg) MUST_CHECK;
/* A zeroed struct is fine. */
void page_align_free(struct page_align *a);

/* The memory that one struct page_align allocates. */
size_t page_align_memory(const struct page_layout *layout);

/* Keeps at most two pages and a page_head() until more bytes come. */
void page_align_bytes(struct page_align *a, const uint8_t *p, size_t n);
/* No more bytes come: passes on the rest, with the whole events of an
 * incomplete page. */
void page_align_end(struct page_align *a);

#endif
