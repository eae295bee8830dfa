/* SPDX-License-Identifier: MIT */
#include "relayd/live/registry.h"

#include <assert.h>
#include <stdlib.h>

#include "common/log.h"

void
registry_init(struct registry *g)
{
	*g = (struct registry){ 0 };
	list_init(&g->sessions);
	open_files_init(&g->files);
}

void
registry_begin(struct registry *g)
{
	assert(!g->has_thread);
	g->thread = pthread_self();
	g->has_thread = true;
}

bool
registry_is_mine(const struct registry *g)
{
	return g->has_thread && pthread_equal(g->thread, pthread_self());
}

static void
drop_stream(struct registry *g, struct registry_stream *t)
{
	idmap_remove(&g->streams_by_id, t->stream->id);
	list_del(&t->node);
	live_stream_put(t->stream);
	free(t);
}

static void
drop_session(struct registry *g, struct registry_session *s)
{
	while (!list_empty(&s->streams))
		drop_stream(
		    g, list_first(&s->streams, struct registry_stream, node));
	idmap_remove(&g->sessions_by_id, s->session->id);
	list_del(&s->node);
	live_session_put(s->session);
	free(s);
}

void
registry_destroy(struct registry *g)
{
	assert(registry_is_mine(g));
	while (!list_empty(&g->sessions))
		drop_session(
		    g, list_first(&g->sessions, struct registry_session, node));
	idmap_free(&g->sessions_by_id);
	idmap_free(&g->streams_by_id);
}

struct registry_session *
registry_find(const struct registry *g, uint64_t id)
{
	assert(registry_is_mine(g));
	return idmap_find(&g->sessions_by_id, id);
}

static void
add_session(struct registry *g, struct live_session *session)
{
	struct registry_session *s = calloc(1, sizeof(*s));

	if (s == NULL ||
	    idmap_insert(&g->sessions_by_id, session->id, s) != OK) {
		log_error("out of memory: viewers will not see a session");
		free(s);
		return;
	}
	s->session = live_session_get(session);
	list_init(&s->streams);
	list_append(&g->sessions, &s->node);
}

static void
end_session(struct registry *g, const struct live_session *session)
{
	struct registry_session *s = registry_find(g, session->id);

	if (s != NULL)
		drop_session(g, s);
}

static void
add_stream(struct registry *g, struct live_stream *stream)
{
	struct registry_session *s = registry_find(g, stream->session->id);
	struct registry_stream *t = s == NULL ? NULL : calloc(1, sizeof(*t));

	if (t == NULL || idmap_insert(&g->streams_by_id, stream->id, t) != OK) {
		if (s != NULL)
			log_error("out of memory: viewers that attach later "
				  "will not see stream %s/%s",
			    stream->path, stream->channel);
		free(t);
		return;
	}
	t->stream = live_stream_get(stream);
	list_append(&s->streams, &t->node);
}

static void
close_stream(struct registry *g, const struct live_stream *stream)
{
	struct registry_stream *t = idmap_find(&g->streams_by_id, stream->id);

	if (t != NULL)
		drop_stream(g, t);
}

void
registry_told(struct registry *g, enum live_news what)
{
	if (what == LIVE_NEWS_STREAM)
		published_add(&g->told, 1);
}

bool
registry_is_behind(const struct registry *g)
{
	assert(registry_is_mine(g));
	return published(&g->told) != g->known;
}

void
registry_news(struct registry *g, enum live_news what, void *object)
{
	assert(registry_is_mine(g));
	switch (what) {
	case LIVE_NEWS_SESSION:
		add_session(g, object);
		break;
	case LIVE_NEWS_SESSION_ENDED:
		end_session(g, object);
		break;
	case LIVE_NEWS_STREAM:
		g->known++;
		add_stream(g, object);
		break;
	case LIVE_NEWS_STREAM_CLOSED:
		close_stream(g, object);
		break;
	}
}
