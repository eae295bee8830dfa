/* SPDX-License-Identifier: MIT */
#include "relayd/record/trace.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/idmap.h"
#include "common/log.h"
#include "common/state.h"
#include "relayd/record/old_root.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/session_dir.h"

/* The memory of T, with its entry in the session's map. Its files share its
 * path. */
static uint64_t
memory(const struct trace *t)
{
	return sizeof(*t) + (t->channels.cap + 2) * IDMAP_SLOT +
	       (t->asked == t->path ? 0 : relpath_memory(t->asked));
}

/* Is T forgotten? The session has gone to another chunk since. */
static bool
is_old(const struct session *s, const struct trace *t)
{
	return t->refs == 0 && t->chunk_serial != s->chunks.current->serial;
}

/* The newest trace with that path; NULL: none. */
static struct trace *
find(const struct session *s, const struct relpath *asked, uint64_t key)
{
	struct trace *t = idmap_find(&s->traces.keys, key);

	while (t != NULL && (is_old(s, t) || !relpath_equal(t->asked, asked)))
		t = t->older;
	return t;
}

static void
free_trace(struct trace *t)
{
	if (t->path != t->asked)
		relpath_free(t->path);
	relpath_free(t->asked);
	idmap_free(&t->channels);
	free(t);
}

/* The map has the newest trace of a key. The insertion cannot fail, as an entry
 * was just removed. */
static void
set_newest(struct session *s, uint64_t key, struct trace *t)
{
	enum status st = OK;

	if (t != NULL)
		st = idmap_insert(&s->traces.keys, key, t);
	assert(st == OK);
	(void)st;
}

static enum status
enter_key(struct session *s, struct trace *t)
{
	t->older = idmap_remove(&s->traces.keys, t->key);
	if (t->older == NULL)
		return idmap_insert(&s->traces.keys, t->key, t);
	t->older->newer = t;
	set_newest(s, t->key, t);
	return OK;
}

static void
leave_key(struct session *s, struct trace *t)
{
	if (t->older != NULL)
		t->older->newer = t->newer;
	if (t->newer != NULL) {
		t->newer->older = t->older;
		return;
	}
	(void)idmap_remove(&s->traces.keys, t->key);
	set_newest(s, t->key, t->older);
}

/* T counts as BYTES in what is kept for closed streams. */
static void
count_memory(struct session *s, struct trace *t, uint64_t bytes)
{
	s->traces.names_bytes += bytes - t->counted;
	s->shard->traces.names_bytes += bytes - t->counted;
	t->counted = bytes;
}

static void
destroy(struct session *s, struct trace *t)
{
	assert(t->refs == 0);
	count_memory(s, t, 0);
	leave_key(s, t);
	list_del(&t->node);
	free_trace(t);
}

/* May a stream still be added to T? What a sender that comes back adds again is
 * continued, even if it was closed. */
static bool
is_open(const struct session *s, const struct trace *t)
{
	return !t->is_over || s->request.is_snapshot ||
	       session_continues_files(s);
}

/* T has no streams. It is kept while the current chunk has files of it, so that
 * their names are not used again. */
static void
forget_unless_named(struct session *s, struct trace *t)
{
	if (s->chunks.current == NULL ||
	    s->chunks.current->serial != t->chunk_serial) {
		destroy(s, t);
		return;
	}
	if (!is_open(s, t))
		idmap_free(&t->channels);
	count_memory(s, t, memory(t));
	list_del(&t->node);
	list_append(&s->traces.unused, &t->node);
}

/* Make a new folder for the trace, with its number as suffix, or with the next
 * number whose name is free. */
static enum status
make_folder(struct trace *t, struct chunk *c)
{
	char suffix[16];
	enum status st;

	for (unsigned i = 0; i <= TRACE_TAKEN_MAX; i++, t->number++) {
		snprintf(suffix, sizeof(suffix), "-%u", t->number);
		st = relpath_suffix(&t->path, t->asked, suffix);
		if (st != OK)
			return st;
		st = chunk_new_folder(c, t->path);
		if (st != E_EXISTS)
			return st;
		relpath_free(t->path);
		t->path = NULL;
	}
	return E_LIMIT;
}

/* Does NAME, a component, begin like a folder that the relay makes? The folder
 * of a process may begin with a dot. */
static bool
is_own_folder(const char *name)
{
	const size_t n = strcspn(name, "/");

	return (*name != '.' && session_dir_is_own_name(name, n)) ||
	       strncmp(name, ".tmp_", strlen(".tmp_")) == 0 ||
	       strncmp(name, ".tracepulse-", strlen(".tracepulse-")) == 0;
}

