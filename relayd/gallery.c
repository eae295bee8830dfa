/* SPDX-License-Identifier: MIT */
#include "relayd/gallery.h"

#include <assert.h>
#include <stdlib.h>

#include "common/log.h"

void
gallery_init(struct gallery *g)
{
	*g = (struct gallery){ 0 };
	list_init(&g->sessions);
	open_files_init(&g->files);
}

void
gallery_begin(struct gallery *g)
{
	assert(!g->has_thread);
	g->thread = pthread_self();
	g->has_thread = true;
}

bool
gallery_is_mine(const struct gallery *g)
{
	return g->has_thread && pthread_equal(g->thread, pthread_self());
}

static void
drop_stream(struct gallery *g, struct gallery_stream *t)
{
	idmap_remove(&g->streams_by_id, t->stream->id);
	list_del(&t->node);
	live_stream_put(t->stream);
	free(t);
}

static void
drop_session(struct gallery *g, struct gallery_session *s)
{
	while (!list_empty(&s->streams))
		drop_stream(
		    g, list_first(&s->streams, struct gallery_stream, node));
	idmap_remove(&g->sessions_by_id, s->session->id);
	list_del(&s->node);
	live_session_put(s->session);
	free(s);
}

void
gallery_destroy(struct gallery *g)
{
	assert(gallery_is_mine(g));
	while (!list_empty(&g->sessions))
		drop_session(
		    g, list_first(&g->sessions, struct gallery_session, node));
	idmap_free(&g->sessions_by_id);
	idmap_free(&g->streams_by_id);
}

struct gallery_session *
gallery_find(const struct gallery *g, uint64_t id)
{
	assert(gallery_is_mine(g));
	return idmap_find(&g->sessions_by_id, id);
}

static void
add_session(struct gallery *g, struct live_session *session)
{
	struct gallery_session *s = calloc(1, sizeof(*s));

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
end_session(struct gallery *g, const struct live_session *session)
{
	struct gallery_session *s = gallery_find(g, session->id);

	if (s != NULL)
		drop_session(g, s);
}

static void
add_stream(struct gallery *g, struct live_stream *stream)
{
	struct gallery_session *s = gallery_find(g, stream->session->id);
	struct gallery_stream *t = s == NULL ? NULL : calloc(1, sizeof(*t));

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
close_stream(struct gallery *g, const struct live_stream *stream)
{
	struct gallery_stream *t = idmap_find(&g->streams_by_id, stream->id);

	if (t != NULL)
		drop_stream(g, t);
}

void
gallery_told(struct gallery *g, enum live_news what)
{
	if (what == LIVE_NEWS_STREAM)
		published_add(&g->told, 1);
}

void
gallery_untold(struct gallery *g, enum live_news what)
{
	if (what == LIVE_NEWS_STREAM)
		published_sub(&g->told, 1);
}

bool
gallery_is_behind(const struct gallery *g)
{
	assert(gallery_is_mine(g));
	return published(&g->told) != g->known;
}

void
gallery_news(struct gallery *g, enum live_news what, void *object)
{
	assert(gallery_is_mine(g));
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
