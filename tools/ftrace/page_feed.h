/* SPDX-License-Identifier: MIT */
/*
 * Divides the bytes of a recorder into pages (page_align), and passes them to
 * its recording and its live session. The loop's thread.
 */
#ifndef TOOLS_FTRACE_PAGE_FEED_H
#define TOOLS_FTRACE_PAGE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/dat_layout.h"
#include "tools/ftrace/page.h"

struct live;
struct page_feed_cpu;
struct recording;

/* How bytes come, and what is done with them. */
enum page_feed_how {
	PAGE_FEED_STREAM,    /* a stream: pages are found in it */
	PAGE_FEED_DATAGRAMS, /* each is a page */
	PAGE_FEED_RAW,	     /* stored as they come, not live */
};

struct page_feed {
	struct recording *recording; /* borrowed */
	struct live *live;	     /* NULL: none */
	struct page_layout layout;
	bool is_whole;	 /* each call has whole pages */
	bool has_failed; /* a CPU could not be given memory */
	uint32_t cpus;
	struct page_feed_cpu *all;
};

/* The most memory that dividing the pages of CPUS takes. */
uint64_t page_feed_memory(
    const struct dat_layout *layout, uint32_t cpus, enum page_feed_how how);
/* Takes TAKE_LIVE, also on failure; NULL is fine. */
enum status page_feed_init(struct page_feed *f, struct recording *recording,
    struct live *take_live, const struct dat_layout *layout,
    enum page_feed_how how) MUST_CHECK;
/* E_NOMEM, once: the live session was destroyed, since pages cannot be divided;
 * the recording continues. */
enum status page_feed_bytes(
    struct page_feed *f, uint32_t cpu, const uint8_t *p, size_t n) MUST_CHECK;
/* No more bytes come. */
void page_feed_end(struct page_feed *f);
/* Pages that the recorder did not send completely. */
uint64_t page_feed_cuts(const struct page_feed *f);
/* Also destroys the live session. A zeroed struct is fine. */
void page_feed_free(struct page_feed *f);

#endif
