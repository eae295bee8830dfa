/* SPDX-License-Identifier: MIT */
#include "relayd/record/siblings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "relayd/record/session.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/shard.h"
#include "store/chunk.h"

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
	struct list *n, *tmp;
	struct siblings *s;

	if (!c->has_peer_id)
		return NULL;
	list_for_each (n, tmp, &sh->siblings) {
		s = list_entry(n, struct siblings, node);
		if (!s->is_single && s->peer_session == c->peer_session &&
		    memcmp(&s->uuid, &c->uuid, sizeof(s->uuid)) == 0 &&
		    is_alive(s))
			return s;
	}
	return NULL;
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
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return E_NOMEM;
	s->refs = 1;
	s->shard = sh;
	s->is_single = !c->has_peer_id;
	s->uuid = c->uuid;
	s->peer_session = c->peer_session;
	list_init(&s->sessions);
	list_init(&s->chunks);
	list_append(&sh->siblings, &s->node);
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
		if (!o->is_ended &&
		    (o->current == NULL || o->current->id < c->id))
			return true;
	return false;
}

bool
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
	struct list *n, *tmp;
	struct chunk *c;

	list_for_each (n, tmp, &s->chunks) {
		c = list_entry(n, struct chunk, node);
		/* With one reference, no session took it. It stays marked, so
		 * that it is not kept again. */
		if (c->is_kept && c->refs == 1 && (is_over || c->id < next))
			chunk_put(c);
	}
}

void
siblings_closed(struct chunk *c)
{
	if (c->is_kept && c->refs > 0)
		chunk_put(siblings_take(c));
}
