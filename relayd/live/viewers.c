/* SPDX-License-Identifier: MIT */
#include "relayd/live/viewers.h"

#include <assert.h>

#include "relayd/live/registry.h"
#include "relayd/live/viewer_internal.h"

void
viewers_init(struct viewers *vs, struct registry *registry, uint64_t wake_bit,
    bool holds_replies, unsigned max_viewers, struct published *ids)
{
	*vs = (struct viewers){
		.registry = registry,
		.wake_bit = wake_bit,
		.holds_replies = holds_replies,
		.max_viewers = max_viewers,
		.max_ended = VIEWER_ENDED_MAX,
		.class_ns = VIEWER_CLASS_NS,
		.ids = ids,
	};
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