/* A peer before 2.11 names the whole path. It must not begin a trace in a
 * folder that the relay makes, nor in one that already has files. */
static bool
is_free(const struct session *s, const struct relpath *path)
{
	const char *end = strchr(path->s, '/');
	bool is_empty;
	int fd;

	for (; end != NULL; end = strchr(end + 1, '/'))
		if (is_own_folder(end + 1))
			return false;
	if (dir_open(&fd, chunk_fd(s->chunks.current), path->s) != OK)
		return true;
	is_empty = dir_is_empty(fd);
	close(fd);
	return is_empty;
}

static enum status
create(struct trace **out, struct session *s, const struct relpath *asked,
    uint64_t key, unsigned number)
{
	struct trace *t = calloc(1, sizeof(*t));
	enum status st = OK;

	*out = NULL;
	if (t == NULL)
		return E_NOMEM;
	if (number == 0 &&
	    (s->chunks.current->is_base ? !is_free(s, asked)
					: is_own_folder(asked->s))) {
		free(t);
		return E_REFUSED;
	}
	if (s->chunks.current->is_base) {
		st = old_root_enter(s, asked);
		if (st != OK) {
			free(t);
			return st == E_EXISTS ? E_REFUSED : st;
		}
	}
	t->key = key;
	t->number = number;
	list_init(&t->node);
	t->asked = relpath_share(asked);
	if (number > 0)
		st = make_folder(t, s->chunks.current);
	else
		t->path = t->asked;
	if (st == OK)
		st = enter_key(s, t);
	if (st != OK) {
		free_trace(t);
		return st;
	}
	if (number > 0)
		log_peer(LOG_INFO,
		    "%s trace %s: the tracer begins it again, so the new one "
		    "is recorded in %s",
		    s->tag, asked->s, t->path->s);
	*out = t;
	return OK;
}

static uint64_t
key_of(const struct relpath *name)
{
	return idmap_lasting_key(name->s, name->len);
}

enum status
trace_join(struct trace **out, struct session *s, const struct relpath *asked,
    const struct relpath *channel)
{
	const uint64_t key = key_of(asked), name = key_of(channel);
	struct trace *t = find(s, asked, key);
	enum status st = OK;

	if (t == NULL)
		st = create(&t, s, asked, key, 0);
	else if (!session_continues_files(s) &&
		 (!is_open(s, t) || idmap_find(&t->channels, name) != NULL))
		st = create(&t, s, asked, key, t->number + 1);
	if (st == OK && idmap_find(&t->channels, name) == NULL)
		st = idmap_insert(&t->channels, name, t);
	*out = st == OK ? t : NULL;
	if (st != OK) {
		if (t != NULL && t->refs == 0)
			forget_unless_named(s, t);
		return st;
	}
	t->refs++;
	count_memory(s, t, 0);
	list_del(&t->node);
	return OK;
}

void
trace_not_added(struct trace *t, const struct relpath *channel)
{
	(void)idmap_remove(&t->channels, key_of(channel));
}

void
trace_added(struct trace *t, bool is_metadata)
{
	if (is_metadata)
		t->n_metadata++;
	else
		t->has_data = true;
}

void
trace_leave(struct session *s, struct trace *t)
{
	if (t != NULL && --t->refs == 0)
		forget_unless_named(s, t);
}

void
trace_close_metadata(struct trace *t)
{
	if (--t->n_metadata == 0 && t->has_data)
		t->is_over = true;
}

void
trace_enter(struct trace *t, const struct chunk *c)
{
	/* The trace's streams enter the chunk one after another. */
	if (t->chunk_serial < c->serial)
		t->chunk_serial = c->serial;
}

void
trace_forget_old(struct session *s)
{
	list_move_all(&s->traces.old, &s->traces.unused);
	if (!list_empty(&s->traces.old) && list_empty(&s->traces.forget_node))
		list_append(
		    &s->shard->traces.forgetting, &s->traces.forget_node);
}

void
trace_forget_all(struct session *s)
{
	list_move_all(&s->shard->traces.old, &s->traces.unused);
	list_move_all(&s->shard->traces.old, &s->traces.old);
	list_del(&s->traces.forget_node);
	s->shard->traces.names_bytes -= s->traces.names_bytes;
	idmap_free(&s->traces.keys);
}

/* Free one trace. False: there is none to free. */
static bool
free_one(struct shard *sh)
{
	struct session *s;
	struct trace *t;

	if (!list_empty(&sh->traces.old)) {
		t = list_first(&sh->traces.old, struct trace, node);
		list_del(&t->node);
		free_trace(t);
		return true;
	}
	if (list_empty(&sh->traces.forgetting))
		return false;
	s = list_first(
	    &sh->traces.forgetting, struct session, traces.forget_node);
	if (list_empty(&s->traces.old))
		list_del(&s->traces.forget_node);
	else
		destroy(s, list_first(&s->traces.old, struct trace, node));
	return true;
}

