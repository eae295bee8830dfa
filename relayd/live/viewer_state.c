/* SPDX-License-Identifier: MIT */
/* What a viewer hands to the next process (common/state.h). */
#include "common/state.h"

#include <assert.h>
#include <stdlib.h>

#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"
#include "relayd/stats/stats.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"

static const struct state_member trace_members[] = {
	STATE_DROP(struct viewer_trace, node),
	STATE_DROP(struct viewer_trace, positions), /* each is in its list */
	STATE_DROP(struct viewer_trace, id),	    /* as its streams' */
	STATE_DROP(struct viewer_trace, n_data),    /* counted again */
	STATE_DROP(struct viewer_trace, metadata),
	STATE_KEEP(struct viewer_trace, is_listed),
	STATE_DROP(struct viewer_trace, lacks_data), /* set before its use */
	STATE_KEEP(struct viewer_trace, since_ns),
	STATE_KEEP(struct viewer_trace, class_since_ns),
};
static STATE_TABLE(trace_state, struct viewer_trace, trace_members);

static const struct state_member position_members[] = {
	STATE_CODE(struct position, node),
	STATE_DROP(struct position, of_attachment),
	STATE_CODE(struct position, trace),
	STATE_CODE(struct position, stream),
	STATE_DROP(struct position, attachment), /* to its stream's session */
	STATE_CODE(struct position, state),	 /* its list says it */
	STATE_KEEP(struct position, has_data),
	STATE_DROP(struct position, is_ended), /* as its log */
	STATE_KEEP(struct position, pos),
	STATE_CODE(struct position, file),
	STATE_CODE(struct position, part),
	STATE_KEEP(struct position, has_bound),
	STATE_KEEP(struct position, bound),
	STATE_KEEP(struct position, last_sent),
	STATE_KEEP(struct position, time_before),
	STATE_KEEP(struct position, min_begin),
	STATE_KEEP(struct position, has_new_begin),
	STATE_KEEP(struct position, new_begin_packet),
	STATE_BYTES(struct position, new_begin),
	STATE_KEEP(struct position, sent),
};
static STATE_TABLE(position_state, struct position, position_members);

static const struct state_member attachment_members[] = {
	STATE_DROP(struct attachment, node),
	STATE_CODE(struct attachment, session),
	STATE_KEEP(struct attachment, has_ended),
	STATE_DROP(struct attachment, positions), /* each knows its session */
	STATE_KEEP(struct attachment, last_sent),
};
static STATE_TABLE(attachment_state, struct attachment, attachment_members);

static const struct state_member viewer_members[] = {
	STATE_DROP(struct viewer, node),
	STATE_DROP(struct viewer, viewers),
	STATE_DROP(struct viewer, peer), /* its connection's */
	STATE_MOST(struct viewer, minor, LIVE_MINOR),
	STATE_KEEP(struct viewer, is_greeted),
	STATE_KEEP(struct viewer, has_session),
	STATE_KEEP(struct viewer, has_listed),
	STATE_KEEP(struct viewer, created_before_list),
	STATE_CODE(struct viewer, attachments),
	STATE_CODE(struct viewer, unannounced),
	STATE_CODE(struct viewer, announced),
	STATE_CODE(struct viewer, incomplete),
	STATE_DROP(struct viewer, has_checked), /* of one request */
	STATE_DROP(struct viewer, has_ready),
	STATE_DROP(struct viewer, by_id), /* as the lists */
	STATE_DROP(struct viewer, traces),
	STATE_DROP(struct viewer, n_ended), /* these two are counted again */
	STATE_DROP(struct viewer, n_ended_sessions),
	STATE_KEEP(struct viewer, is_to_be_closed),
	STATE_DROP(struct viewer, memory), /* counted again */
	STATE_KEEP(struct viewer, has_been_flagged),
	STATE_KEEP(struct viewer, has_had_empty_ok),
	STATE_KEEP(struct viewer, has_new_stream),
	STATE_KEEP(struct viewer, has_new_end),
	STATE_KEEP(struct viewer, nothings),
	STATE_KEEP(struct viewer, nothing_id),
	STATE_KEEP(struct viewer, last_reply_ns),
	STATE_KEEP(struct viewer, lost),
	STATE_KEEP(struct viewer, passed),
};
static STATE_TABLE(viewer_state, struct viewer, viewer_members);

static const struct state_member list_members[] = {
	STATE_CODE(struct live_list, items),
	STATE_CODE(struct live_list, n),
	STATE_DROP(struct live_list, next), /* what was sent stays behind */
	STATE_MOST(struct live_list, minor, LIVE_MINOR),
};
static STATE_TABLE(live_list_state, struct live_list, list_members);

static const struct state_member how_members[] = {
	STATE_KEEP(struct live_how, arrived_ns),
	STATE_KEEP(struct live_how, may_hold),
	STATE_KEEP(struct live_how, is_interrupted),
	STATE_KEEP(struct live_how, was_held),
};
STATE_TABLE(live_how_state, struct live_how, how_members);

