/* SPDX-License-Identifier: MIT */
/* The paths of a session and of old streams (streaming 5.2, 5.3), which depend
 * only on the arguments and the time zone; and the directory of a session that
 * begins, or the chunk that it continues. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/idmap.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "store/chunk.h"
#include "store/session_dir.h"

#define STAMP_LEN 15 /* YYYYmmdd-HHMMSS */

static enum status
stamp(char out[STAMP_LEN + 1], uint64_t when)
{
	time_t t = (time_t)when;
	struct tm tm;

	if (when > INT64_MAX / 2 || localtime_r(&t, &tm) == NULL ||
	    strftime(out, STAMP_LEN + 1, "%Y%m%d-%H%M%S", &tm) != STAMP_LEN)
		return E_REFUSED;
	return OK;
}

/* NAME-STAMP, one component. */
static enum status
with_stamp(struct relpath **out, const struct relpath *name, uint64_t when)
{
	char suffix[STAMP_LEN + 2] = "-";
	enum status st = stamp(suffix + 1, when);

	return st != OK ? st : relpath_suffix(out, name, suffix);
}

/* Append B to *PATH; B may be NULL. */
static enum status
extend(struct relpath **path, const struct relpath *b)
{
	struct relpath *joined;
	enum status st;

	if (b == NULL)
		return OK;
	st = relpath_join(&joined, *path, b);
	if (st != OK)
		return st;
	relpath_free(*path);
	*path = joined;
	return OK;
}

/* Does a component after the first have a name that the relay uses? */
static bool
has_own_name(const struct relpath *path)
{
	const char *name, *slash = strchr(path->s, '/');

	for (; slash != NULL; slash = strchr(name, '/')) {
		name = slash + 1;
		if (session_dir_is_own_name(name, strcspn(name, "/")))
			return true;
	}
	return false;
}

enum status
session_wanted_path(struct relpath **out,
    const struct relay_create_session *request, bool by_session)
{
	struct relpath *second = NULL;
	enum status st;

	*out = NULL;
	st = relpath_dup(
	    out, by_session ? request->session_name : request->hostname);
	if (st == OK && by_session)
		st = with_stamp(
		    &second, request->hostname, request->creation_time);
	else if (st == OK && request->base_path != NULL)
		st = relpath_dup(&second, request->base_path);
	else if (st == OK && request->name_has_time)
		st = relpath_dup(&second, request->session_name);
	else if (st == OK)
		st = with_stamp(
		    &second, request->session_name, request->creation_time);
	if (st == OK)
		st = extend(out, second);
	if (st == OK && by_session)
		st = extend(out, request->base_path);
	relpath_free(second);
	if (st == OK && (*out)->len + 1 >= SESSION_REPLY_PATH)
		st = E_LIMIT;
	if (st == OK &&
	    (has_own_name(*out) || session_dir_is_relays((*out)->s)))
		st = E_REFUSED;
	if (st != OK) {
		relpath_free(*out);
		*out = NULL;
	}
	return st == E_LIMIT ? E_REFUSED : st;
}

/* Does S look like a date and time (streaming 5.3)? */
static bool
is_stamp(const char *s)
{
	static const char most[STAMP_LEN + 1] = "29991939-295959";
	static const char least[STAMP_LEN + 1] = "10000000-000000";

	if (strlen(s) != STAMP_LEN)
		return false;
	for (int i = 0; i < STAMP_LEN; i++)
		if (s[i] < least[i] || s[i] > most[i])
			return false;
	return true;
}

/*
 * Split SECOND, the second component of a stream path HOST/SECOND/REST, by the
 * session's name. DATE is its date and time, or ""; *IS_PARTIAL: SECOND stays
 * in the path as a folder.
 */
