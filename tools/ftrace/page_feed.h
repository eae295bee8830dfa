/* SPDX-License-Identifier: MIT */
/*
 * Passes the pages of a recorder to its file, and to a sink that shows them
 * live. A sink is created once the metadata is whole, and gets the pages of
 * each CPU as they come. It must not block; what it cannot take, it counts and
 * logs. The file is complete in any case. The loop's thread.
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

/* Descriptors of a sink: two connections to a relay. */
#define SINK_FDS 2
/* How long is_done() may be false after end(). */
#define SINK_END_MS 120000

struct recorder_sink_ops {
	/* Whole pages of one CPU, in the order in which they were sent. SIZE is
	 * a multiple of the page size. Borrowed. */
	void (*pages)(struct recorder_sink *s, uint32_t cpu,
	    const uint8_t *pages, size_t size);
	/* Nothing more comes. */
	void (*end)(struct recorder_sink *s);
	/* After end(): is everything delivered or lost? Called repeatedly. */
	bool (*is_done)(struct recorder_sink *s);
	/* Memory in use, without packets, which have a limit of their own. */
	uint64_t (*memory)(const struct recorder_sink *s);
	/* At any time, also without end(). The sink counts and logs what is not
	 * delivered. */
	void (*destroy)(struct recorder_sink *s);
};

/* The first member of each sink. */
struct recorder_sink {
	const struct recorder_sink_ops *ops;
};

/* What a sink is told about a recorder. */
struct recorder_about {
	const char *name; /* HOST:PORT; borrowed until destroy() */
	uint32_t cpus;
	uint32_t page_size;
	const uint8_t *metadata; /* a trace.dat up to its pages; borrowed */
	size_t metadata_size;	 /* during the call */
};

/* Creates the sinks. */
struct recorder_sink_maker {
	/* Logs its failures; then the recorder is stored only. */
	enum status (*make)(struct recorder_sink **out, void *arg,
	    struct event_base *base,
	    const struct recorder_about *about) MUST_CHECK;
	void *arg;
};

struct page_feed_cpu;
struct recording;

/* How bytes come, and what is done with them. */
enum page_feed_how {
	PAGE_FEED_STREAM,    /* a stream: pages are found in it */
	PAGE_FEED_DATAGRAMS, /* each is a page */
	PAGE_FEED_RAW,	     /* stored as they come, without a sink */
};

struct page_feed {
	struct recording *recording; /* borrowed */
	struct recorder_sink *sink;  /* NULL: none */
	struct page_layout layout;
	bool is_whole;	 /* each call has whole pages */
	bool has_failed; /* a CPU could not be given memory */
	uint32_t cpus;
	struct page_feed_cpu *all;
};

/* The most memory that dividing the pages of CPUS takes. */
uint64_t page_feed_memory(
    const struct dat_layout *layout, uint32_t cpus, enum page_feed_how how);
/* Takes TAKE_SINK, also on failure; NULL is fine. */
enum status page_feed_init(struct page_feed *f, struct recording *recording,
    struct recorder_sink *take_sink, const struct dat_layout *layout,
    enum page_feed_how how) MUST_CHECK;
/* E_NOMEM, once: the sink was destroyed, since pages cannot be divided; the
 * recording continues. */
enum status page_feed_bytes(
    struct page_feed *f, uint32_t cpu, const uint8_t *p, size_t n) MUST_CHECK;
/* No more bytes come. */
void page_feed_end(struct page_feed *f);
/* Pages that the recorder did not send completely. */
uint64_t page_feed_cuts(const struct page_feed *f);
/* Also destroys the sink. A zeroed struct is fine. */
void page_feed_free(struct page_feed *f);

#endif
