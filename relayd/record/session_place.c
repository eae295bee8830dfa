/* SPDX-License-Identifier: MIT */
/* The directory of a session that begins, or the chunk that it continues. */
#include "common/idmap.h"
#include "common/list.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "store/chunk.h"
#include "store/session_dir.h"

static bool
is_same_place(const struct session *a, const struct relay_create_session *b)
{
	return a->wish.creation_time == b->creation_time &&
	       relpath_equal(a->wish.session_name, b->session_name) &&
	       relpath_equal(a->wish.hostname, b->hostname);
}

/* Snapshot sessions of one peer, host and name share a directory. */
static uint64_t
sharers_of(const struct relay_create_session *c)
{
	const uint64_t parts[] = {
		idmap_key(c->hostname->s, c->hostname->len),
		idmap_key(c->session_name->s, c->session_name->len),
		c->has_peer_id ? idmap_key(&c->uuid, sizeof(c->uuid)) : 0,
		c->has_peer_id ? c->peer_session : 0,
	};

	return c->is_snapshot ? idmap_key(parts, sizeof(parts)) | 1 : 0;
}

/* Use the directory of a sibling that has claimed the same path; if there is
 * none, claim it. */
static enum status
share_or_claim(struct session *s, const struct relpath *wanted)
{
	struct list *n, *tmp;
	struct session *o;
	enum status st;

	list_for_each (n, tmp, &s->siblings->sessions) {
		o = list_entry(n, struct session, siblings_node);
		if (is_same_place(o, &s->wish) && o->dir != NULL &&
		    o->dir->wanted != NULL &&
		    relpath_equal(o->dir->wanted, wanted)) {
			s->dir = session_dir_get(o->dir);
			return session_dir_renew(&s->dir);
		}
	}
	st = session_dir_claim(
	    &s->dir, s->shard->store, wanted, sharers_of(&s->wish));
	if (st == OK)
		session_dir_note(
		    s->dir, s->wish.hostname->s, s->wish.session_name->s);
	return st;
}

enum status
session_find_place(struct session *s)
{
	struct relpath *wanted;
	struct chunk *c;
	enum status st;

	if (s->minor < 11) {
		st = session_dir_base(&s->dir, s->shard->store);
		return st != OK ? st : session_anonymous_chunk(s);
	}
	if (s->wish.chunk.is_set) {
		c = siblings_chunk(s->siblings, s->wish.chunk.value);
		if (c == NULL || c->refs == 0)
			return E_REFUSED;
		st = chunk_is_gone(c) ? chunk_restore(c) : OK;
		s->current = siblings_take(c);
		s->dir = session_dir_get(c->dir);
		return st;
	}
	st = session_wanted_path(
	    &wanted, &s->wish, s->shard->config.group_by_session);
	if (st != OK)
		return st;
	st = share_or_claim(s, wanted);
	relpath_free(wanted);
	return st;
}
