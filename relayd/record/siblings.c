/* SPDX-License-Identifier: MIT */
#include "relayd/record/siblings.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fds.h"
#include "common/log.h"
#include "common/state.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/trace.h"
#include "store/chunk.h"
#include "store/session_dir.h"

/* Files that are deleted between two checks of the clock: 0.2 ms. */
#define DELETE_STEP 10

/* Does any session of S still take commands? If not, their tracing session is
 * over, although sessions may wait for bytes or chunks for their deletion. */
static bool
is_alive(const struct siblings *s)
{
	const struct session *o;

	list_each (o, &s->sessions, struct session, siblings_node)
		if (!o->is_ended)
			return true;
	return false;
}

static struct siblings *
find(struct shard *sh, const struct relay_create_session *c)
{
	struct siblings *s;

	if (!c->has_peer_id || c->may_resume)
		return NULL;
	list_each (s, &sh->siblings, struct siblings, node) {
		if (!s->is_single && s->peer_session == c->peer_session &&
		    memcmp(&s->uuid, &c->uuid, sizeof(s->uuid)) == 0 &&
		    is_alive(s))
			return s;
	}
	return NULL;
}

/* With one reference. */
static struct siblings *
siblings_alloc(struct shard *sh)
{
	struct siblings *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->refs = 1;
	s->shard = sh;
	list_init(&s->sessions);
	list_init(&s->chunks);
	list_append(&sh->siblings, &s->node);
	return s;
}

enum status
siblings_join(struct siblings **out, struct shard *sh,
    const struct relay_create_session *c)
{
	struct siblings *s = find(sh, c);

	assert(shard_is_mine(sh));
	*out = s;
	if (s != NULL) {
		s->refs++;
		return OK;
	}
	s = siblings_alloc(sh);
	if (s == NULL)
		return E_NOMEM;
	s->is_single = !c->has_peer_id || c->may_resume;
	s->uuid = c->uuid;
	s->peer_session = c->peer_session;
	*out = s;
	return OK;
}

void
siblings_leave(struct siblings *s)
{
	if (s == NULL || --s->refs > 0)
		return;
	list_del(&s->node);
	if (s->window != NULL)
		s->shard->n_windows--;
	stream_window_destroy(s->window);
	free(s);
}

struct chunk *
siblings_chunk(const struct siblings *s, uint64_t id)
{
	struct chunk *c;

	list_each (c, &s->chunks, struct chunk, node)
		if (c->id == id)
			return c;
	return NULL;
}

uint64_t
siblings_names_bytes(const struct siblings *s)
{
	const struct chunk *c;
	uint64_t n = 0;

	list_each (c, &s->chunks, struct chunk, node)
		n += c->names_bytes;
	return n;
}

/* Will a session still come to C? */
static bool
is_awaited(const struct siblings *s, const struct chunk *c)
{
	const struct session *o;

	list_each (o, &s->sessions, struct session, siblings_node)
		if (!o->is_ended && (o->chunks.current == NULL ||
					o->chunks.current->id < c->id))
			return true;
	return false;
}

/*
 * The last reference to C is gone. If its only session died before the others
 * came to it in the same rotation, it is kept for them, where it is, until one
 * of them takes it or goes to a later one, or the last session has ended. True:
 * it is kept.
 */
static bool
siblings_keep(struct siblings *s, struct chunk *c)
{
	/* A chunk that could not be made is not in the list. */
	if (c->is_kept || c->is_closed || list_empty(&c->node) ||
	    !is_awaited(s, c))
		return false;
	c->is_kept = true;
	(void)chunk_get(c);
	return true;
}

struct chunk *
siblings_take(struct chunk *c)
{
	(void)chunk_get(c);
	if (c->is_kept) {
		c->is_kept = false;
		chunk_put(c);
	}
	return c;
}

void
siblings_let_go(struct siblings *s, uint64_t next)
{
	const bool is_over = !is_alive(s);
	struct chunk *c, *tmp;

	list_each_safe (c, tmp, &s->chunks, struct chunk, node) {
		/* With one reference, no session took it. It stays marked, so
		 * that it is not kept again. */
		if (c->is_kept && c->refs == 1 && (is_over || c->id < next))
			chunk_put(c);
	}
}

