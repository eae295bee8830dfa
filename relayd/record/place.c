/* SPDX-License-Identifier: MIT */
#include "relayd/record/place.h"

#include <assert.h>

#include "common/state.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/trace.h"
#include "store/chunk.h"
#include "store/packet_log.h"
#include "store/tracefile.h"

static void
leave_chunk(struct place *pl)
{
	assert(pl->family == NULL || pl->chunk != NULL);
	if (pl->family != NULL)
		chunk_stream_left(pl->chunk, pl->family);
	pl->family = NULL;
	chunk_put(pl->chunk);
	pl->chunk = NULL;
}

void
place_enter(struct stream *t, struct chunk *c)
{
	struct place *pl = &t->place;

	assert(!pl->is_rolling);
	leave_chunk(pl);
	pl->number = 0;
	pl->has_wrapped = false;
	if (c == NULL)
		return;
	pl->chunk = chunk_get(c);
	trace_enter(t->trace, c);
}

void
place_free(struct stream *t)
{
	stream_window_leave(t);
	chunk_put(t->place.roll_to);
	leave_chunk(&t->place);
}

static enum tracefile_index
index_format(const struct stream *t)
{
	if (t->is_metadata || !t->session->has_index)
		return TRACEFILE_NO_INDEX;
	return t->session->minor >= 8 ? TRACEFILE_INDEX_1_1
				      : TRACEFILE_INDEX_1_0;
}

enum status
place_make_file(struct stream *t, struct tracefile **out)
{
	struct place *pl = &t->place;
	enum status st = OK;
	bool is_continued;

	assert(*out == NULL && pl->chunk != NULL);
	/* There is no folder if making it failed when the stream entered the
	 * chunk. */
	if (pl->family == NULL)
		st = chunk_add_stream(pl->chunk, t->path, t->channel,
		    place_is_numbered(pl), &pl->family);
	if (st != OK)
		return st;
	/* Viewers must not open the file that is replaced any more. */
	if (pl->has_wrapped && t->log != NULL)
		packet_log_drop_file(t->log, pl->number, pl->chunk->serial);
	st = E_NOENT;
	if (session_continues_files(t->session))
		st = tracefile_continue(out, shard_of(t)->store, pl->chunk,
		    pl->family, index_format(t));
	is_continued = st == OK;
	if (st == E_NOENT)
		st = tracefile_create(out, shard_of(t)->store, pl->chunk,
		    pl->family, pl->number, pl->has_wrapped, index_format(t));
	if (st != OK)
		return st;
	st = stream_log_file(t, *out, pl->chunk, pl->family);
	if (st == OK && !stream_window_opened(t))
		st = E_NOMEM;
	if (st != OK) {
		if (is_continued)
			tracefile_close(*out);
		else
			tracefile_discard(*out);
		*out = NULL;
	}
	return st;
}

void
place_next_file(struct place *pl)
{
	uint64_t next = pl->number + 1;

	if (pl->tracefile_count != 0)
		next %= pl->tracefile_count;
	if (next <= pl->number)
		pl->has_wrapped = true;
	pl->number = next;
}

bool
place_is_full(const struct stream *t, uint64_t size, uint64_t more)
{
	const struct place *pl = &t->place;

	if (pl->tracefile_size != 0 && size + more > pl->tracefile_size)
		return true;
	return pl->window != NULL && stream_window_is_file_full(t, size, more);
}

void
place_begin_roll(struct place *pl, struct chunk *to, uint64_t at)
{
	assert(!pl->is_rolling);
	pl->is_rolling = true;
	pl->roll_to = to == NULL ? NULL : chunk_get(to);
	pl->roll_at = at;
}

struct chunk *
place_end_roll(struct place *pl)
{
	struct chunk *to = pl->roll_to;

	assert(pl->is_rolling);
	pl->is_rolling = false;
	pl->roll_to = NULL;
	return to;
}

enum status
place_note_loss(const struct stream *t, const char *line, size_t n)
{
	const struct place *pl = &t->place;

	if (pl->chunk == NULL || pl->family == NULL)
		return OK;
	return chunk_note_loss(pl->chunk, pl->family, line, n);
}

static const struct state_member place_members[] = {
	STATE_CODE(struct place, chunk),
	STATE_CODE(struct place, family),
	STATE_CODE(struct place, window),
	STATE_CODE(struct place, window_file), /* with the window's files */
	STATE_KEEP(struct place, tracefile_size),
	STATE_KEEP(struct place, tracefile_count),
	STATE_KEEP(struct place, number),
	STATE_KEEP(struct place, has_wrapped),
	STATE_KEEP(struct place, is_rolling),
	STATE_CODE(struct place, roll_to),
	STATE_KEEP(struct place, roll_at),
};
static STATE_TABLE(place_state, struct place, place_members);

void
place_put_state(struct state_out *o, const struct stream *t)
{
	const struct place *pl = &t->place;

	state_put(o, &place_state, pl);
	state_put_bool(o, pl->window != NULL);
	siblings_put_chunk_name(o, pl->chunk);
	state_put_bool(o, pl->family != NULL);
	if (pl->family != NULL)
		chunk_put_family(o, pl->family);
	siblings_put_chunk_name(o, pl->roll_to);
}

enum status
place_get_state(struct stream *t, struct state_in *in)
{
	struct siblings *s = t->session->siblings;
	struct place *pl = &t->place;
	enum status st = state_get(in, &place_state, pl);

	if (st == OK && state_get_bool(in))
		stream_window_add(t);
	if (st == OK)
		st = siblings_get_chunk_name(&pl->chunk, in, s);
	if (st == OK && state_get_bool(in))
		st = pl->chunk == NULL
			 ? E_MALFORMED
			 : chunk_get_family(&pl->family, in, pl->chunk);
	if (st == OK)
		st = siblings_get_chunk_name(&pl->roll_to, in, s);
	if (st == OK && pl->roll_to != NULL && !pl->is_rolling)
		st = E_MALFORMED;
	return st;
}