static const struct state_member held_members[] = {
	STATE_DROP(struct live_held, source), /* held requests are served */
	STATE_KEEP(struct live_held, is_any),
	STATE_KEEP(struct live_held, is_turn),
	STATE_KEEP(struct live_held, is_early),
	STATE_KEEP(struct live_held, until_ns),
};
STATE_TABLE(live_held_state, struct live_held, held_members);

void
live_object_put_state(struct state_out *o, struct live_object *object)
{
	state_put_bool(o, object->is_stream);
	if (object->is_stream)
		live_stream_put_state(o, (void *)object);
	else
		live_session_put_state(o, (void *)object);
}

enum status
live_object_get_state(struct live_object **out, struct state_in *in,
    const struct live_notifier *notifier)
{
	struct live_session *session = NULL;
	struct live_stream *stream = NULL;
	enum status st;

	if (state_get_bool(in))
		st = live_stream_get_state(&stream, in, notifier);
	else
		st = live_session_get_state(&session, in, notifier);
	*out = stream != NULL ? (void *)stream : (void *)session;
	return st == OK && *out == NULL ? E_MALFORMED : st;
}

void
live_list_put_state(struct state_out *o, const struct live_list *l)
{
	state_put(o, &live_list_state, l);
	state_put_u32(o, l->n - l->next);
	for (uint32_t i = l->next; i < l->n; i++)
		live_object_put_state(o, l->items[i]);
}

static enum status
get_item(struct live_list *l, struct state_in *in,
    const struct live_notifier *notifier)
{
	struct live_object *item;
	enum status st = live_object_get_state(&item, in, notifier);

	if (st != OK)
		return st;
	live_list_add(l, item);
	live_put(item);
	return OK;
}

enum status
live_list_get_state(struct live_list *l, struct state_in *in,
    const struct live_notifier *notifier)
{
	enum status st = state_get(in, &live_list_state, l);
	uint32_t n;

	if (st != OK)
		return st;
	n = state_get_u32(in, (uint32_t)(reader_left(&in->r) / sizeof(n)));
	st = state_in_status(in);
	if (st == OK)
		st = live_list_make(l, n, l->minor);
	while (st == OK && l->n < n)
		st = get_item(l, in, notifier);
	return st;
}

static void
put_position(struct state_out *o, struct position *p)
{
	live_stream_put_state(o, p->stream);
	if (state_put_object(o, p->trace))
		state_put(o, &trace_state, p->trace);
	state_put(o, &position_state, p);
	if (p->stream->is_metadata)
		return;
	open_file_put_state(o, p->file);
	open_part_put_state(o, &p->part);
}

static void
put_positions(struct state_out *o, struct list *positions)
{
	struct position *p;

	list_each (p, positions, struct position, node) {
		state_put_bool(o, true);
		put_position(o, p);
	}
}

/* Positions that are announced, that are not, and those of incomplete traces,
 * which are in no list of the viewer. */
static void
put_all_positions(struct state_out *o, struct viewer *v)
{
	struct viewer_trace *t;

	put_positions(o, &v->announced);
	state_put_bool(o, false);
	put_positions(o, &v->unannounced);
	state_put_bool(o, false);
	list_each (t, &v->incomplete, struct viewer_trace, node)
		put_positions(o, &t->positions);
	state_put_bool(o, false);
}

void
viewer_put_state(struct state_out *o, struct viewer *v)
{
	struct attachment *a;

	assert(viewers_are_mine(v->viewers));
	state_put(o, &viewer_state, v);
	list_each (a, &v->attachments, struct attachment, node) {
		state_put_bool(o, true);
		live_session_put_state(o, a->session);
		state_put(o, &attachment_state, a);
	}
	state_put_bool(o, false);
	put_all_positions(o, v);
}

static bool
is_listed(const struct viewer *v, const struct live_session *s)
{
	return !list_empty(&s->seats[v->viewers->worker].node);
}

static enum status
get_attachment(
    struct viewer *v, struct state_in *in, const struct live_notifier *notifier)
{
	struct live_session *s;
	struct attachment *a;
	enum status st = live_session_get_state(&s, in, notifier);

	if (st != OK || s == NULL)
		return st != OK ? st : E_MALFORMED;
	a = viewer_attachment(v, s->id) == NULL ? calloc(1, sizeof(*a)) : NULL;
	if (a == NULL) {
		st = viewer_attachment(v, s->id) == NULL ? E_NOMEM
							 : E_MALFORMED;
		live_put(s);
		return st;
	}
	a->session = s;
	list_init(&a->positions);
	list_append(&v->attachments, &a->node);
	published_add(&s->clients, 1);
	stats_add(v->viewers->stats, STAT_viewers, 1);
	st = state_get(in, &attachment_state, a);
	if (st == OK && a->has_ended && is_listed(v, s))
		st = E_MALFORMED;
	return st;
}