void
siblings_finish_chunk(struct chunk *take_c)
{
	struct siblings *s = take_c->released_arg;

	chunk_finish(take_c);
	siblings_leave(s);
}

/* The commands on trace chunks (streaming 3.13 - 3.16, 5.5). */

/* The last reference to the chunk is gone; ARG is its siblings. */
static void
released(struct chunk *take_c, void *arg)
{
	struct siblings *s = arg;

	if (siblings_keep(s, take_c))
		return;
	if (chunk_settle(take_c)) {
		/* Its directory stays open until it is deleted. */
		if (take_c->fd >= 0 && !take_c->is_extra)
			take_c->is_extra = fds_take(FDS_EXTRA);
		list_append(&s->shard->work.doomed, &take_c->doomed_node);
		return;
	}
	siblings_finish_chunk(take_c);
}

enum status
session_anonymous_chunk(struct session *s)
{
	enum status st;

	st = chunk_create(&s->chunks.current, s->dir, 0,
	    s->request.creation_time, NULL, released, s->siblings);
	if (st != OK)
		return st;
	s->chunks.current->is_base = true;
	s->siblings->refs++;
	return chunk_make(s->chunks.current, CHUNK_AT_ROOT);
}

/*
 * The chunk C is being deleted: must that be complete before S creates a chunk?
 * In the session's own directory new files would have the same names as those
 * of C. A chunk in a directory of its own can be deleted later while it has a
 * descriptor beyond those of each session, but only one such chunk of a
 * session.
 */
static bool
must_be_deleted_first(const struct session *s, const struct chunk *c)
{
	unsigned n_all = 0, n_deleted = 0;
	const struct chunk *o;

	if (c->dir == s->dir && c->place == CHUNK_AT_ROOT)
		return true;
	if (c->released_arg != s->siblings)
		return false;
	list_each (o, &s->siblings->chunks, struct chunk, node) {
		n_all++;
		n_deleted += o->refs == 0;
	}
	return n_deleted > 1 || (!c->is_extra && n_all >= SESSION_CHUNKS);
}

bool
session_finish_deletions(struct session *s, uint64_t id)
{
	unsigned budget;
	struct chunk *c, *tmp;

	if (siblings_chunk(s->siblings, id) != NULL)
		return true;
	list_each_safe (
	    c, tmp, &s->shard->work.doomed, struct chunk, doomed_node) {
		if (!must_be_deleted_first(s, c))
			continue;
		budget = DELETE_STEP;
		while (!chunk_delete_step(c, &budget)) {
			if (shard_is_late(s->shard))
				return false;
			budget = DELETE_STEP;
		}
		siblings_finish_chunk(c);
	}
	return true;
}

/* Where an open chunk without an override name is. In a shared directory it has
 * a directory of its own, so that the files of other sessions do not move with
 * it. */
static enum chunk_place
home_of(const struct session *s)
{
	return s->chunks.has_rotated || s->dir->sharers != 0 ? CHUNK_AT_NAME
							     : CHUNK_AT_ROOT;
}

/* May the session have one more chunk? *IS_EXTRA: it is beyond those that each
 * session may have. */
static enum status
take_quota(const struct session *s, bool *is_extra)
{
	const struct chunk *c;
	unsigned n = 0;

	list_each (c, &s->siblings->chunks, struct chunk, node)
		n += c->refs > 0;
	*is_extra = n >= SESSION_CHUNKS;
	if (n < SESSION_CHUNKS_MAX && (!*is_extra || fds_take(FDS_EXTRA)))
		return OK;
	*is_extra = false;
	log_peer(LOG_WARN,
	    "%s trace chunk refused: %u trace chunks are open because streams "
	    "have not been rotated out of them",
	    s->tag, n);
	return E_LIMIT;
}

static enum status
new_chunk(
    struct session *s, const struct relay_create_chunk *q, struct chunk **out)
{
	enum chunk_place place = home_of(s);
	struct chunk *c;
	char name[256];
	bool is_extra;
	enum status st;