static void
split_second(const struct relay_create_session *request, const char *second,
    size_t n, uint64_t created, char date[STAMP_LEN + 1], bool *is_partial)
{
	const char *name = request->session_name->s;
	size_t len = strlen(name), tail_len;
	char tail[STAMP_LEN + 2] = "";

	date[0] = '\0';
	*is_partial = n < len || memcmp(second, name, len) != 0;
	tail_len = *is_partial ? 0 : n - len;
	if (tail_len <= STAMP_LEN + 1)
		memcpy(tail, second + len * !*is_partial, tail_len);
	if (tail_len == 0 && len > STAMP_LEN + 1 &&
	    name[len - STAMP_LEN - 1] == '-' &&
	    is_stamp(name + len - STAMP_LEN))
		memcpy(date, name + len - STAMP_LEN, STAMP_LEN + 1);
	else if (tail_len == 0)
		(void)(stamp(date, created) == OK);
	else if (tail[0] == '-' && is_stamp(tail + 1))
		memcpy(date, tail + 1, STAMP_LEN + 1);
	else
		*is_partial = true;
}

enum status
session_old_path(struct relpath **out,
    const struct relay_create_session *request, const struct relpath *path,
    uint64_t created)
{
	const char *second, *rest, *slash = strchr(path->s, '/');
	char date[STAMP_LEN + 1], *text = NULL;
	bool is_partial;
	enum status st;
	int n;

	*out = NULL;
	if (slash == NULL)
		return E_REFUSED;
	second = slash + 1;
	rest = second + strcspn(second, "/");
	split_second(request, second, (size_t)(rest - second), created, date,
	    &is_partial);
	n = asprintf(&text, "%s/%.*s%s%s%s%.*s%s", request->session_name->s,
	    (int)(slash - path->s), path->s, date[0] != '\0' ? "-" : "", date,
	    is_partial ? "/" : "", is_partial ? (int)(rest - second) : 0,
	    second, rest);
	if (n < 0)
		return E_NOMEM;
	st = relpath_parse(out, (struct span){ text, (size_t)n });
	free(text);
	return st == E_MALFORMED ? E_REFUSED : st;
}

static bool
is_same_place(const struct session *a, const struct relay_create_session *b)
{
	return a->request.creation_time == b->creation_time &&
	       relpath_equal(a->request.session_name, b->session_name) &&
	       relpath_equal(a->request.hostname, b->hostname);
}

/* Snapshot sessions of one peer, host and name share a directory. */
static uint64_t
sharers_of(const struct relay_create_session *c)
{
	const uint64_t parts[] = {
		idmap_lasting_key(c->hostname->s, c->hostname->len),
		idmap_lasting_key(c->session_name->s, c->session_name->len),
		c->has_peer_id ? idmap_lasting_key(&c->uuid, sizeof(c->uuid))
			       : 0,
		c->has_peer_id ? c->peer_session : 0,
	};

	return c->is_snapshot ? idmap_lasting_key(parts, sizeof(parts)) | 1 : 0;
}

/* Use the directory of a sibling that has claimed the same path; if there is
 * none, claim it. */
static enum status
share_or_claim(struct session *s, const struct relpath *wanted)
{
	struct session *o;
	enum status st;

	list_each (o, &s->siblings->sessions, struct session, siblings_node) {
		if (is_same_place(o, &s->request) && o->dir != NULL &&
		    o->dir->wanted != NULL &&
		    relpath_equal(o->dir->wanted, wanted)) {
			s->dir = session_dir_get(o->dir);
			return session_dir_renew(&s->dir);
		}
	}
	st = session_dir_claim(&s->dir, s->shard->store, wanted,
	    sharers_of(&s->request),
	    session_continues_files(s) ? &s->request.key : NULL);
	if (st == OK)
		session_dir_note(
		    s->dir, s->request.hostname->s, s->request.session_name->s);
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
	if (s->request.chunk.is_set) {
		c = siblings_chunk(s->siblings, s->request.chunk.value);
		if (c == NULL || c->refs == 0)
			return E_REFUSED;
		st = chunk_is_gone(c) ? chunk_restore(c) : OK;
		s->chunks.current = siblings_take(c);
		s->dir = session_dir_get(c->dir);
		return st;
	}
	st = session_wanted_path(
	    &wanted, &s->request, s->shard->config.group_by_session);
	if (st != OK)
		return st;
	st = share_or_claim(s, wanted);
	relpath_free(wanted);
	return st;
}
