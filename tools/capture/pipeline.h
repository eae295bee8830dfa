/* SPDX-License-Identifier: MIT */
/*
 * Packets from sources to one sink, through threads:
 *
 *	reader (one per source) -> workers -> combiner, in the caller's thread
 *
 * Of a source that threads of libtrace's own read (source_threads()), each of
 * them is a reader, with one worker.
 *
 * A reader copies packets into chunks and gives these to its workers, by turns
 * or by flow. A worker anonymises and makes events of them. The combiner gives
 * the sink what comes, or all of an input in the order in which it was read.
 * Memory is all allocated at first. When a sink is slow, files are read more
 * slowly; packets of live sources are dropped and counted.
 */
#ifndef TOOLS_CAPTURE_PIPELINE_H
#define TOOLS_CAPTURE_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/anon.h"
#include "tools/capture/chunk.h"
#include "tools/capture/ctf.h"
#include "tools/capture/source.h"

/* Inputs by threads: each has chunks of its own. */
#define PIPELINE_THREADS_MAX 32
/* Bytes of chunks, about: 24 MiB between readers and workers hold 150,000
 * packets' headers, three quarters of a second of the promised 200,000/s. */
#define PIPELINE_MEMORY (40 * 1024 * 1024)

enum pipeline_hash {
	HASH_BALANCE, /* chunk by chunk */
	HASH_FLOW,    /* both directions of a flow to one worker */
};

struct pipeline_config {
	struct source **sources; /* borrowed */
	unsigned n_sources;
	unsigned n_workers; /* of each source; where it has threads of its
			       own, these are as many */
	enum pipeline_hash hash;
	bool is_strict;	  /* over all of a source; else in a worker's stream */
	bool has_records; /* the sink takes records, not events */
	enum payload payload;
	uint32_t snaplen; /* bytes of a packet at most; 0: all */
	const uint8_t
	    *key; /* ANON_KEY_LEN bytes; NULL: as they are. Of link
		     types that cannot be anonymised, no byte is taken */
	enum anon_checksums checksums;
	uint64_t flush_ns; /* live: nothing waits longer in a chunk */
	uint64_t count;	   /* packets of each source; 0: all */
};

struct pipeline_stats {
	uint64_t received;	 /* read from the sources */
	uint64_t dropped_kernel; /* the kernel had no room for them */
	uint64_t dropped_local;	 /* there was no chunk for them */
	uint64_t withheld;	 /* nobody knows where their addresses are:
				    their bytes were not taken */
	uint64_t clamped;	 /* came with a time before the last one's */
	uint64_t bytes;		 /* captured */
};

struct pipeline;
struct sink;

enum status pipeline_create(
    struct pipeline **out, const struct pipeline_config *config) MUST_CHECK;
/* Begin to read. Not OK: threads may be there, so end the program. */
enum status pipeline_start(struct pipeline *p) MUST_CHECK;
/* Read no more: what was read comes out, then the end. Any number of times. */
void pipeline_stop(struct pipeline *p);

/* After pipeline_stop(), some time later: what was read of files comes out,
 * even if their reader waits for more of one that has no end. */
void pipeline_end_hanging(struct pipeline *p);

/* Readable when pipeline_deliver() has something to do. */
int pipeline_event(const struct pipeline *p);
/* Give SINK what has come; NULL: it is thrown away. The sink's failure. */
enum status pipeline_deliver(struct pipeline *p, struct sink *sink) MUST_CHECK;
/* Has all come out? */
bool pipeline_is_done(const struct pipeline *p);

struct pipeline_stats pipeline_stats(const struct pipeline *p);
/* Of the source that failed; NULL: none did. After the end. */
const char *pipeline_error(const struct pipeline *p);

/* False: a thread does not end, since its source does not return; nothing is
 * freed then. */
bool pipeline_destroy(struct pipeline *p, int wait_ms);

/* Streams of the sink: each worker of each source, or with is_strict each
 * source. */
unsigned pipeline_streams(const struct pipeline_config *config);
unsigned pipeline_stream(
    const struct pipeline_config *config, const struct chunk *c);

#endif
