/* SPDX-License-Identifier: MIT */
/*
 * Place: where the packets of a stream go: which trace chunk and which
 * tracefile. No other part of a stream reads these fields.
 */
#ifndef RELAYD_RECORD_PLACE_H
#define RELAYD_RECORD_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct chunk;
struct chunk_family;
struct state_in;
struct state_out;
struct stream;
struct stream_window;
struct tracefile;
struct window_file;

struct place {
	struct chunk *chunk;	      /* a reference; NULL: no chunk, no file */
	struct chunk_family *family;  /* of CHUNK; NULL: not made yet */
	struct stream_window *window; /* NULL: no --live-window */
	struct window_file *window_file; /* the current one; NULL: none */
	uint64_t tracefile_size, tracefile_count; /* 0: no limit */
	uint64_t number;			  /* of the current tracefile */
	bool has_wrapped;			  /* the ring of tracefiles */
	bool is_rolling;			  /* a rotation is pending */
	struct chunk *roll_to; /* a reference; NULL: to no chunk */
	uint64_t roll_at;      /* the first packet_seq_num of ROLL_TO */
};

/* Writing a packet that fills a file costs about as much as writing this many
 * bytes more: it creates both files and closes the previous ones. */
#define FILE_WEIGHT (UINT64_C(64) << 10)

static inline void
place_init(struct place *pl, uint64_t tracefile_size, uint64_t tracefile_count)
{
	pl->tracefile_size = tracefile_size;
	pl->tracefile_count = tracefile_count;
}
/* The stream goes to the chunk C; NULL: to no chunk. Its file is not made. */
void place_enter(struct stream *t, struct chunk *c);
/* The stream is freed. */
void place_free(struct stream *t);

/* Where it writes. The session and its chunks are back when it is read; on
 * failure place_free() frees what is there. */
void place_put_state(struct state_out *o, const struct stream *t);
enum status place_get_state(struct stream *t, struct state_in *in) MUST_CHECK;

/* Create the current tracefile. Fails as tracefile_create(). */
enum status place_make_file(
    struct stream *t, struct tracefile **out) MUST_CHECK;
/* Count up to the next file. In a ring it replaces an older one. */
void place_next_file(struct place *pl);
/* Are the names of the stream's files numbered? */
static inline bool
place_is_numbered(const struct place *pl)
{
	return pl->tracefile_size != 0 || pl->window != NULL;
}
/* The current file has SIZE bytes: does a packet of MORE bytes belong in the
 * next one? */
bool place_is_full(const struct stream *t, uint64_t size, uint64_t more);

static inline bool
place_has_chunk(const struct place *pl)
{
	return pl->chunk != NULL;
}

/* What a packet of N bytes counts as in addition to its memory: the part of a
 * tracefile that it fills. */
static inline uint64_t
place_weight(const struct place *pl, uint64_t n)
{
	if (pl->tracefile_size == 0)
		return 0;
	return n >= pl->tracefile_size ? FILE_WEIGHT
				       : FILE_WEIGHT * n / pl->tracefile_size;
}

/* ROTATE_STREAMS: packets from packet_seq_num AT on belong to TO. */
void place_begin_roll(struct place *pl, struct chunk *to, uint64_t at);
/* End the roll. The caller owns the reference that is returned. */
struct chunk *place_end_roll(struct place *pl);
static inline bool
place_is_rolling(const struct place *pl)
{
	return pl->is_rolling;
}
/* A rotation is pending; does it come before packet_seq_num SEQ? Sequence
 * numbers may wrap around. */
static inline bool
place_rolls_before(const struct place *pl, uint64_t seq)
{
	return pl->is_rolling && (int64_t)(seq - pl->roll_at) >= 0;
}

/* A rotation is pending that comes before the first packet, or at once. */
static inline bool
place_rolls_at_once(const struct place *pl)
{
	return pl->is_rolling && pl->roll_at == 0;
}
static inline bool
place_has_window(const struct place *pl)
{
	return pl->window != NULL;
}

/* Append a line of N bytes to .loss.jsonl in the stream's folder. Nothing is
 * done without a folder. E_NOSPC, E_IO. */
enum status place_note_loss(
    const struct stream *t, const char *line, size_t n) MUST_CHECK;

#endif
