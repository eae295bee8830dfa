/* SPDX-License-Identifier: MIT */
/*
 * The way of a recorder's data once its metadata is whole: its bytes are
 * divided into pages (page_align), which go to its recording and its live
 * session; at the end the files are joined. The loop's thread.
 */
#ifndef TOOLS_FTRACE_PAGE_FEED_H
#define TOOLS_FTRACE_PAGE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/live.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/page.h"
#include "tools/ftrace/recording.h"

#define PAGE_FEED_TOO_LARGE \
	"its pages do not fit in datagrams; use TCP (trace-cmd record -t)"

struct page_feed_cpu;

struct page_feed {
	struct recording *recording; /* owned; set it before the beginning */
	const char *name;	     /* for the log; borrowed */
	struct live *live;	     /* NULL: none */
	struct page_layout layout;   /* size 0: it has not begun */
	bool is_whole;		     /* each call has whole pages */
	uint64_t memory;	     /* for dividing the pages */
	uint32_t cpus;
	struct page_feed_cpu *all;

	struct background_job job;
	enum status finished; /* joining the files */
	void (*done)(void *arg);
	void *arg;
};

struct page_feed_config {
	bool is_datagrams;     /* each is a page; otherwise a stream */
	bool is_end;	       /* no more metadata comes */
	bool is_local;	       /* it connects from an address of this machine */
	uint64_t connected_ns; /* Unix time when it did; 0: not known */
	uint32_t page_size_max;
	struct live_options *live; /* NULL: it is not live */
	struct event_base *base;
	/* May it use this much memory beside what it has? */
	bool (*may_use)(void *arg, uint64_t bytes);
	void *arg;
};

/* Begins the pages if the metadata in the recording is whole. E_MORE: it is
 * not. Without memory the pages are stored as they come, or not live, which is
 * logged. On failure *WHY may be set. */
enum status page_feed_begin(struct page_feed *f,
    const struct page_feed_config *config, const char **why) MUST_CHECK;
void page_feed_bytes(
    struct page_feed *f, uint32_t cpu, const uint8_t *p, size_t n);
/* No more bytes come. */
void page_feed_end(struct page_feed *f);
/* Joins the files in a thread of B, logs the result, and calls DONE. Nobody
 * else may use the recording meanwhile. */
void page_feed_finish(struct page_feed *f, struct background *b,
    void (*done)(void *arg), void *arg);
/* Does the live session deliver what came until SINCE_NS? */
bool page_feed_is_live(const struct page_feed *f, uint64_t since_ns);
/* Memory for pages and the live session. */
uint64_t page_feed_memory(const struct page_feed *f);
/* Also destroys the live session and the recording. A zeroed struct is fine. */
void page_feed_free(struct page_feed *f);

#endif
