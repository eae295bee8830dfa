/* SPDX-License-Identifier: MIT */
/*
 * Who else wants what a recorder sends, beside its file: something that shows
 * it live. It is made once the metadata is whole, and gets the pages of each
 * CPU as they come. It must not wait, and what it cannot take is its loss,
 * which it counts and logs: the file is whole all the same. The loop's thread.
 */
#ifndef TOOLS_FTRACE_RECORDER_SINK_H
#define TOOLS_FTRACE_RECORDER_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

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

#endif