	st = take_quota(s, &is_extra);
	if (st != OK)
		return st;
	st = chunk_create(&c, s->dir, q->id, q->creation_time, q->override_name,
	    released, s->siblings);
	if (st != OK) {
		if (is_extra)
			fds_give(FDS_EXTRA);
		return st;
	}
	c->is_extra = is_extra;
	s->siblings->refs++;
	if (q->override_name != NULL)
		place = CHUNK_AT_NAME;
	else if (s->chunks.current != NULL)
		place = CHUNK_AT_NEW;
	/* Refuse a time that cannot be a date now, not when the chunk is
	 * closed. */
	st = chunk_name(c, name);
	if (st == OK && s->chunks.current != NULL &&
	    s->chunks.current->override_name == NULL)
		st = chunk_move(s->chunks.current, CHUNK_AT_OLD);
	if (st == OK)
		st = chunk_make(c, place);
	if (st != OK) {
		chunk_put(c);
		return st;
	}
	list_append(&s->siblings->chunks, &c->node);
	*out = c;
	return OK;
}

uint32_t
session_create_chunk(struct session *s, const struct relay_create_chunk *q)
{
	struct chunk *c = siblings_chunk(s->siblings, q->id);
	enum status st;

	if (s->chunks.pending != NULL)
		return RELAY_UNKNOWN_ERROR;
	/* A sender that comes back creates its chunk again. It has one: files
	 * are continued where they began. */
	if (s->request.may_resume && s->chunks.current != NULL)
		return c == s->chunks.current ? RELAY_OK
					      : RELAY_INVALID_PROTOCOL;
	if (c != NULL && (c == s->chunks.current || c->refs == 0))
		return RELAY_INVALID_PROTOCOL;
	st = session_dir_renew(&s->dir);
	if (st == OK && c != NULL && chunk_is_gone(c))
		st = chunk_restore(c);
	if (st != OK)
		return RELAY_UNKNOWN_ERROR;
	if (c != NULL) {
		/* A sibling has created the chunk, and has moved what they
		 * share. */
		c = siblings_take(c);
		if (s->chunks.current != NULL &&
		    s->chunks.current->override_name == NULL &&
		    s->chunks.current->place == CHUNK_AT_ROOT &&
		    c->place != CHUNK_AT_ROOT)
			st = chunk_move(s->chunks.current, CHUNK_AT_OLD);
	} else {
		st = new_chunk(s, q, &c);
	}
	if (st != OK)
		return st == E_REFUSED || st == E_NOMEM ? RELAY_NO_MEMORY
							: RELAY_UNKNOWN_ERROR;
	s->chunks.pending = s->chunks.current;
	s->chunks.current = c;
	siblings_let_go(s->siblings, c->id);
	trace_forget_old(s);
	stream_window_keep(s->siblings, c, true);
	log_info("%s trace chunk %" PRIu64 " created", s->tag, q->id);
	return RELAY_OK;
}

/* May CLOSE_TRACE_CHUNK close C? RELAY_OK, or the code that says why not. */
static uint32_t
check_close(const struct session *s, const struct relay_close_chunk *q,
    const struct chunk *c)
{
	if (c == NULL || c->refs == 0)
		return RELAY_NO_MEMORY;
	if (q->has_command && q->command > RELAY_CLOSE_DELETE)
		return RELAY_INVALID;
	if (q->has_command && q->command == RELAY_CLOSE_DELETE &&
	    !s->shard->config.allow_clear)
		return RELAY_INVALID_PROTOCOL;
	if (s->chunks.pending != NULL && s->chunks.pending != c)
		return RELAY_INVALID_PROTOCOL;
	return RELAY_OK;
}

static enum chunk_command
command_of(const struct relay_close_chunk *q)
{
	if (!q->has_command || q->command == RELAY_CLOSE_NOTHING)
		return CHUNK_KEEP;
	return q->command == RELAY_CLOSE_DELETE ? CHUNK_DELETE : CHUNK_ARCHIVE;
}

/* Move directories as streaming 5.5 says for CLOSE_TRACE_CHUNK. */
static enum status
settle_places(struct session *s, struct chunk *c, enum chunk_command command)
{
	enum chunk_place home = home_of(s);
	enum status st = OK;

	if (command == CHUNK_KEEP && c->override_name == NULL)
		st = chunk_move(c, home);
	if (st == OK && s->chunks.current != NULL && s->chunks.current != c &&
	    s->chunks.current->override_name == NULL)
		st = chunk_move(s->chunks.current,
		    command == CHUNK_DELETE ? home : CHUNK_AT_NAME);
	return st;
}

