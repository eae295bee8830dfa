/* SPDX-License-Identifier: MIT */
#include "relayd/record/stream_window.h"

#include <assert.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/list.h"
#include "common/log.h"
#include "common/publish.h"
#include "common/state.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "relayd/stats/stats.h"
#include "store/chunk.h"
#include "store/packet_log.h"
#include "store/tracefile.h"

struct stream_window {
	uint64_t max_bytes, max_ns; /* one of them is 0 */
	unsigned n_streams;
	uint64_t bytes;	     /* of all files, with WINDOW_FILE_COST */
	struct list past;    /* complete files, oldest first */
	struct list current; /* files that are written */
	uint64_t look_ns;    /* no file is too old before this */
};

/* A file of the window. */
struct window_file {
	struct list node;
	struct stream_window *window;
	struct stream *stream; /* that writes it; NULL: it is complete */
	struct chunk *chunk;   /* a reference */
	struct chunk_family *family;
	struct packet_log *log; /* a reference; may be NULL */
	uint64_t number, bytes;
	uint64_t began_ns, last_ns; /* 0: nothing was written yet */
};

static struct published limit_bytes, limit_ns;

void
stream_window_limit(uint64_t bytes, uint64_t ns)
{
	publish(&limit_bytes, bytes);
	publish(&limit_ns, ns);
}

static bool
is_eligible(const struct session *s)
{
	return s->request.live_timer_us != 0 && s->has_index;
}

static struct stream_window *
window_alloc(struct siblings *s)
{
	struct stream_window *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	list_init(&w->past);
	list_init(&w->current);
	s->window = w;
	s->shard->n_windows++;
	return w;
}

enum status
stream_window_begin(struct session *s)
{
	const uint64_t bytes = published(&limit_bytes);
	const uint64_t ns = published(&limit_ns);
	struct stream_window *w;

	if ((bytes == 0 && ns == 0) || !is_eligible(s) ||
	    s->siblings->window != NULL)
		return OK;
	w = window_alloc(s->siblings);
	if (w == NULL)
		return E_NOMEM;
	w->max_bytes = bytes;
	w->max_ns = ns;
	return OK;
}

void
stream_window_add(struct stream *t)
{
	const struct session *s = t->session;
	struct place *pl = &t->place;

	if (t->is_metadata || pl->tracefile_count != 0 || !is_eligible(s) ||
	    s->siblings->window == NULL)
		return;
	pl->window = s->siblings->window;
	pl->window->n_streams++;
	if (pl->tracefile_size != 0 && pl->tracefile_size < WINDOW_GIVEN_MIN)
		pl->tracefile_size = WINDOW_GIVEN_MIN;
}

static void
free_file(struct window_file *f)
{
	f->window->bytes -= f->bytes;
	list_del(&f->node);
	if (f->stream != NULL)
		f->stream->place.window_file = NULL;
	packet_log_put(f->log);
	chunk_put(f->chunk);
	free(f);
}

void
stream_window_destroy(struct stream_window *w)
{
	if (w == NULL)
		return;
	assert(list_empty(&w->past) && list_empty(&w->current));
	assert(w->n_streams == 0);
	free(w);
}

static void
keep_files(struct list *files, const struct chunk *c, bool others)
{
	struct window_file *f, *next;

	list_each_safe (f, next, files, struct window_file, node)
		if ((f->chunk == c) != others)
			free_file(f);
}

void
stream_window_keep(struct siblings *s, const struct chunk *c, bool others)
{
	if (s->window == NULL)
		return;
	keep_files(&s->window->past, c, others);
	keep_files(&s->window->current, c, others);
}

void
stream_window_leave(struct stream *t)
{
	if (t->place.window == NULL)
		return;
	stream_window_file_ends(t);
	t->place.window->n_streams--;
	t->place.window = NULL;
}

bool
stream_window_opened(struct stream *t)
{
	struct stream_window *w = t->place.window;
	struct window_file *f;

	/* The files of the previous chunk do not belong to the window. */
	if (w == NULL || t->place.chunk != t->session->chunks.current)
		return true;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return false;
	f->window = w;
	f->stream = t;
	f->chunk = chunk_get(t->place.chunk);
	f->family = t->place.family;
	f->log = t->log == NULL ? NULL : packet_log_get(t->log);
	f->number = t->place.number;
	f->bytes = WINDOW_FILE_COST;
	list_append(&w->current, &f->node);
	w->bytes += f->bytes;
	t->place.window_file = f;
	return true;
}

