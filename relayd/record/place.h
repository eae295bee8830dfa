/* SPDX-License-Identifier: MIT */
/*
 * Place: where the packets of a stream go: which trace, which trace chunk,
 * which tracefile.
 */
#ifndef RELAYD_RECORD_PLACE_H
#define RELAYD_RECORD_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct chunk;
struct chunk_family;
struct trace;
struct window_stream;

struct place {
	struct trace *trace;	      /* a reference */
	struct chunk *chunk;	      /* a reference; NULL: no chunk, no file */
	struct chunk_family *family;  /* of CHUNK; NULL: not made yet */
	struct window_stream *window; /* NULL: no --live-window */
	uint64_t tracefile_size, tracefile_count; /* 0: no limit */
	uint64_t number;			  /* of the current tracefile */
	bool has_wrapped;			  /* the ring of tracefiles */
	bool is_rolling;			  /* a rotation is pending */
	struct chunk *roll_to; /* a reference; NULL: to no chunk */
	uint64_t roll_at;      /* the first packet_seq_num of ROLL_TO */
};

#endif
