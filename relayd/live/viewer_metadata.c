/* SPDX-License-Identifier: MIT */
/* GET_METADATA (live 2.10), and the wait for a stream class (live 4.11). */
#include <sys/stat.h>

#include "common/clock.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"
#include "relayd/live/registry.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"
#include "store/folder.h"
#include "store/metadata_log.h"

uint64_t
viewer_class_ns(const struct viewer *v, const struct live_session *session)
{
	uint64_t period = session->live_timer_us * UINT64_C(1000);

	if (v->viewers->class_ns == 0)
		return 0;
	if (period > VIEWER_CLASS_PERIOD_NS)
		period = VIEWER_CLASS_PERIOD_NS;
	return v->viewers->class_ns + period;
}

bool
viewer_may_wait_for_class(const struct viewer *v, struct position *p)
{
	struct viewer_trace *t = p->trace;
	uint64_t now = clock_now_ns();

	if (t->class_since_ns == 0)
		t->class_since_ns = now;
	return now - t->class_since_ns < v->viewers->class_ns;
}

/* A tracer sends the metadata of a new process in two pieces; the classes are
 * in the second. babeltrace2 2.0 aborts at the first packet if it has read the
 * first piece alone. */
static bool
is_worth_reading(const struct viewer *v, struct position *p,
    const struct metadata_view *view)
{
	return p->sent > 0 || view->has_class ||
	       metadata_log_is_ended(p->stream->metadata) ||
	       !viewer_may_wait_for_class(v, p);
}

/* Put the metadata bytes of P that this viewer has not had yet into REPLY;
 * false: none. */
static bool
new_metadata(
    const struct viewer *v, struct position *p, struct live_reply *reply)
{
	struct metadata_view view;
	struct stat sb;
	bool has = false;

	metadata_log_look(p->stream->metadata, &view);
	if (view.length > p->sent && is_worth_reading(v, p, &view) &&
	    open_file_metadata(
		&v->registry->files, &reply->file, view.folder) == OK) {
		has = fstat(reply->file->data_fd, &sb) == 0 &&
		      (uint64_t)sb.st_size >= view.length;
		if (!has) {
			open_file_done(reply->file);
			reply->file = NULL;
		}
	}
	folder_put(view.folder);
	if (!has)
		return false;
	reply->offset = p->sent;
	reply->length = view.length - p->sent;
	p->sent = view.length;
	return true;
}

static enum live_outcome
refuse_metadata(struct viewer *v, struct live_reply *reply)
{
	viewer_count(v, true);
	live_reply_metadata(reply->out, 0, LIVE_METADATA_ERR);
	return LIVE_REPLY;
}

enum live_outcome
viewer_metadata(struct viewer *v, uint64_t id, const struct live_how *how,
    struct live_reply *reply, struct live_held *held)
{
	struct position *p = viewer_position(v, id);
	bool is_ended, waits = false;

	if (p == NULL || p->state != POSITION_ANNOUNCED ||
	    !p->stream->is_metadata)
		return refuse_metadata(v, reply);
	for (;;) {
		is_ended = metadata_log_is_ended(p->stream->metadata);
		if (new_metadata(v, p, reply))
			break;
		/* The metadata was cleared before it was read; without an error
		 * babeltrace2 would ask again for ever. */
		if (p->sent == 0 && is_ended)
			return refuse_metadata(v, reply);
		/* Hold only before the viewer has any metadata of the trace.
		 * Never hold babeltrace2: when it is interrupted here, it
		 * aborts after any reply. */
		if (p->sent == 0 && !v->created_before_list &&
		    viewer_may_hold(v, how, p->stream->session,
			p->stream->metadata, held)) {
			if (waits)
				return LIVE_HOLD;
			metadata_log_wait(
			    p->stream->metadata, v->viewers->wake_bit);
			waits = true;
			continue;
		}
		if (p->sent == 0)
			viewer_count(v, false);
		live_reply_metadata(reply->out, 0, LIVE_METADATA_NO_NEW);
		return LIVE_REPLY;
	}
	viewer_count(v, true);
	live_reply_metadata(reply->out, reply->length, LIVE_METADATA_OK);
	return LIVE_REPLY;
}
