/* SPDX-License-Identifier: MIT */
/* Which streams a viewer is told of, and when (live 2.4, 2.5). */
#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/catalog.h"
#include "relayd/viewer.h"
#include "relayd/viewers.h"
#include "store/folder.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"

/*
 * When a trace is announced. Data and metadata come together, or not at all
 * (live 6, P1). A viewer shows nothing at all while it knows of a trace without
 * metadata, or of a stream of which nothing was heard, a packet or a beacon.
 * Where processes start all the time there would always be one. So new traces
 * are kept back until their metadata declares a stream class and all their
 * streams were heard, and meanwhile the viewer is given what is older.
 */
static bool
is_heard(struct position *p)
{
	const struct packet_log *log = p->stream->log;
	struct log_view view;

	if (!p->is_heard)
		p->is_heard =
		    p->stream->is_metadata
			? metadata_log_has_classes(p->stream->metadata) ||
			      metadata_log_is_ended(p->stream->metadata)
			: packet_log_look(log, packet_log_start(log), &view) !=
			      LOG_RETRY;
	return p->is_heard;
}

/* Find the traces that are ready, among those that are not announced: the last
 * ones of the list. */
static void
listen(struct viewer *v)
{
	struct list *n;
	struct position *p;

	for (n = v->positions.prev; n != &v->positions; n = n->prev) {
		p = list_entry(n, struct position, node);
		if (p->is_announced)
			break;
		p->trace->is_silent = false;
	}
	for (n = v->positions.prev; n != &v->positions; n = n->prev) {
		p = list_entry(n, struct position, node);
		if (p->is_announced)
			break;
		if (!is_heard(p))
			p->trace->is_silent = true;
	}
}

/* After listen(). */
static bool
is_ready(const struct viewer *v, const struct position *p)
{
	const struct viewer_trace *t = p->trace;

	return t->is_listed || !t->is_silent ||
	       clock_now_ns() - t->since_ns >=
		   viewer_class_ns(v, p->stream->session);
}

static bool
may_be_announced(const struct viewer *v, const struct position *p)
{
	return !p->is_announced && p->trace->metadata != NULL && is_ready(v, p);
}

/* Kept back: it is not announced, but will be. */
static bool
is_waiting(const struct viewer *v, const struct position *p)
{
	return p->trace->metadata != NULL && !is_ready(v, p);
}

uint64_t
viewer_waits_until(struct viewer *v, uint64_t *safe)
{
	const struct list *n;
	const struct position *p;
	uint64_t until, last = 0;

	listen(v);
	*safe = UINT64_MAX;
	for (n = v->positions.prev; n != &v->positions; n = n->prev) {
		p = list_entry(n, struct position, node);
		if (p->is_announced)
			break;
		if (!is_waiting(v, p))
			continue;
		until = p->trace->since_ns +
			viewer_class_ns(v, p->stream->session);
		if (until > last)
			last = until;
		if (p->time_before < *safe)
			*safe = p->time_before;
	}
	return last;
}

uint64_t
viewer_knows_until(const struct viewer *v)
{
	uint64_t before = UINT64_MAX;
	const struct list *n;
	const struct position *p;

	for (n = v->positions.prev; n != &v->positions; n = n->prev) {
		p = list_entry(n, struct position, node);
		if (p->is_announced)
			break;
		if (p->trace->metadata != NULL && p->time_before < before)
			before = p->time_before;
	}
	return before;
}

void
viewer_wait_for_silent(struct viewer *v)
{
	const uint64_t bit = v->viewers->wake_bit;
	const struct list *n;
	const struct position *p;

	listen(v);
	for (n = v->positions.prev; n != &v->positions; n = n->prev) {
		p = list_entry(n, struct position, node);
		if (p->is_announced)
			break;
		if (p->is_heard || !is_waiting(v, p))
			continue;
		if (p->stream->is_metadata)
			metadata_log_wait(p->stream->metadata, bit);
		else
			packet_log_wait(p->stream->log, bit);
	}
}

void
viewer_hold_for_silent(struct viewer *v, struct live_held *held)
{
	uint64_t safe, until = viewer_waits_until(v, &safe);

	if (until == 0)
		return;
	held->is_any = true;
	/* Then they are announced as they are. */
	if (until < held->until_ns)
		held->until_ns = until;
}

