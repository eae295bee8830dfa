/* SPDX-License-Identifier: MIT */
/* What the files of the pipeline share. */
#ifndef TOOLS_CAPTURE_PIPELINE_INTERNAL_H
#define TOOLS_CAPTURE_PIPELINE_INTERNAL_H

#include <pthread.h>

#include "common/publish.h"
#include "tools/capture/pipeline.h"

struct worker {
	struct pipeline *pipeline;
	unsigned input, number;
	pthread_t thread;
	bool is_started;
	struct queue in;
	struct pool pool; /* of its events */
	struct anon *anon;
	struct chunk *open; /* events that are not yet delivered */
	uint64_t discarded; /* of its stream, not yet told */
};

struct reader {
	struct pipeline *pipeline;
	struct source *source;
	unsigned input;
	struct reader *first; /* of this source's */
	unsigned n_readers;   /* of this source */
	struct worker *workers;
	unsigned n_workers, first_worker; /* of the source's: so many from it */
	pthread_t thread;
	bool is_started;
	struct published is_over; /* the thread returns */
	struct published reading; /* a file: 1 during a read. Who takes it may
				     go on with the rest of this */
	bool is_ending; /* a chunk is waited for, whatever the source */
	bool is_taken;	/* by the caller of the pipeline */
	struct pool pool;
	enum status failed;

	/* The thread's own. */
	struct chunk *open[PIPELINE_THREADS_MAX]; /* of the round; all or none
						     of those it needs */
	bool is_round;				  /* one is open */
	uint64_t round;
	uint32_t order;
	uint64_t last_ns[PIPELINE_THREADS_MAX]; /* of a worker's stream */
	uint64_t read_ns;		     /* the latest time of a packet */
	uint64_t lost[PIPELINE_THREADS_MAX]; /* not yet told in a chunk */
	uint64_t flush_at, stats_at;	     /* clock_now_ns() */
	uint64_t kernel_seen;		     /* source_dropped() */
	uint64_t n_received, n_bytes;

	/* For readers that share a source, and count what they take. */
	struct published taken;
	uint64_t seen, idle_since_ns; /* n_received at a tick; wall clock */

	/* For others to read. */
	struct published received, dropped_kernel, dropped_local, withheld,
	    clamped, bytes;
};

/* What the combiner knows of one source. */
struct combining {
	struct {
		struct chunk *first, *last;
	} lists[PIPELINE_THREADS_MAX];
	uint64_t round;
	unsigned n_ended;			  /* workers */
	uint64_t discarded[PIPELINE_THREADS_MAX]; /* of a stream so far */
};

struct pipeline {
	struct pipeline_config config;
	uint32_t copy_len; /* bytes of a packet that workers need */
	int stop;	   /* eventfd: readable from pipeline_stop() on */
	struct published is_stopped;
	struct queue results;
	struct reader *readers; /* of all sources, one after the other */
	unsigned n_readers;
	struct combining *combining;
	unsigned n_done; /* sources of which all has come out */
};

/* Those of N_WORKERS among whom a reader's packets are shared out in one round:
 * from *FIRST on, so many. */
unsigned pipeline_round(const struct pipeline *p, unsigned n_workers,
    uint64_t round, unsigned *first);

/* pipeline_reader.c: the threads. */
void *reader_run(void *reader);
/* Reads by the threads that the source has itself. */
void *reader_run_parallel(void *first);
/* Nothing more is read: give away what there is, and the end. */
void reader_end(struct reader *r);

#endif