static enum status
reply_path(const struct session *s, enum chunk_command command,
    const char *name, char *path)
{
	const char *dir = session_path(s);
	int n;

	if (s->request.is_snapshot)
		n = snprintf(path, RELPATH_MAX, "%s/%s", dir, name);
	else if (s->chunks.has_rotated || command == CHUNK_ARCHIVE)
		n = snprintf(path, RELPATH_MAX, "%s/archives/%s", dir, name);
	else
		n = snprintf(path, RELPATH_MAX, "%s", dir);
	return n + 1 < SESSION_REPLY_PATH ? OK : E_LIMIT;
}

/* Do what could fail now, while an error can still be reported to the peer.
 * Returns the code of the reply. */
static uint32_t
prepare_close(struct session *s, const struct relay_close_chunk *q,
    struct chunk *c, char *path)
{
	enum chunk_command command = command_of(q);
	char name[256];

	c->close_time = q->close_time;
	c->is_closed = true;
	if (chunk_name(c, name) != OK)
		return RELAY_NO_MEMORY;
	if (reply_path(s, command, name, path) != OK ||
	    (command == CHUNK_ARCHIVE && chunk_prepare_archive(c) != OK) ||
	    settle_places(s, c, command) != OK)
		return RELAY_UNKNOWN_ERROR;
	return RELAY_OK;
}

uint32_t
session_close_chunk(
    struct session *s, const struct relay_close_chunk *q, char *path)
{
	struct chunk *c = siblings_chunk(s->siblings, q->id);
	enum chunk_command command = command_of(q);
	uint32_t code = check_close(s, q, c);
	struct stream *t;

	if (code != RELAY_OK)
		return code;
	c = chunk_get(c);
	code = prepare_close(s, q, c, path);
	if (code != RELAY_OK) {
		c->is_closed = false;
		chunk_put(c);
		return code;
	}
	c->command = command;
	if (command == CHUNK_ARCHIVE)
		s->chunks.has_rotated = true;
	/* A clear: viewers continue after the packets that are deleted. */
	if (command == CHUNK_DELETE)
		list_each (t, &s->streams, struct stream, session_node)
			stream_forget_chunk(t, c);
	if (s->chunks.current == c) {
		chunk_put(s->chunks.current);
		s->chunks.current = NULL;
	}
	chunk_put(s->chunks.pending);
	s->chunks.pending = NULL;
	log_info("%s trace chunk %" PRIu64 " closed: %s", s->tag, q->id,
	    command == CHUNK_ARCHIVE  ? "to be archived"
	    : command == CHUNK_DELETE ? "to be deleted"
				      : "kept");
	if (command == CHUNK_ARCHIVE)
		session_report(s, RELAY_EVENT_SESSION_ROTATED);
	stream_window_keep(s->siblings, c, false);
	/* No other session will come to it. */
	if (c->is_kept && c->refs > 0)
		chunk_put(siblings_take(c));
	chunk_put(c);
	return RELAY_OK;
}

enum status
session_rotate(
    struct session *s, struct relay_rotate *rot, uint32_t *done, uint32_t *code)
{
	struct chunk *to = NULL;
	struct relay_position at;
	struct stream *t;
	enum status st;

	*code = RELAY_INVALID_PROTOCOL;
	if (rot->chunk.is_set) {
		to = siblings_chunk(s->siblings, rot->chunk.value);
		if (to == NULL || to->refs == 0)
			return OK;
		*code = RELAY_FILE_CREATION_ERROR;
		if (chunk_is_gone(to) && chunk_restore(to) != OK)
			return OK;
	}
	for (uint32_t i = 0; i < rot->count; i++) {
		at = relay_rotate_next(rot);
		if (i < *done)
			continue;
		*code = RELAY_INVALID;
		t = session_stream(s, at.stream);
		if (t == NULL)
			return OK;
		*code = RELAY_FILE_CREATION_ERROR;
		st = stream_rotate(t, to, at.rotate_at);
		if (st != OK)
			return st == E_LATER ? st : OK;
		*done = i + 1;
		if (*done < rot->count && shard_step_is_late(s->shard))
			return E_LATER;
	}
	*code = RELAY_OK;
	return OK;
}

