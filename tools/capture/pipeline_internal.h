/* SPDX-License-Identifier: MIT */
/* Shared by the files of the pipeline. */
#ifndef TOOLS_CAPTURE_PIPELINE_INTERNAL_H
#define TOOLS_CAPTURE_PIPELINE_INTERNAL_H

#include <pthread.h>

#include "common/publish.h"
#include "tools/capture/pipeline.h"

struct pipeline_worker {
	struct pipeline *pipeline;
	struct source_reader *reader; /* gives it packets */
	unsigned input, number;
	pthread_t thread;
	bool is_started;
	struct queue in;
	struct pool pool; /* of its events */
	struct anon *anon;
	struct batch *open;	   /* events that were not delivered yet */
	uint64_t discarded;	   /* of its stream, not reported yet */
	struct published withheld; /* as in struct pipeline_stats */
};

struct source_reader {
	struct pipeline *pipeline;
	struct source *source;
	unsigned input;
	struct source_reader *first; /* the first reader of this source */
	unsigned n_readers;	     /* of this source */
	struct pipeline_worker *workers;
	unsigned n_workers, first_worker; /* its part of the source's workers */
	pthread_t thread;
	bool is_started;
	struct published is_over; /* the thread is about to return */
	struct published reading; /* a file: 1 during a read. The thread that
				     takes it owns the rest of this struct */
	bool is_ending;		  /* wait for a batch, whatever the source */
	bool is_taken; /* READING was taken by the caller of the pipeline */
	struct pool pool;
	enum status failed;

	/* Owned by the thread. */
	struct batch *open[PIPELINE_THREADS_MAX]; /* of a worker; NULL: none */
	uint64_t round;
	uint64_t last_ns[PIPELINE_THREADS_MAX]; /* of a worker's stream */
	uint64_t read_ns;		     /* the latest time of a packet */
	uint64_t lost[PIPELINE_THREADS_MAX]; /* not reported in a batch yet */
	uint64_t flush_at, stats_at;	     /* clock_now_ns() */
	uint64_t kernel_seen;		     /* source_dropped() */
	uint64_t n_received, n_bytes;

	/* For readers that share a source and count their packets. */
	struct published taken;
	uint64_t seen, idle_since_ns; /* n_received at a tick; wall clock */

	/* Published. */
	struct published received, dropped_kernel, dropped_local, withheld,
	    clamped, cut, bytes;
	struct published n_large; /* batches with memory of their own */
};

/* The combiner's state of one source. */
struct combiner {
	struct {
		struct batch *first, *last;
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
	struct source_reader *readers; /* of all sources, one after the other */
	unsigned n_readers;
	struct combiner *combiners;
	unsigned n_done; /* sources whose end was delivered */
};

/* pipeline_reader.c: the threads. */
void *reader_run(void *reader);
/* Reads by the threads of libtrace 4. */
void *reader_run_parallel(void *first);
/* Stop reading: pass on what was read, and the end. */
void reader_end(struct source_reader *r);

#endif