/* The log of a closed stream is not told that its chunk was cleared. */
static bool
is_cleared(const struct packet_log *log, uint64_t pos)
{
	struct log_place place;
	bool is_gone;

	if (packet_log_place(log, pos, &place) != OK)
		return false;
	is_gone = folder_is_gone(place.folder);
	folder_put(place.folder);
	return is_gone;
}

/* Not announced, nothing to read, nor will there be: a short process that was
 * cleared, or traced nothing. A viewer would ask for its metadata in vain. */
static bool
is_spent(const struct position *p)
{
	const struct packet_log *log = p->stream->log;
	struct log_view view;
	uint64_t start, pos;

	if (p->is_announced || p->stream->is_metadata)
		return false;
	start = packet_log_start(log);
	pos = p->pos > start ? p->pos : start;
	switch (packet_log_look(log, pos, &view)) {
	case LOG_END:
		return true;
	case LOG_PACKET:
		return packet_log_is_ended(log) && is_cleared(log, pos);
	default:
		return false;
	}
}

static bool
is_spent_metadata(const struct position *p)
{
	return !p->is_announced && p->stream->is_metadata &&
	       p->trace->n_data == 0 &&
	       metadata_log_is_ended(p->stream->metadata);
}

/* Data first: the metadata of a trace goes with the last. The newest are at
 * the end of the list, so only what is not announced is looked at. */
static void
forget_spent(struct viewer *v, bool (*is_it)(const struct position *))
{
	struct list *n, *before;

	for (n = v->positions.prev; n != &v->positions; n = before) {
		struct position *p = list_entry(n, struct position, node);

		before = n->prev;
		if (p->is_announced)
			return;
		if (is_it(p))
			viewer_forget(v, p);
	}
}

static void
forget_all_spent(struct viewer *v)
{
	forget_spent(v, is_spent);
	forget_spent(v, is_spent_metadata);
}

bool
viewer_has_unannounced(struct viewer *v)
{
	const struct list *n;
	const struct position *p;

	forget_all_spent(v);
	listen(v);
	for (n = v->positions.prev; n != &v->positions; n = n->prev) {
		p = list_entry(n, struct position, node);
		if (p->is_announced)
			return false;
		if (may_be_announced(v, p))
			return true;
	}
	return false;
}

uint32_t
viewer_announce(struct viewer *v, const struct live_session *s, struct buf *out)
{
	struct list *n, *tmp, rest;
	uint32_t count = 0;

	forget_all_spent(v);
	listen(v);
	/* Those that stay unannounced go to the end again. */
	list_init(&rest);
	list_for_each (n, tmp, &v->positions) {
		struct position *p = list_entry(n, struct position, node);

		if (p->is_announced)
			continue;
		if (p->stream->session != s || !may_be_announced(v, p)) {
			list_del(n);
			list_add(&rest, n);
			continue;
		}
		live_reply_stream(
		    out, &(struct live_stream_record){ .id = p->stream->id,
			     .trace_id = p->stream->trace_id,
			     .is_metadata = p->stream->is_metadata,
			     .path = p->stream->path,
			     .channel = p->stream->channel });
		p->is_announced = true;
		viewer_set_floor(v, p);
		count++;
	}
	list_for_each (n, tmp, &rest) {
		list_del(n);
		list_add(&v->positions, n);
	}
	return count;
}

bool
viewer_has_data(const struct viewer *v, const struct live_session *s)
{
	const struct list *n;
	const struct position *p;

	for (n = v->positions.next; n != &v->positions; n = n->next) {
		p = list_entry(n, struct position, node);
		if ((s == NULL || p->stream->session == s) && p->is_announced &&
		    !p->stream->is_metadata)
			return true;
	}
	return false;
}

void
viewer_stream_published(struct viewer *v, struct live_stream *s)
{
	struct position *p;

	if (viewer_attachment(v, s->session->id) == NULL)
		return;
	switch (viewer_add_position(v, s, &p)) {
	case OK:
		break;
	case E_EXISTS:
		return; /* seen when it attached */
	default:
		log_error("peer=%s out of memory: the viewer will not see "
			  "stream %s/%s",
		    v->peer, s->path, s->channel);
		return;
	}
	/* Streams that appear are read from their beginning. */
	if (!s->is_metadata)
		p->pos = packet_log_start(s->log);
	viewer_note_before(v, p);
	v->has_had_empty_ok = false;
}

