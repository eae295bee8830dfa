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
