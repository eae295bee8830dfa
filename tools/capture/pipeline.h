/* SPDX-License-Identifier: MIT */
/*
 * Packets from sources to one sink, through threads:
 *
 *	reader (one per source) -> workers -> combiner, in the caller's thread
 *
 * If libtrace's own threads read a source (source_threads()), each of them is a
 * reader, with one worker.
 *
 * A reader copies packets into batches and passes these to its workers, in
 * turn or by flow. A worker anonymises packets and makes events of them. The
 * combiner passes results to the sink as they arrive, or, if strict, all of an
 * input in the order in which it was read. All memory is allocated at the
 * start. When a sink is slow, files are read more slowly; packets of live
 * sources are dropped and counted.
 */
#ifndef TOOLS_CAPTURE_PIPELINE_H
#define TOOLS_CAPTURE_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/anon.h"
#include "tools/capture/batch.h"
#include "tools/capture/ctf.h"
#include "tools/capture/source.h"

/* Inputs times threads: each thread has its own batches. */
#define PIPELINE_THREADS_MAX 32
/* Approximate bytes of batches: 24 MiB between readers and workers hold the
 * headers of 150,000 packets, three quarters of a second of the promised
 * 200,000/s. */
#define PIPELINE_MEMORY (40 * 1024 * 1024)

enum pipeline_hash {
	HASH_BALANCE, /* batch by batch */
	HASH_FLOW,    /* both directions of a flow to one worker */
};

enum capture_direction {
	CAPTURE_IN, /* all that were not sent by this machine */
	CAPTURE_OUT,
	CAPTURE_INOUT,
};

struct pipeline_config {
	struct source **sources; /* borrowed */
	unsigned n_sources;
	unsigned n_workers; /* of each source; if it has its own threads, these
			       are as many */
	enum pipeline_hash hash;
	bool is_strict; /* order within a source; else within a worker's stream
			 */
	bool has_records; /* the sink takes records, not events */
	enum payload payload;
	uint32_t snaplen; /* bytes of a packet at most; 0: all */
	const uint8_t
	    *key; /* ANON_KEY_LEN bytes; NULL: do not anonymise. Packets of link
		     types that cannot be anonymised lose their bytes */
	enum anon_checksums checksums;
	uint64_t flush_ns; /* live: the longest wait in a batch */
	uint64_t count;	   /* packets of each source; 0: all */
	enum capture_direction direction; /* others are no packets */
};

struct pipeline_stats {
	uint64_t received;	 /* read from the sources, also if dropped
				    then by this program */
	uint64_t dropped_kernel; /* dropped by the kernel */
	uint64_t dropped_local;	 /* dropped without a free batch */
	uint64_t withheld;	 /* not understood: their bytes were left out */
	uint64_t clamped;	 /* older than the packet before them */
	uint64_t cut;	/* there was no memory for bytes after RECORD_LEN_MAX */
	uint64_t bytes; /* captured */
};

struct pipeline;
struct sink;

enum status pipeline_create(
    struct pipeline **out, const struct pipeline_config *config) MUST_CHECK;
/* Begin to read. Not OK: some threads may be running, so end the program. */
enum status pipeline_start(struct pipeline *p) MUST_CHECK;
/* Stop reading: what was read is delivered, then the end. May be called again.
 */
void pipeline_stop(struct pipeline *p);

/* After pipeline_stop(), some time later: deliver what was read of files even
 * if a reader waits for more, in a FIFO without an end. */
void pipeline_end_hanging(struct pipeline *p);

/* A descriptor, readable when pipeline_deliver() has something to do. */
int pipeline_event(const struct pipeline *p);
/* Pass results to SINK; NULL: drop them. Returns the sink's failure. */
enum status pipeline_deliver(struct pipeline *p, struct sink *sink) MUST_CHECK;
/* Was everything delivered? */
bool pipeline_is_done(const struct pipeline *p);

struct pipeline_stats pipeline_stats(const struct pipeline *p);
/* The error of a source that failed; NULL: none. Call it after the end. */
const char *pipeline_error(const struct pipeline *p);

/* False: a thread is stuck in its source; then nothing is freed. */
bool pipeline_destroy(struct pipeline *p, int wait_ms);

/* The number of streams of the sink: one for each worker of each source, or
 * with is_strict for each source. */
unsigned pipeline_streams(const struct pipeline_config *config);

#endif