void
viewer_session_ended(struct viewer *v, struct live_session *s)
{
	struct attachment *a = viewer_attachment(v, s->id);

	if (a != NULL)
		a->has_ended = true;
}

/* The last data stream of a trace that is over has been read: its metadata
 * position has no use. */
static void
forget_metadata(struct viewer *v, struct position *p)
{
	if (p != NULL && p->is_announced && p->trace->n_data == 0 &&
	    metadata_log_is_ended(p->stream->metadata))
		viewer_forget(v, p);
}

/* The one that ended first, of those that V was not told of. */
static struct position *
oldest_hidden(const struct viewer *v)
{
	struct position *p, *found = NULL;
	struct list *n;

	for (n = v->positions.prev; n != &v->positions; n = n->prev) {
		p = list_entry(n, struct position, node);
		if (p->is_announced)
			break;
		if (p->is_ended)
			found = p;
	}
	return found;
}

/* Bounded, whatever the viewer does not do. */
static void
make_room(struct viewer *v)
{
	struct viewers *vs = v->viewers;
	struct position *p;

	while (v->n_ended > vs->max_ended && (p = oldest_hidden(v)) != NULL) {
		if (log_ratelimit(&vs->last_ended_log, 10 * NS_PER_S))
			log_peer(LOG_WARN,
			    "peer=%s viewer has %u ended streams to read:"
			    " %s/%s is lost to it, and others may be",
			    v->peer, v->n_ended, p->stream->path,
			    p->stream->channel);
		v->lost += packet_log_count(p->stream->log) - p->pos;
		viewer_forget(v, p);
	}
	if (v->n_ended > VIEWER_ENDED_TOLD * vs->max_ended)
		v->is_overdue = vs->has_overdue = true;
	forget_spent(v, is_spent_metadata);
}

void
viewer_stream_closed(struct viewer *v, struct live_stream *s)
{
	struct position *p;

	if (s->is_metadata) {
		forget_all_spent(v);
		forget_metadata(v, viewer_position(v, s->id));
		return;
	}
	p = viewer_position(v, s->id);
	if (p == NULL)
		return;
	/* Attached between the ends of its metadata and its own: it will never
	 * be announced. */
	if (!p->is_announced && p->trace->metadata == NULL) {
		viewer_forget(v, p);
		return;
	}
	p->is_ended = true;
	if (++v->n_ended > v->viewers->max_ended)
		make_room(v);
}

void
viewer_hang_up(struct viewer *v, struct position *p)
{
	struct position *metadata = p->trace->metadata;

	viewer_forget(v, p);
	forget_metadata(v, metadata);
}

enum live_outcome
viewer_new_streams(struct viewer *v, uint64_t id, const struct live_how *how,
    struct live_reply *reply, struct live_held *held)
{
	struct attachment *a = viewer_attachment(v, id);
	struct buf records = { 0 };
	uint32_t count;

	if (a == NULL) {
		live_reply_u32(reply->out, LIVE_STREAMS_ERR);
		live_reply_u32(reply->out, 0);
		viewer_count(v, true);
		return LIVE_REPLY;
	}
	count = viewer_announce(v, a->session, &records);
	v->has_been_flagged = v->has_had_empty_ok = false;
	if (count == 0 && a->has_ended && !viewer_has_data(v, a->session)) {
		live_reply_u32(reply->out, LIVE_STREAMS_HUP);
		live_reply_u32(reply->out, 0);
		viewer_count(v, true);
		return LIVE_REPLY;
	}
	/* Not where it will ask for the streams of another session. */
	if (count == 0 && !viewer_has_data(v, NULL) &&
	    viewer_may_hold(v, how, a->session, NULL, held)) {
		viewer_wait_for_silent(v);
		viewer_hold_for_silent(v, held);
		if (!viewer_has_unannounced(v))
			return LIVE_HOLD;
		count = viewer_announce(v, a->session, &records);
	}
	if (count > 0 || !viewer_has_data(v, NULL))
		viewer_count(v, count > 0);
	live_reply_u32(reply->out, LIVE_STREAMS_OK);
	live_reply_u32(reply->out, count);
	buf_bytes(reply->out, buf_data(&records), buf_len(&records));
	if (records.bad)
		reply->out->bad = true;
	buf_free(&records);
	return LIVE_REPLY;
}
