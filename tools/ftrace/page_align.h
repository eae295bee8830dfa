/* SPDX-License-Identifier: MIT */
/*
 * Bytes of one CPU's pages, in any pieces, become whole pages. That is more
 * than counting: when a stock recorder is told to end while it waits for its
 * socket, the rest of a page stays behind in a pipe of its, and the next page
 * begins where it stopped (trace-cmd 3.1.6). All that follows would be read at
 * wrong places. So each page is looked at; where one is no page, and another
 * begins inside of it, the first is cut there: what is whole of it stays, and
 * the next one says that events are missing in front of it.
 *
 * A page that can be read is given out as soon as it is whole, whatever its
 * time is: a machine sleeps for days, and clocks are set. Pages that cannot be
 * read, and in which no other begins, are given out as they are. If that is the
 * first page of a stream, or too many follow each other, nobody looks any more.
 * Pure; the bytes come from a peer.
 */
#ifndef TOOLS_FTRACE_PAGE_ALIGN_H
#define TOOLS_FTRACE_PAGE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/page.h"

/* So often in a row it is looked for a page where none is, as when a page ends
 * too early or cannot be read; from then on nobody looks. A page that ends
 * early is given out whole: few bytes must not become many pages. */
#define PAGE_ALIGN_MISSES_MAX 8

struct page_align {
	struct page_layout layout;
	/* Whole pages, in order, one behind the other; borrowed. */
	void (*pages)(void *arg, const uint8_t *p, size_t n);
	void *arg;
	uint8_t *rest; /* room for what cannot be told yet; owned */
	size_t n_rest;
	size_t wanted;	  /* with so many it is looked again */
	uint8_t *changed; /* room for a page that was changed, behind REST */
	uint64_t time;	  /* of the page before */
	uint64_t cuts;	  /* pages of which a part is missing */
	unsigned misses;
	bool has_begun, is_off;
	bool has_gap; /* events are missing in front of the next page */
};

/* IS_OFF: nothing is looked at; pages are counted from the first byte. PAGES is
 * called by the two functions below only. */
enum status page_align_init(struct page_align *a,
    const struct page_layout *layout, bool is_off,
    void (*pages)(void *arg, const uint8_t *p, size_t n), void *arg) MUST_CHECK;
/* Zeros are fine. */
void page_align_free(struct page_align *a);

/* The memory that one has. */
size_t page_align_memory(const struct page_layout *layout);

/* Two pages and a head are kept at most, until more comes. */
void page_align_bytes(struct page_align *a, const uint8_t *p, size_t n);
/* No more bytes come: give out what is here, of a page that is not whole its
 * whole events. */
void page_align_end(struct page_align *a);

#endif
