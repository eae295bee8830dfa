/* SPDX-License-Identifier: MIT */
/*
 * Who else wants what a recorder sends, beside its file: something that shows
 * it live. It is made once the metadata is whole, and gets the pages of each
 * CPU as they come. It must not wait, and what it cannot take is its loss,
 * which it counts and logs: the file is whole all the same. The loop's thread.
 */
#ifndef TOOLS_FTRACE_PAGE_FEED_H
#define TOOLS_FTRACE_PAGE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/page.h"

struct event_base;
struct recorder_sink;

/* Descriptors that a sink may have: two connections to a relay. */
#define SINK_FDS 2
/* After end() it is waited for as long as it is not done, but no longer. */
#define SINK_END_MS 120000

struct recorder_sink_ops {
	/* Whole pages of one CPU, in the order in which it sent them, that have
	 * just come: SIZE is a multiple of the page size. Borrowed. */
	void (*pages)(struct recorder_sink *s, uint32_t cpu,
	    const uint8_t *pages, size_t size);
	/* Nothing more comes. What is under way goes on. */
	void (*end)(struct recorder_sink *s);
	/* After end(): is all of it where it should be, or lost? Asked again
	 * and again, until it is or nobody wants to wait any more. */
	bool (*is_done)(struct recorder_sink *s);
	/* The memory that it has now, which is less when what waits in it has
	 * gone; but for packets, which have a limit of their own. */
	uint64_t (*memory)(const struct recorder_sink *s);
	/* At any time, also without end(). What is not done is lost, and is
	 * counted and logged. */
	void (*destroy)(struct recorder_sink *s);
};

/* The first member of whatever it is. */
struct recorder_sink {
	const struct recorder_sink_ops *ops;
};

/* What is known of the recorder. */
struct recorder_about {
	const char *name; /* HOST:PORT; borrowed for the sink's life */
	uint32_t cpus;
	uint32_t page_size;
	const uint8_t *metadata; /* a trace.dat up to its pages; borrowed */
	size_t metadata_size;	 /* for the call */
};

/* Makes one for each recorder. */
struct recorder_sink_maker {
	/* Not OK: it is logged, and the recorder is stored only. */
	enum status (*make)(struct recorder_sink **out, void *arg,
	    struct event_base *base,
	    const struct recorder_about *about) MUST_CHECK;
	void *arg;
};

/* Bytes of pages, in any pieces, become whole pages for a recording and a sink
 * (page_align). The sink's thread. */

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