void
stream_window_file_ends(struct stream *t)
{
	struct window_file *f = t->place.window_file;

	if (f == NULL)
		return;
	list_del(&f->node);
	list_append(&f->window->past, &f->node);
	f->stream = NULL;
	t->place.window_file = NULL;
}

/* Delete the file. Viewers must not open it any more. */
static void
delete_file(struct shard *sh, struct window_file *f)
{
	if (f->log != NULL)
		packet_log_drop_file(f->log, f->number, f->chunk->serial);
	chunk_delete_file(f->chunk, f->family, f->number);
	stats_add(sh->stats, STAT_deleted_window, f->bytes - WINDOW_FILE_COST);
	free_file(f);
}

static struct window_file *
oldest(const struct stream_window *w)
{
	return list_empty(&w->past)
		   ? NULL
		   : list_entry(w->past.next, struct window_file, node);
}

void
stream_window_make_space(struct stream *t, uint64_t bytes)
{
	struct stream_window *w = t->place.window;
	struct window_file *f;
	uint64_t freed = 0;

	if (w == NULL || w->max_bytes == 0)
		return;
	while (w->bytes + bytes > w->max_bytes && (f = oldest(w)) != NULL) {
		/* New streams use space too: the next batch continues. */
		if (freed > bytes && shard_part_is_late(shard_of(t)))
			return;
		freed += f->bytes;
		delete_file(shard_of(t), f);
	}
}

void
stream_window_wrote(struct stream *t, uint64_t bytes)
{
	struct window_file *f = t->place.window_file;

	if (f == NULL || bytes == 0)
		return;
	f->bytes += bytes;
	f->window->bytes += bytes;
	f->last_ns = clock_now_ns();
	if (f->began_ns == 0)
		f->began_ns = f->last_ns;
}

/* The bytes of one file of the window's streams. */
static uint64_t
file_max(const struct stream_window *w)
{
	const uint64_t n = w->n_streams > 0 ? w->n_streams : 1;
	const uint64_t part = w->max_bytes / WINDOW_PARTS / n;

	if (w->max_bytes != 0 && part < WINDOW_FILE_MIN)
		return WINDOW_FILE_MIN;
	if (w->max_bytes == 0 || part > WINDOW_FILE_MAX)
		return WINDOW_FILE_MAX;
	return part;
}

bool
stream_window_is_file_full(const struct stream *t, uint64_t size, uint64_t more)
{
	const struct stream_window *w = t->place.window;
	const struct window_file *f = t->place.window_file;

	if (w == NULL || size == 0)
		return false;
	if (size + more > file_max(w))
		return true;
	return w->max_ns != 0 && f != NULL && f->began_ns != 0 &&
	       clock_now_ns() - f->began_ns >= w->max_ns / WINDOW_PARTS;
}

/* Delete the files that are older than the window's time, and seal those that
 * will be. Returns when the next one will be too old; NOW_NS: the time slice
 * has expired, and there are more. */
static uint64_t
expire(struct shard *sh, struct stream_window *w, uint64_t now_ns)
{
	uint64_t next = now_ns + w->max_ns; /* for files that are written now */
	struct window_file *f, *tmp;

	list_each_safe (f, tmp, &w->current, struct window_file, node) {
		if (f->last_ns == 0)
			continue;
		if (now_ns - f->last_ns >= w->max_ns)
			writer_next_file(f->stream);
		else
			next = clock_earlier(next, f->last_ns + w->max_ns);
		if (shard_part_is_late(sh))
			return now_ns;
	}
	while ((f = oldest(w)) != NULL) {
		if (now_ns - f->last_ns < w->max_ns)
			return clock_earlier(next, f->last_ns + w->max_ns);
		delete_file(sh, f);
		if (shard_part_is_late(sh))
			return now_ns;
	}
	return next;
}

uint64_t
stream_window_tick(struct shard *sh, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	const struct siblings *s;
	struct stream_window *w;

	/* Skip the scan when --live-window is off. */
	if (sh->n_windows == 0)
		return UINT64_MAX;
	list_each (s, &sh->siblings, struct siblings, node) {
		w = s->window;
		if (w == NULL || w->max_ns == 0)
			continue;
		if (now_ns >= w->look_ns)
			w->look_ns = expire(sh, w, now_ns);
		next = clock_earlier(next, w->look_ns);
	}
	return next;
}