bool
trace_free_some(struct shard *sh)
{
	for (unsigned n = 0; n < TRACE_FREE_SLICE; n++)
		if (!free_one(sh))
			return false;
	return true;
}

static const struct state_member trace_members[] = {
	STATE_DROP(struct trace, node),
	STATE_DROP(struct trace, key), /* of ASKED */
	STATE_CODE(struct trace, older), STATE_CODE(struct trace, newer),
	STATE_PATH(struct trace, asked), STATE_CODE(struct trace, path),
	STATE_MOST(struct trace, number, TRACE_TAKEN_MAX + 1),
	STATE_DROP(struct trace, refs), /* its streams join again */
	STATE_KEEP(struct trace, n_metadata),
	STATE_KEEP(struct trace, has_data), STATE_KEEP(struct trace, is_over),
	STATE_CODE(struct trace, channels),
	STATE_KEEP(struct trace, chunk_serial),
	STATE_KEEP(struct trace, live_id),
	STATE_DROP(struct trace, counted), /* counted again */
};
static STATE_TABLE(trace_state, struct trace, trace_members);

/* Of traces with one path, the oldest comes first. */
void
trace_put_all(struct state_out *o, const struct session *s)
{
	uint32_t at = 0, channel;
	const struct trace *t;
	uint64_t key, id;

	while (idmap_next(&s->traces.keys, &at, &key)) {
		t = idmap_find(&s->traces.keys, key);
		while (t->older != NULL)
			t = t->older;
		for (; t != NULL; t = t->newer) {
			if (t->refs == 0 &&
			    (s->chunks.current == NULL || is_old(s, t)))
				continue;
			state_put_bool(o, true);
			if (!state_put_object(o, t))
				o->bad = true;
			state_put(o, &trace_state, t);
			state_put_text(
			    o, t->path == t->asked ? NULL : t->path->s);
			state_put_u32(o, t->channels.n);
			channel = 0;
			while (idmap_next(&t->channels, &channel, &id))
				state_put_u64(o, id);
		}
	}
	state_put_bool(o, false);
}

static enum status
get_names(struct trace *t, struct state_in *in)
{
	const char *path;
	enum status st;
	uint32_t n;

	if (t->asked == NULL)
		return E_MALFORMED;
	path = state_get_text(in);
	st = state_in_status(in);
	if (path == NULL)
		t->path = t->asked;
	else
		st = relpath_parse(
		    &t->path, (struct span){ path, strlen(path) });
	n = state_get_u32(in, UINT32_MAX);
	for (uint32_t i = 0; st == OK && i < n; i++) {
		st = idmap_insert(&t->channels, state_get_u64(in), t);
		if (st == OK)
			st = state_in_status(in);
	}
	return st == E_EXISTS ? E_MALFORMED : st;
}

static enum status
get_one(struct session *s, struct state_in *in)
{
	struct trace *t;
	uint32_t number;
	enum status st;
	void *known;

	if (state_get_object(in, &trace_state, &known, &number))
		return E_MALFORMED;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return E_NOMEM;
	list_init(&t->node);
	st = state_get(in, &trace_state, t);
	if (st == OK)
		st = get_names(t, in);
	if (st == OK) {
		t->key = key_of(t->asked);
		st = enter_key(s, t);
	}
	if (st != OK) {
		free_trace(t);
		return st;
	}
	count_memory(s, t, memory(t));
	list_append(&s->traces.unused, &t->node);
	state_made(in, number, &trace_state, t);
	return OK;
}

enum status
trace_get_all(struct session *s, struct state_in *in)
{
	enum status st = OK;

	while (st == OK && state_get_bool(in))
		st = get_one(s, in);
	return st == OK ? state_in_status(in) : st;
}

void
trace_put_name(struct state_out *o, const struct trace *t)
{
	if (state_put_object(o, t))
		o->bad = true;
}

enum status
trace_get_name(struct trace **out, struct state_in *in, struct session *s)
{
	const struct trace *newest;
	uint32_t number;
	struct trace *t;
	void *object;

	*out = NULL;
	if (!state_get_object(in, &trace_state, &object, &number) ||
	    object == NULL)
		return E_MALFORMED;
	t = object;
	newest = idmap_find(&s->traces.keys, t->key);
	while (newest != NULL && newest != t)
		newest = newest->older;
	if (newest == NULL)
		return E_MALFORMED; /* of another session */
	t->refs++;
	count_memory(s, t, 0);
	list_del(&t->node);
	*out = t;
	return OK;
}
