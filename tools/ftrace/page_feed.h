/* SPDX-License-Identifier: MIT */
/* Bytes of pages, in any pieces, become whole pages for a sink. The sink's
 * thread. */
#ifndef TOOLS_FTRACE_PAGE_FEED_H
#define TOOLS_FTRACE_PAGE_FEED_H

#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/recorder_sink.h"

struct page_feed {
	struct recorder_sink *sink; /* NULL: nobody wants them */
	uint32_t cpus, page_size;
	struct buf *rests; /* of each CPU, a page that is not whole */
};

/* SINK is given away, also on failure; NULL is fine. */
enum status page_feed_init(struct page_feed *f, struct recorder_sink *take_sink,
    uint32_t cpus, uint32_t page_size) MUST_CHECK;
/* E_NOMEM: the sink is destroyed, since its pages cannot be told from each
 * other any more. */
enum status page_feed_bytes(
    struct page_feed *f, uint32_t cpu, const uint8_t *p, size_t n) MUST_CHECK;
/* No more bytes come; the sink may have something to do. */
void page_feed_end(struct page_feed *f);
/* And the sink. Zeros are fine. */
void page_feed_free(struct page_feed *f);

#endif
