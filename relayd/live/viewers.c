/* SPDX-License-Identifier: MIT */
#include "relayd/live/viewers.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "common/state.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/stats/info.h"

void
viewers_init(struct viewers *vs, unsigned worker, bool holds_replies,
    unsigned max_viewers, struct published *ids)
{
	*vs = (struct viewers){
		.worker = worker,
		.wake_bit = UINT64_C(1) << worker,
		.holds_replies = holds_replies,
		.max_ended = VIEWER_ENDED_MAX,
		.max_ended_sessions = UINT_MAX,
		.memory = { .soft = UINT64_MAX, .hard = UINT64_MAX },
		.class_ns = VIEWER_CLASS_NS,
		.ids = ids,
		.stats = stats_live_worker(worker),
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

void
viewers_end(struct viewers *vs)
{
	assert(viewers_are_mine(vs));
	vs->has_thread = false;
}

bool
viewers_are_mine(const struct viewers *vs)
{
	return vs->has_thread && pthread_equal(vs->thread, pthread_self());
}

static void
add_to(struct list *list, struct live_seat *seat)
{
	live_get(seat->object);
	list_append(list, &seat->node);
}

/* Remove a session and its streams, or one stream, if they are listed. */
static void
remove_seat(struct live_seat *seat)
{
	if (list_empty(&seat->node))
		return;
	while (!list_empty(&seat->streams))
		remove_seat(list_first(&seat->streams, struct live_seat, node));
	list_del(&seat->node);
	live_put(seat->object);
}

void
viewers_destroy(struct viewers *vs)
{
	assert(viewers_are_mine(vs));
	assert(list_empty(&vs->all) && account_used(&vs->memory) == 0);
	while (!list_empty(&vs->sessions))
		remove_seat(list_first(&vs->sessions, struct live_seat, node));
}

struct live_session *
viewers_find(const struct viewers *vs, uint64_t id)
{
	const struct live_seat *seat;
	struct live_session *s;

	assert(viewers_are_mine(vs));
	list_each (seat, &vs->sessions, struct live_seat, node) {
		s = (void *)seat->object;
		if (s->id == id)
			return s;
	}
	return NULL;
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
	struct live_seat *seat =
	    &((struct live_object *)take_object)->seats[vs->worker];
	const struct live_session *session = take_object;
	struct live_stream *stream = take_object;
	struct live_seat *of;
	struct viewer *v;

	assert(viewers_are_mine(vs));
	switch (what) {
	case LIVE_EVENT_SESSION: /* viewers ask for the list of sessions */
		add_to(&vs->sessions, seat);
		break;
	case LIVE_EVENT_SESSION_ENDED:
		remove_seat(seat);
		list_each (v, &vs->all, struct viewer, node)
			viewer_session_ended(v, session);
		break;
	case LIVE_EVENT_STREAM:
		vs->events_arrived++;
		of = &stream->session->seats[vs->worker];
		if (!list_empty(&of->node))
			add_to(&of->streams, seat);
		list_each (v, &vs->all, struct viewer, node)
			viewer_stream_published(v, stream);
		break;
	case LIVE_EVENT_STREAM_CLOSED:
		remove_seat(seat);
		list_each (v, &vs->all, struct viewer, node)
			viewer_stream_closed(v, stream);
		break;
	}
	live_put(take_object);
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
viewers_answer(void *viewers, struct info *i)
{
	const struct viewers *vs = viewers;
	const struct attachment *a;
	const struct viewer *v;

	assert(viewers_are_mine(vs));
	if (i->kind != INFO_SESSION)
		return;
	list_each (v, &vs->all, struct viewer, node) {
		a = viewer_attachment(v, i->id);
		if (a != NULL)
			add_viewer(i, v, a);
	}
}

/* Viewers are written by their connections. */
static const struct state_member members[] = {
	STATE_DROP(struct viewers, thread),
	STATE_DROP(struct viewers, has_thread),
	STATE_DROP(struct viewers, all),
	STATE_CODE(struct viewers, sessions),
	STATE_DROP(struct viewers, worker),
	STATE_DROP(struct viewers, files), /* each with its first viewer */
	STATE_DROP(struct viewers, events_sent), /* all have arrived */
	STATE_DROP(struct viewers, events_arrived),
	STATE_DROP(struct viewers, wake_bit),
	STATE_DROP(struct viewers, holds_replies), /* options, to CLASS_NS */
	STATE_DROP(struct viewers, max_viewers),
	STATE_DROP(struct viewers, max_ended),
	STATE_DROP(struct viewers, n_ended_sessions), /* counted again */
	STATE_DROP(struct viewers, max_ended_sessions),
	STATE_DROP(struct viewers, class_ns),
	STATE_DROP(struct viewers, has_to_be_closed), /* each viewer says it */
	STATE_DROP(struct viewers, memory),	      /* counted again */
	STATE_DROP(struct viewers, last_memory_log),
	STATE_DROP(struct viewers, last_ended_log),
	STATE_DROP(struct viewers, ids), /* the pool's */
	STATE_DROP(struct viewers, stats),
};
static STATE_TABLE(viewers_state, struct viewers, members);

void
viewers_put_state(struct state_out *o, const struct viewers *vs)
{
	struct live_seat *seat;
	size_t part;

	assert(viewers_are_mine(vs));
	state_put(o, &viewers_state, vs);
	list_each (seat, &vs->sessions, struct live_seat, node) {
		state_put_bool(o, true);
		part = state_begin(o);
		live_session_put_state(o, (void *)seat->object);
		state_end(o, part);
	}
	state_put_bool(o, false);
}

/* A session that could not be restored is not listed. */
static void
get_listed(struct viewers *vs, struct state_in *in,
    const struct live_notifier *notifier)
{
	const struct reader rest = state_part(in);
	struct live_session *s;
	struct live_seat *seat;

	if (live_session_get_state(&s, in, notifier) == OK && s != NULL) {
		seat = &s->seats[vs->worker];
		if (!list_empty(&seat->node)) {
			list_del(&seat->node);
			list_append(&vs->sessions, &seat->node);
		}
		live_put(s);
	}
	state_part_end(in, &rest);
}

enum status
viewers_get_state(struct viewers *vs, struct state_in *in,
    const struct live_notifier *notifier)
{
	const enum status st = state_get(in, &viewers_state, vs);

	assert(viewers_are_mine(vs));
	while (st == OK && state_get_bool(in))
		get_listed(vs, in, notifier);
	return state_in_status(in);
}
