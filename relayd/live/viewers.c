/* SPDX-License-Identifier: MIT */
#include "relayd/live/viewers.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "common/log.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/stats/info.h"

void
viewers_init(struct viewers *vs, uint64_t wake_bit, bool holds_replies,
    unsigned max_viewers, struct published *ids)
{
	*vs = (struct viewers){
		.wake_bit = wake_bit,
		.holds_replies = holds_replies,
		.max_ended = VIEWER_ENDED_MAX,
		.max_ended_sessions = UINT_MAX,
		.memory = { .soft = UINT64_MAX, .hard = UINT64_MAX },
		.class_ns = VIEWER_CLASS_NS,
		.ids = ids,
		.stats = stats_live_worker(0),
	};
	publish(&vs->max_viewers, max_viewers);
	list_init(&vs->all);
	list_init(&vs->sessions);
	open_files_init(&vs->files);
}

void
viewers_begin(struct viewers *vs)
{
	assert(!vs->has_thread);
	vs->thread = pthread_self();
	vs->has_thread = true;
}

bool
viewers_are_mine(const struct viewers *vs)
{
	return vs->has_thread && pthread_equal(vs->thread, pthread_self());
}

static void
drop_stream(struct viewers *vs, struct shown_stream *t)
{
	idmap_remove(&vs->streams_by_id, t->stream->id);
	list_del(&t->node);
	live_stream_put(t->stream);
	free(t);
}

static void
drop_session(struct viewers *vs, struct shown_session *s)
{
	while (!list_empty(&s->streams))
		drop_stream(
		    vs, list_first(&s->streams, struct shown_stream, node));
	idmap_remove(&vs->sessions_by_id, s->session->id);
	list_del(&s->node);
	live_session_put(s->session);
	free(s);
}

void
viewers_destroy(struct viewers *vs)
{
	assert(viewers_are_mine(vs));
	assert(list_empty(&vs->all) && account_used(&vs->memory) == 0);
	while (!list_empty(&vs->sessions))
		drop_session(
		    vs, list_first(&vs->sessions, struct shown_session, node));
	idmap_free(&vs->sessions_by_id);
	idmap_free(&vs->streams_by_id);
}

struct shown_session *
viewers_find(const struct viewers *vs, uint64_t id)
{
	assert(viewers_are_mine(vs));
	return idmap_find(&vs->sessions_by_id, id);
}

static void
add_session(struct viewers *vs, struct live_session *session)
{
	struct shown_session *s = calloc(1, sizeof(*s));

	if (s == NULL ||
	    idmap_insert(&vs->sessions_by_id, session->id, s) != OK) {
		log_error("out of memory: viewers will not see a session");
		free(s);
		return;
	}
	s->session = live_session_get(session);
	list_init(&s->streams);
	list_append(&vs->sessions, &s->node);
}

static void
add_stream(struct viewers *vs, struct live_stream *stream)
{
	struct shown_session *s = viewers_find(vs, stream->session->id);
	struct shown_stream *t = s == NULL ? NULL : calloc(1, sizeof(*t));

	if (t == NULL ||
	    idmap_insert(&vs->streams_by_id, stream->id, t) != OK) {
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

void
viewers_note_sent(struct viewers *vs, enum live_event what)
{
	if (what == LIVE_EVENT_STREAM)
		published_add(&vs->events_sent, 1);
}

bool
viewers_are_behind(const struct viewers *vs)
{
	const uint64_t sent = published(&vs->events_sent);

	assert(viewers_are_mine(vs) && sent >= vs->events_arrived);
	return sent != vs->events_arrived;
}

/* What can be seen changes first, then each viewer learns of it. */
void
viewers_take_event(struct viewers *vs, enum live_event what, void *take_object)
{
	const struct live_session *session = take_object;
	struct live_stream *stream = take_object;
	struct shown_session *s;
	struct shown_stream *t;
	struct viewer *v;

	assert(viewers_are_mine(vs));
	switch (what) {
	case LIVE_EVENT_SESSION: /* viewers ask for the list of sessions */
		add_session(vs, take_object);
		break;
	case LIVE_EVENT_SESSION_ENDED:
		s = viewers_find(vs, session->id);
		if (s != NULL)
			drop_session(vs, s);
		list_each (v, &vs->all, struct viewer, node)
			viewer_session_ended(v, session);
		break;
	case LIVE_EVENT_STREAM:
		vs->events_arrived++;
		add_stream(vs, stream);
		list_each (v, &vs->all, struct viewer, node)
			viewer_stream_published(v, stream);
		break;
	case LIVE_EVENT_STREAM_CLOSED:
		t = idmap_find(&vs->streams_by_id, stream->id);
		if (t != NULL)
			drop_stream(vs, t);
		list_each (v, &vs->all, struct viewer, node)
			viewer_stream_closed(v, stream);
		break;
	}
	live_event_put(what, take_object);
}

static void
add_viewer(struct info *i, const struct viewer *v, const struct attachment *a)
{
	struct viewer_info *to = info_add_viewer(i);
	const struct position *p;

	if (to == NULL)
		return;
	to->peer = info_text(i, v->peer);
	to->lost_packets = v->lost;
	list_each (p, &v->announced, struct position, node)
		to->streams += p->attachment == a;
}

void
viewers_answer(const struct viewers *vs, struct info *i)
{
	const struct attachment *a;
	const struct viewer *v;

	assert(viewers_are_mine(vs));
	if (i->wish != INFO_SESSION)
		return;
	list_each (v, &vs->all, struct viewer, node) {
		a = viewer_attachment(v, i->id);
		if (a != NULL)
			add_viewer(i, v, a);
	}
}