/* A new position in S, in no list yet. */
static enum status
make_position(struct viewer *v, struct live_stream *s, struct position **out)
{
	const struct attachment *a = viewer_attachment(v, s->session->id);
	struct viewer_trace *t = idmap_find(&v->traces, s->trace_id);
	const uint64_t since_ns = t == NULL ? 0 : t->since_ns;
	enum status st;

	if (a == NULL || a->session != s->session ||
	    (s->is_metadata && t != NULL && t->metadata != NULL))
		return E_MALFORMED;
	st = viewer_make_position(v, s, out);
	if (st == OK && t != NULL)
		t->since_ns = since_ns;
	return st == E_EXISTS ? E_MALFORMED : st;
}

/* The viewer's first position in a trace has what they share. */
static enum status
get_trace(const struct viewer *v, struct position *p, struct state_in *in)
{
	uint32_t number;
	void *object;

	if (state_get_object(in, v, &object, &number))
		return object == p->trace ? OK : E_MALFORMED;
	state_made(in, number, v, p->trace);
	return state_get(in, &trace_state, p->trace);
}

static enum status
get_data(struct viewer *v, struct position *p, struct state_in *in)
{
	struct open_files *files = &v->viewers->files;
	const struct packet_log *log = p->stream->log;
	enum status st = open_file_get_state(files, &p->file, in, log);

	if (st == OK)
		st = open_part_get_state(files, p->file, in, &p->part);
	if (st == OK && (p->pos > published(&log->count) ||
			    (p->has_new_begin && p->file == NULL)))
		st = E_MALFORMED;
	return st;
}

static enum status
get_position(struct viewer *v, struct state_in *in,
    const struct live_notifier *notifier, struct position **out)
{
	struct position *p = NULL;
	struct live_stream *s;
	enum status st = live_stream_get_state(&s, in, notifier);

	if (st != OK || s == NULL)
		return st != OK ? st : E_MALFORMED;
	st = make_position(v, s, &p);
	live_put(s);
	if (st == OK)
		st = get_trace(v, p, in);
	if (st == OK)
		st = state_get(in, &position_state, p);
	if (st == OK && !p->stream->is_metadata)
		st = get_data(v, p, in);
	*out = p;
	return st;
}

/* STATE as in put_all_positions(). */
static enum status
get_positions(struct viewer *v, struct state_in *in,
    const struct live_notifier *notifier, struct list *list,
    enum position_state state)
{
	struct viewer_trace *t;
	struct position *p;
	enum status st;

	while (state_get_bool(in)) {
		st = get_position(v, in, notifier, &p);
		if (st != OK)
			return st;
		p->state = state;
		t = p->trace;
		if (list == NULL && list_empty(&t->node))
			list_append(&v->incomplete, &t->node);
		list_append(list != NULL ? list : &t->positions, &p->node);
	}
	return state_in_status(in);
}

static enum status
get_all(
    struct viewer *v, struct state_in *in, const struct live_notifier *notifier)
{
	enum status st = state_get(in, &viewer_state, v);

	while (st == OK && state_get_bool(in))
		st = get_attachment(v, in, notifier);
	if (st == OK)
		st = get_positions(
		    v, in, notifier, &v->announced, POSITION_ANNOUNCED);
	if (st == OK)
		st = get_positions(
		    v, in, notifier, &v->unannounced, POSITION_HIDDEN);
	if (st == OK)
		st = get_positions(v, in, notifier, NULL, POSITION_HIDDEN);
	return st == OK ? state_in_status(in) : st;
}

static bool
is_closed(const struct live_stream *s)
{
	return published(s->is_metadata ? &s->metadata->is_ended
					: &s->log->is_ended) != 0;
}

enum status
viewer_take_ends(struct viewer *v)
{
	const size_t n = v->by_id.n;
	uint64_t *ids = malloc((n + 1) * sizeof(*ids));
	const struct attachment *a;
	const struct position *p;
	uint32_t at = 0;

	if (ids == NULL)
		return E_NOMEM;
	list_each (a, &v->attachments, struct attachment, node)
		if (!a->has_ended && !is_listed(v, a->session))
			viewer_session_ended(v, a->session);
	/* The end of one stream may make the viewer forget others. */
	for (size_t i = 0; i < n && idmap_next(&v->by_id, &at, &ids[i]); i++)
		;
	for (size_t i = 0; i < n; i++) {
		p = viewer_position(v, ids[i]);
		if (p != NULL && is_closed(p->stream) &&
		    !stream_lingers(v->viewers, p->stream))
			viewer_stream_closed(v, p->stream);
	}
	free(ids);
	return OK;
}

enum status
viewer_get_state(struct viewer **out, struct state_in *in, struct viewers *vs,
    char *peer, const struct live_notifier *notifier)
{
	struct viewer *v;
	enum status st = viewer_create(&v, vs, peer);

	*out = NULL;
	if (st != OK)
		return st;
	st = get_all(v, in, notifier);
	if (st != OK) {
		viewer_destroy(v);
		return st;
	}
	vs->has_to_be_closed |= v->is_to_be_closed;
	*out = v;
	return OK;
}
