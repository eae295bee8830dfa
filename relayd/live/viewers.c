/* SPDX-License-Identifier: MIT */
#include "relayd/live/viewers.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
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
		.max_lingering_sessions = VIEWER_ENDED_MAX,
		.max_lingering_streams = UINT64_MAX,
		.memory = { .soft = UINT64_MAX, .hard = UINT64_MAX },
		.class_ns = VIEWER_CLASS_NS,
		.ids = ids,
		.stats = stats_live_worker(worker),
	};
	publish(&vs->max_viewers, max_viewers);
	list_init(&vs->all);
	list_init(&vs->sessions);
	list_init(&vs->lingering);
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

/* One more lingers (N is 1), or one less (-1). */
static void
count_lingering(struct viewers *vs, const struct live_seat *seat, unsigned n)
{
	if (seat->object->is_stream) {
		vs->n_lingering_streams += (uint64_t)(int)n;
		return;
	}
	vs->n_lingering_sessions += n;
	/* All live workers have the same ones. */
	if (vs->worker == 0)
		stats_set(vs->stats, STAT_lingering_sessions,
		    vs->n_lingering_sessions);
}

/* Remove a session and its streams, or one stream, if they are listed. */
static void
remove_seat(struct viewers *vs, struct live_seat *seat)
{
	struct viewer *v;

	if (list_empty(&seat->node))
		return;
	while (!list_empty(&seat->streams))
		remove_seat(
		    vs, list_first(&seat->streams, struct live_seat, node));
	list_del(&seat->node);
	if (!list_empty(&seat->linger_node)) {
		list_del(&seat->linger_node);
		count_lingering(vs, seat, -1u);
		/* Now it is the viewers alone that keep the stream. */
		if (seat->object->is_stream)
			list_each (v, &vs->all, struct viewer, node)
				viewer_stream_closed(v, (void *)seat->object);
	}
	live_put(seat->object);
}

static struct live_seat *
oldest_lingering(const struct viewers *vs)
{
	return list_first(&vs->lingering, struct live_seat, linger_node);
}

static bool
has_too_many_lingering(const struct viewers *vs)
{
	return vs->n_lingering_sessions > vs->max_lingering_sessions ||
	       vs->n_lingering_streams > vs->max_lingering_streams;
}

static void
linger(struct viewers *vs, struct live_seat *seat, uint64_t until_ns)
{
	const struct live_session *s;
	struct live_seat *old;

	seat->linger_until_ns = until_ns;
	list_append(&vs->lingering, &seat->linger_node);
	count_lingering(vs, seat, 1);
	while (has_too_many_lingering(vs)) {
		old = oldest_lingering(vs);
		s = old->object->is_stream
			? ((struct live_stream *)(void *)old->object)->session
			: (void *)old->object;
		if (log_ratelimit(&vs->last_linger_log, LOG_AGAIN_NS))
			log_peer(LOG_WARN,
			    "session=%" PRIu64 "/%s, or a stream of it, has "
			    "ended and is not shown to later viewers any more: "
			    "more than %u sessions or %" PRIu64
			    " streams linger (--live-linger)",
			    s->id, s->name, vs->max_lingering_sessions,
			    vs->max_lingering_streams);
		remove_seat(vs, old);
	}
}

/* SEAT's object has ended. */
static void
end_seat(struct viewers *vs, struct live_seat *seat)
{
	if (vs->linger_ns == 0 || list_empty(&seat->node))
		remove_seat(vs, seat);
	else
		linger(vs, seat, clock_now_ns() + vs->linger_ns);
}

bool
stream_lingers(const struct viewers *vs, const struct live_stream *s)
{
	return !s->is_metadata &&
	       !list_empty(&s->seats[vs->worker].linger_node);
}

uint64_t
viewers_end_lingering(struct viewers *vs, uint64_t now_ns)
{
	assert(viewers_are_mine(vs));
	while (!list_empty(&vs->lingering)) {
		if (oldest_lingering(vs)->linger_until_ns > now_ns)
			return oldest_lingering(vs)->linger_until_ns;
		remove_seat(vs, oldest_lingering(vs));
	}
	return UINT64_MAX;
}

