/* SPDX-License-Identifier: MIT */
#include "relayd/live/viewers.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>

#include "common/clock.h"
#include "common/log.h"
#include "store/packet_log.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/registry.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/stats/info.h"

void
viewers_init(struct viewers *vs, struct registry *registry, uint64_t wake_bit,
    bool holds_replies, unsigned max_viewers, struct published *ids)
{
	*vs = (struct viewers){
		.registry = registry,
		.wake_bit = wake_bit,
		.holds_replies = holds_replies,
		.max_ended = VIEWER_ENDED_MAX,
		.max_ended_sessions = UINT_MAX,
		.max_memory = UINT64_MAX,
		.class_ns = VIEWER_CLASS_NS,
		.ids = ids,
		.stats = stats_live_worker(0),
	};
	publish(&vs->max_viewers, max_viewers);
	list_init(&vs->all);
}

static void
tell_viewer(struct viewer *v, enum live_news what, void *object)
{
	switch (what) {
	case LIVE_NEWS_SESSION:
		break; /* viewers ask for the list of sessions */
	case LIVE_NEWS_SESSION_ENDED:
		viewer_session_ended(v, object);
		break;
	case LIVE_NEWS_STREAM:
		viewer_stream_published(v, object);
		break;
	case LIVE_NEWS_STREAM_CLOSED:
		viewer_stream_closed(v, object);
		break;
	}
}

void
viewers_news(struct viewers *vs, enum live_news what, void *take_object)
{
	struct list *n, *tmp;

	assert(registry_is_mine(vs->registry));
	registry_news(vs->registry, what, take_object);
	list_for_each (n, tmp, &vs->all)
		tell_viewer(
		    list_entry(n, struct viewer, node), what, take_object);
	live_news_put(what, take_object);
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

	assert(registry_is_mine(vs->registry));
	if (i->wish != INFO_SESSION)
		return;
	list_each (v, &vs->all, struct viewer, node) {
		a = viewer_attachment(v, i->id);
		if (a != NULL)
			add_viewer(i, v, a);
	}
}

/* What viewers make the relay keep: their positions, streams that are closed,
 * but not read, and the directories of ended sessions. */

static void
count(struct viewer *v, uint64_t more)
{
	v->memory += more;
	v->viewers->memory += more;
}

static bool
may_have(const struct viewer *v, uint64_t more)
{
	const struct viewers *vs = v->viewers;

	return vs->memory + more <= vs->max_memory &&
	       (vs->memory < vs->max_memory / 2 ||
		   v->memory + more <= vs->max_memory / VIEWER_FAIR_SHARE);
}

bool
viewer_may_grow(struct viewer *v)
{
	struct viewers *vs = v->viewers;

	if (may_have(v, VIEWER_POSITION_MEMORY)) {
		count(v, VIEWER_POSITION_MEMORY);
		return true;
	}
	if (log_ratelimit(&vs->last_memory_log, NS_PER_S))
		log_peer(LOG_WARN,
		    "peer=%s viewer is not shown all streams: viewers use "
		    "%" PRIu64 " bytes, it %" PRIu64
		    ", and memory for them is short (--max-memory)",
		    v->peer, vs->memory, v->memory);
	return false;
}

void
viewer_has_shrunk(struct viewer *v, const struct position *p)
{
	uint64_t less = VIEWER_POSITION_MEMORY;

	if (p != NULL && p->is_ended) {
		v->n_ended--;
		less += VIEWER_ENDED_MEMORY;
	}
	count(v, -less);
}

/* The oldest ended stream that V was not told of. */
static struct position *
oldest_unannounced(const struct viewer *v)
{
	struct position *p;
	struct list *n, *tmp;

	list_for_each (n, tmp, &v->unannounced) {
		p = list_entry(n, struct position, node);
		if (p->is_ended)
			return p;
	}
	return NULL;
}

static void
lose_stream(struct viewer *v, struct position *p)
{
	if (log_ratelimit(&v->viewers->last_ended_log, 10 * NS_PER_S))
		log_peer(LOG_WARN,
		    "peer=%s viewer has %u ended streams to read:"
		    " %s/%s is lost to it, and others may be",
		    v->peer, v->n_ended, p->stream->path, p->stream->channel);
	v->lost += packet_log_count(p->stream->log) - p->pos;
	viewer_forget(v, p);
}

/* Who has most streams that are closed, and is not to be closed itself. */
static struct viewer *
with_most_ended_streams(const struct viewers *vs)
{
	struct viewer *v, *found = NULL;

	list_each (v, &vs->all, struct viewer, node) {
		if (!v->is_to_be_closed && v->n_ended > 0 &&
		    (found == NULL || v->n_ended > found->n_ended))
			found = v;
	}
	return found;
}

/* Viewers have more than they may because streams were closed: who has most of
 * these loses the oldest, or is closed if it was told of all. */
static void
free_memory(struct viewers *vs)
{
	struct position *p;
	struct viewer *v;

	while (vs->memory > vs->max_memory && !vs->has_to_be_closed &&
	       (v = with_most_ended_streams(vs)) != NULL) {
		p = oldest_unannounced(v);
		if (p != NULL)
			lose_stream(v, p);
		else
			v->is_to_be_closed = vs->has_to_be_closed = true;
	}
}

bool
viewer_stream_ended(struct viewer *v, struct position *p)
{
	struct viewers *vs = v->viewers;

	p->is_ended = true;
	v->n_ended++;
	count(v, VIEWER_ENDED_MEMORY);
	if (v->n_ended <= vs->max_ended && vs->memory <= vs->max_memory)
		return false;
	while (
	    v->n_ended > vs->max_ended && (p = oldest_unannounced(v)) != NULL)
		lose_stream(v, p);
	if (v->n_ended > VIEWER_ENDED_TOLD * vs->max_ended)
		v->is_to_be_closed = vs->has_to_be_closed = true;
	free_memory(vs);
	return true;
}

/* Who has most ended sessions. */
static struct viewer *
with_most_ended_sessions(const struct viewers *vs)
{
	struct viewer *v, *found = NULL;

	list_each (v, &vs->all, struct viewer, node)
		if (v->n_ended_sessions >= VIEWER_SESSIONS_LEFT_FEW &&
		    (found == NULL ||
			v->n_ended_sessions > found->n_ended_sessions))
			found = v;
	return found;
}

void
viewers_limit_sessions(struct viewers *vs)
{
	struct viewer *v;

	if (vs->n_ended_sessions <= vs->max_ended_sessions ||
	    vs->has_to_be_closed)
		return;
	v = with_most_ended_sessions(vs);
	if (v != NULL)
		v->is_to_be_closed = vs->has_to_be_closed = true;
}

void
viewer_session_has_ended(struct viewer *v)
{
	v->n_ended_sessions++;
	v->viewers->n_ended_sessions++;
	viewers_limit_sessions(v->viewers);
}

void
viewer_session_is_read(struct viewer *v)
{
	v->n_ended_sessions--;
	v->viewers->n_ended_sessions--;
}
