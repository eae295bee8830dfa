/* SPDX-License-Identifier: MIT */
/* Bytes of pages, in any pieces, become whole pages for a recording and a sink
 * (page_align). The sink's thread. */
#ifndef TOOLS_FTRACE_PAGE_FEED_H
#define TOOLS_FTRACE_PAGE_FEED_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/page.h"
#include "tools/ftrace/recorder_sink.h"

struct page_feed_cpu;
struct recording;

/* How bytes come, and what is done with them. */
enum page_feed_how {
	PAGE_FEED_STREAM,    /* pages are found in them */
	PAGE_FEED_DATAGRAMS, /* each is a page */
	PAGE_FEED_RAW,	     /* the recording has them; there is no sink */
};

struct page_feed {
	struct recording *recording; /* borrowed */
	struct recorder_sink *sink;  /* NULL: nobody wants them */
	struct page_layout layout;
	bool is_whole;	 /* what comes at a time is a page */
	bool has_failed; /* there was no memory for a CPU */
	uint32_t cpus;
	struct page_feed_cpu *all;
};

/* The memory that the pages of so many CPUs may need, as they come. */
uint64_t page_feed_memory(
    const struct dat_layout *layout, uint32_t cpus, enum page_feed_how how);
/* TAKE_SINK is given away, also on failure; NULL is fine. */
enum status page_feed_init(struct page_feed *f, struct recording *recording,
    struct recorder_sink *take_sink, const struct dat_layout *layout,
    enum page_feed_how how) MUST_CHECK;
/* E_NOMEM, once: the sink is destroyed, since its pages cannot be told from
 * each other; the recording goes on. */
enum status page_feed_bytes(
    struct page_feed *f, uint32_t cpu, const uint8_t *p, size_t n) MUST_CHECK;
/* No more bytes come; the sink may have something to do. */
void page_feed_end(struct page_feed *f);
/* Pages of which the recorder has not sent all, and that were ended where they
 * stop. */
uint64_t page_feed_cuts(const struct page_feed *f);
/* And the sink. Zeros are fine. */
void page_feed_free(struct page_feed *f);

#endif
