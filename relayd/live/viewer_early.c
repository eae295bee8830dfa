/* SPDX-License-Identifier: MIT */
/*
 * Answers that must not be given yet: after such an answer the viewer might
 * show events that are later than those of a stream that it does not know (live
 * 4.6, 4). When it learns of that stream, the stream's events are in the past,
 * and a stock viewer stops with an error.
 */
#include "common/clock.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/registry.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewer_internal.h"
#include "ctf/index.h"
#include "store/packet_log.h"

static bool
is_packet_before(struct viewer *v, const struct position *p, uint64_t time)
{
	struct index_record rec;
	struct open_file *file;

	if (time == 0 || viewer_read_record(v, p, &rec, &file) != OK)
		return false;
	open_file_put(file);
	return rec.timestamp_end <= time;
}

/* Does another stream keep V from showing events later than TIME? A viewer
 * shows nothing beyond the end of what it has of any of its streams. A stream
 * of which V has nothing yet does not count: its own request is held, and until
 * then V shows nothing. */
static bool
is_kept_by_another(
    const struct viewer *v, const struct position *p, uint64_t time)
{
	const struct position *o;

	list_each (o, &v->announced, struct position, node) {
		if (o != p && !o->stream->is_metadata && o->last_time != 0 &&
		    o->last_time <= time && viewer_is_same_host(o, p))
			return true;
	}
	return false;
}

uint64_t
viewer_must_hear_first(struct viewer *v, const struct position *p,
    const struct live_how *how, enum log_next next, struct log_view *view)
{
	const uint64_t waited = clock_now_ns() - how->arrived_ns;
	uint64_t until, safe;

	if (next == LOG_RETRY)
		return 0;
	if (how->may_hold && next != LOG_END && waited < VIEWER_MESSAGE_NS &&
	    registry_is_behind(v->registry))
		return how->arrived_ns + VIEWER_MESSAGE_NS;
	until = viewer_waits_until(v, p, &safe);
	if (until == 0 || is_kept_by_another(v, p, safe))
		return 0;
	/* Cut the bound whether the request may be held or not: a later one is
	 * never right. */
	if (next == LOG_INACTIVE && view->beacon > safe)
		view->beacon = safe;
	if (!how->may_hold || next == LOG_INACTIVE ||
	    waited >= VIEWER_EARLY_NS ||
	    (next == LOG_PACKET && is_packet_before(v, p, safe)))
		return 0;
	return until;
}

/* Will V ask for new streams if it is told now that there are some? It is told
 * once, by the flag or by an empty OK; a viewer that ignores this is not told
 * again. */
static bool
will_ask(const struct viewer *v, const struct log_view *view)
{
	if (v->minor >= LIVE_MINOR_FORMATS)
		return !v->has_been_flagged;
	return v->created_before_list && !v->has_had_empty_ok &&
	       view->has_ctf_stream;
}

bool
viewer_must_ask_first(const struct viewer *v, const struct position *p,
    uint32_t flags, const struct log_view *view)
{
	return (flags & LIVE_FLAG_NEW_STREAM) != 0 && will_ask(v, view) &&
	       !is_kept_by_another(v, p, viewer_knows_until(v, p));
}