void
viewers_destroy(struct viewers *vs)
{
	assert(viewers_are_mine(vs));
	assert(list_empty(&vs->all) && account_used(&vs->memory) == 0);
	while (!list_empty(&vs->sessions))
		remove_seat(
		    vs, list_first(&vs->sessions, struct live_seat, node));
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
		end_seat(vs, seat);
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
		end_seat(vs, seat);
		if (stream_lingers(vs, stream))
			break;
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
	STATE_CODE(struct viewers, lingering),
	STATE_DROP(struct viewers, linger_ns),
	STATE_DROP(struct viewers, n_lingering_sessions), /* counted again */
	STATE_DROP(struct viewers, max_lingering_sessions),
	STATE_DROP(struct viewers, n_lingering_streams),
	STATE_DROP(struct viewers, max_lingering_streams),
	STATE_DROP(struct viewers, last_linger_log),
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

static void
put_seat(void *arg, const struct live_seat *seat)
{
	struct state_out *o = arg;
	size_t part;

	state_put_bool(o, true);
	part = state_begin(o);
	live_object_put_state(o, seat->object);
	state_put_u64(o, seat->linger_until_ns);
	state_end(o, part);
}

/* Call EACH for all that lingers, and for the streams of an ended session that
 * still expect bytes. */
static void
each_lingering(const struct viewers *vs,
    void (*each)(void *arg, const struct live_seat *seat), void *arg)
{
	const struct live_seat *seat, *t;

	list_each (seat, &vs->lingering, struct live_seat, linger_node) {
		each(arg, seat);
		list_each (t, &seat->streams, struct live_seat, node)
			if (list_empty(&t->linger_node))
				each(arg, t);
	}
}

void
viewers_put_lingering(struct state_out *o, const struct viewers *vs)
{
	assert(viewers_are_mine(vs));
	each_lingering(vs, put_seat, o);
	state_put_bool(o, false);
}

/* List OBJECT, and the session before its first stream. UNTIL_NS 0: it has not
 * ended. */
static void
list_again(struct viewers *vs, struct live_object *object, uint64_t until_ns)
{
	struct live_seat *seat = &object->seats[vs->worker], *of;
	const uint64_t most = clock_now_ns() + vs->linger_ns;

	if (object->is_stream) {
		of = &((struct live_stream *)(void *)object)
			  ->session->seats[vs->worker];
		if (list_empty(&of->node))
			add_to(&vs->sessions, of);
		if (list_empty(&seat->node))
			add_to(&of->streams, seat);
	} else if (list_empty(&seat->node)) {
		add_to(&vs->sessions, seat);
	}
	if (until_ns != 0 && list_empty(&seat->linger_node))
		linger(vs, seat, until_ns < most ? until_ns : most);
}

enum status
viewers_get_lingering(struct viewers *vs, struct state_in *in,
    const struct live_notifier *notifier)
{
	struct live_object *object;
	uint64_t until_ns;

	assert(viewers_are_mine(vs));
	/* Older versions do not write it. */
	while (reader_left(&in->r) > 0 && state_get_bool(in)) {
		const struct reader rest = state_part(in);

		if (live_object_get_state(&object, in, notifier) == OK) {
			until_ns = state_get_u64(in);
			if (state_in_status(in) == OK)
				list_again(vs, object, until_ns);
			live_put(object);
		}
		state_part_end(in, &rest);
	}
	return state_in_status(in);
}

void
viewers_take_ends(struct viewers *vs)
{
	struct viewer *v;

	assert(viewers_are_mine(vs));
	list_each (v, &vs->all, struct viewer, node)
		if (viewer_take_ends(v) != OK)
			v->is_to_be_closed = vs->has_to_be_closed = true;
	viewers_limit_sessions(vs);
}

static void
copy_seat(void *arg, const struct live_seat *seat)
{
	list_again(arg, seat->object, seat->linger_until_ns);
}

void
viewers_copy_lingering(struct viewers *to, const struct viewers *from)
{
	assert(viewers_are_mine(to) && viewers_are_mine(from));
	each_lingering(from, copy_seat, to);
}