static const struct state_member window_members[] = {
	STATE_KEEP(struct stream_window, max_bytes),
	STATE_KEEP(struct stream_window, max_ns),
	STATE_DROP(struct stream_window, n_streams), /* counted again */
	STATE_DROP(struct stream_window, bytes),
	STATE_CODE(struct stream_window, past),
	STATE_CODE(struct stream_window, current),
	STATE_KEEP(struct stream_window, look_ns),
};
static STATE_TABLE(window_state, struct stream_window, window_members);

static const struct state_member file_members[] = {
	STATE_DROP(struct window_file, node),
	STATE_DROP(struct window_file, window),
	STATE_CODE(struct window_file, stream),
	STATE_CODE(struct window_file, chunk),
	STATE_CODE(struct window_file, family),
	STATE_CODE(struct window_file, log),
	STATE_KEEP(struct window_file, number),
	STATE_KEEP(struct window_file, bytes),
	STATE_KEEP(struct window_file, began_ns),
	STATE_KEEP(struct window_file, last_ns),
};
static STATE_TABLE(window_file_state, struct window_file, file_members);

void
stream_window_put_state(struct state_out *o, const struct siblings *s)
{
	state_put_bool(o, s->window != NULL);
	if (s->window != NULL)
		state_put(o, &window_state, s->window);
}

enum status
stream_window_get_state(struct siblings *s, struct state_in *in)
{
	struct stream_window *w;
	enum status st;

	if (!state_get_bool(in))
		return state_in_status(in);
	w = window_alloc(s);
	if (w == NULL)
		return E_NOMEM;
	st = state_get(in, &window_state, w);
	return st == OK && (w->max_bytes == 0) == (w->max_ns == 0) ? E_MALFORMED
								   : st;
}

static void
put_files(struct state_out *o, const struct list *files)
{
	const struct window_file *f;

	list_each (f, files, struct window_file, node) {
		state_put_bool(o, true);
		state_put(o, &window_file_state, f);
		state_put_u64(o, f->stream == NULL ? 0 : f->stream->handle);
		siblings_put_chunk_name(o, f->chunk);
		chunk_put_family(o, f->family);
		packet_log_put_state(o, f->log);
	}
}

void
stream_window_put_files(struct state_out *o, const struct siblings *s)
{
	if (s->window == NULL)
		return;
	put_files(o, &s->window->past);
	put_files(o, &s->window->current);
	state_put_bool(o, false);
}

/* Its stream, if that is back, goes on in it. */
static void
join_stream(struct siblings *s, struct window_file *f, uint64_t handle)
{
	struct stream *t = handle == 0 ? NULL
				       : idmap_find(&s->shard->streams, handle);

	if (t == NULL || t->place.window != s->window ||
	    t->place.window_file != NULL || t->place.chunk != f->chunk)
		return;
	f->stream = t;
	t->place.window_file = f;
	list_del(&f->node);
	list_append(&s->window->current, &f->node);
}

static enum status
get_file(struct siblings *s, struct state_in *in)
{
	struct window_file *f = calloc(1, sizeof(*f));
	uint64_t handle;
	enum status st;

	if (f == NULL)
		return E_NOMEM;
	list_init(&f->node);
	f->window = s->window;
	st = state_get(in, &window_file_state, f);
	handle = state_get_u64(in);
	if (st == OK)
		st = siblings_get_chunk_name(&f->chunk, in, s);
	if (st == OK)
		st = f->chunk == NULL
			 ? E_MALFORMED
			 : chunk_get_family(&f->family, in, f->chunk);
	if (st == OK)
		st = packet_log_get_state(&f->log, in);
	if (st != OK) {
		f->bytes = 0; /* not counted yet */
		free_file(f);
		return st;
	}
	s->window->bytes += f->bytes;
	list_append(&s->window->past, &f->node);
	join_stream(s, f, handle);
	return OK;
}

enum status
stream_window_get_files(struct siblings *s, struct state_in *in)
{
	enum status st = OK;

	if (s->window == NULL)
		return OK;
	while (st == OK && state_get_bool(in))
		st = get_file(s, in);
	return st == OK ? state_in_status(in) : st;
}
