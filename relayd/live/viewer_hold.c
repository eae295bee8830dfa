/* SPDX-License-Identifier: MIT */
/* Which "nothing" replies are held, and what ends the wait (live 4.8). */
#include <assert.h>

#include "relayd/live/live_objects.h"
#include "relayd/live/registry.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"
#include "store/packet_log.h"

/* A viewer that sent nothing for this long has printed all that it had. */
#define HAS_SLEPT_NS (80 * NS_PER_MS)
#define HOLD_AFTER 3 /* "nothing" replies in a row: the viewer polls */
/* babeltrace 1.5 prints before it asks again, and asks its streams in turn.
 * With 8 idle streams it sends 12 requests per second instead of 18, and prints
 * lines as early as before. */
#define HOLD_AFTER_BABELTRACE_1 1
#define HOLD_MAX_NS (1 * NS_PER_S)

void
viewer_count(struct viewer *v, bool is_news)
{
	v->nothings = is_news ? 0 : v->nothings + 1;
}

bool
viewer_may_hold(const struct viewer *v, const struct live_how *how,
    const struct live_session *session, const void *source,
    struct live_held *held)
{
	uint64_t limit = (uint64_t)session->live_timer_us * 1000;
	unsigned after = v->created_before_list ? HOLD_AFTER
						: HOLD_AFTER_BABELTRACE_1;

	if (!v->viewers->holds_replies || !how->may_hold)
		return false;
	if (v->nothings < after &&
	    (v->nothings < 1 ||
		how->arrived_ns - v->last_reply_ns < HAS_SLEPT_NS))
		return false;
	*held = (struct live_held){ .source = source,
		.until_ns = how->arrived_ns +
			    (limit < HOLD_MAX_NS ? limit : HOLD_MAX_NS) };
	return true;
}

static bool
has_packet(const struct position *p)
{
	struct log_view view;

	return packet_log_look(p->stream->log, p->pos, &view) == LOG_PACKET;
}

/* How many streams V reads; the count stops above VIEWER_TURN_STREAMS.
 * *HAS_NEWS: another stream than P has a packet to read. */
static unsigned
look_at_others(const struct viewer *v, const struct position *p, bool *has_news)
{
	const struct list *n;
	const struct position *o;
	unsigned count = 0;

	*has_news = false;
	for (n = v->announced.next;
	     n != &v->announced && count <= VIEWER_TURN_STREAMS; n = n->next) {
		o = list_entry(n, struct position, node);
		if (o->stream->is_metadata)
			continue;
		count++;
		if (o != p && has_packet(o))
			*has_news = true;
	}
	return count;
}

/*
 * babeltrace2 asks for no other stream before it has an answer for this one, so
 * a request is held when it asks for the same stream again. A viewer that asks
 * for its streams in turn must not wait at one stream while another has a
 * packet. A viewer that lists before it creates its session may be of either
 * kind (babeltrace 1.5 asks in turn): its request is held at each stream, until
 * any stream has a packet to read.
 */
bool
viewer_may_hold_index(const struct viewer *v, const struct live_how *how,
    const struct position *p, struct live_held *held)
{
	bool has_news;

	if (v->created_before_list && v->nothing_id != p->stream->id)
		return false;
	if (!viewer_may_hold(v, how, p->stream->session, p->stream->log, held))
		return false;
	if (v->created_before_list)
		return true;
	held->is_turn = look_at_others(v, p, &has_news) <= VIEWER_TURN_STREAMS;
	return !held->is_turn || !has_news;
}

void
viewer_wait_for_turn(const struct viewer *v)
{
	const struct position *p;

	list_each (p, &v->announced, struct position, node) {
		if (!p->stream->is_metadata)
			packet_log_wait(p->stream->log, v->viewers->wake_bit);
	}
}

bool
viewer_is_its_turn(const struct viewer *v, const void *source)
{
	const struct position *p;

	assert(registry_is_mine(v->registry));
	list_each (p, &v->announced, struct position, node) {
		if (p->stream->is_metadata || p->stream->log != source)
			continue;
		/* The news may be a beacon only: then the wait goes on. */
		packet_log_wait(p->stream->log, v->viewers->wake_bit);
		return has_packet(p);
	}
	return false;
}