void
siblings_settle(struct siblings *s)
{
	struct chunk *c;

	list_each (c, &s->chunks, struct chunk, node)
		if (c->refs > 0)
			chunk_settle_early(c);
}

static const struct state_member siblings_members[] = {
	STATE_DROP(struct siblings, node),
	STATE_DROP(struct siblings, refs),
	STATE_DROP(struct siblings, shard),
	STATE_KEEP(struct siblings, is_single),
	STATE_BYTES(struct siblings, uuid),
	STATE_KEEP(struct siblings, peer_session),
	STATE_CODE(struct siblings, sessions),
	STATE_CODE(struct siblings, chunks),
	STATE_CODE(struct siblings, window),
};
static STATE_TABLE(siblings_state, struct siblings, siblings_members);

/* Chunks are named by an address in them: the store may name them, too. */
static void
put_chunk(struct state_out *o, const struct chunk *c)
{
	state_put_bool(o, true);
	state_put_bool(o, c->refs == 0);
	state_put_bool(o, c->is_kept);
	if (!state_put_object(o, &c->doomed_node))
		o->bad = true;
	chunk_put_state(o, c);
}

void
siblings_put_state(struct state_out *o, const struct siblings *s)
{
	const struct session *owner;
	const struct chunk *c;

	state_put(o, &siblings_state, s);
	stream_window_put_state(o, s);
	list_each (c, &s->chunks, struct chunk, node)
		put_chunk(o, c);
	/* The output directory is in no list; such a session is alone. */
	list_each (owner, &s->sessions, struct session, siblings_node)
		if (owner->chunks.current != NULL &&
		    owner->chunks.current->is_base)
			put_chunk(o, owner->chunks.current);
	state_put_bool(o, false);
}

static enum status
get_chunk(struct siblings *s, struct state_in *in)
{
	const bool is_doomed = state_get_bool(in), is_kept = state_get_bool(in);
	struct chunk *c;
	uint32_t number;
	enum status st;
	void *known;

	if (state_get_object(in, &siblings_state, &known, &number))
		return E_MALFORMED;
	st = chunk_get_state(&c, in, s->shard->store, released, s);
	if (st != OK)
		return st;
	s->refs++;
	c->is_kept = is_kept && !is_doomed;
	list_append(&s->chunks, &c->node);
	if (is_doomed && c->command == CHUNK_DELETE) {
		list_append(&s->shard->work.doomed, &c->doomed_node);
		return OK;
	}
	/* The second one is that of the list. */
	(void)chunk_get(c);
	if (c->is_kept)
		(void)chunk_get(c);
	state_made(in, number, &siblings_state, c);
	return OK;
}

enum status
siblings_get_state(struct siblings **out, struct state_in *in, struct shard *sh)
{
	struct siblings *s = siblings_alloc(sh);
	enum status st;

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	st = state_get(in, &siblings_state, s);
	if (st == OK)
		st = stream_window_get_state(s, in);
	while (st == OK && state_get_bool(in))
		st = get_chunk(s, in);
	if (st == OK)
		st = state_in_status(in);
	if (st != OK)
		siblings_are_read(s);
	else
		*out = s;
	return st;
}

void
siblings_are_read(struct siblings *s)
{
	struct chunk *c, *next;

	list_each_safe (c, next, &s->chunks, struct chunk, node) {
		if (c->refs == 0)
			continue; /* it is being deleted */
		if (c->is_base)
			list_del(&c->node);
		chunk_put(c);
	}
	siblings_let_go(s, 0);
	siblings_leave(s);
}

void
siblings_put_chunk_name(struct state_out *o, const struct chunk *c)
{
	if (state_put_object(o, c == NULL ? NULL : &c->doomed_node))
		o->bad = true;
}

enum status
siblings_get_chunk_name(
    struct chunk **out, struct state_in *in, const struct siblings *s)
{
	uint32_t number;
	void *object;

	*out = NULL;
	if (!state_get_object(in, &siblings_state, &object, &number))
		return E_MALFORMED;
	if (object == NULL)
		return state_in_status(in);
	if (((struct chunk *)object)->released_arg != s)
		return E_MALFORMED;
	*out = chunk_get(object);
	return OK;
}
