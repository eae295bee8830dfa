/* SPDX-License-Identifier: MIT */
#include "relayd/live/viewer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "proto/live.h"
#include "store/packet_log.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"
#include "relayd/stats/relay_event.h"

/* A viewer that sent nothing for this long has printed everything. */
#define HAS_SLEPT_NS (80 * NS_PER_MS)
#define HOLD_AFTER 3 /* "nothing" replies in a row: the viewer polls */
/* babeltrace 1.5 prints before it asks again, and asks its streams in turn.
 * With 8 idle streams it sends 12 requests per second instead of 18, and prints
 * lines as early as before. */
#define HOLD_AFTER_BABELTRACE_1 1
#define HOLD_MAX_NS (1 * NS_PER_S)

enum status
live_list_make(struct live_list *l, uint32_t n, unsigned minor)
{
	assert(l->items == NULL);
	l->minor = minor;
	if (n == 0)
		return OK;
	l->items = calloc(n, sizeof(*l->items));
	return l->items == NULL ? E_NOMEM : OK;
}

void
live_list_add(struct live_list *l, void *object)
{
	l->items[l->n++] = live_get(object);
}

static void
encode_stream(const struct live_stream *s, struct buf *out)
{
	live_reply_stream(out, &(struct live_stream_record){ .id = s->id,
				   .trace_id = s->trace_id,
				   .is_metadata = s->is_metadata,
				   .path = s->path,
				   .channel = s->channel });
}

static void
encode_session(const struct live_session *s, unsigned minor, struct buf *out)
{
	live_reply_session(out, minor,
	    &(struct live_session_record){ .id = s->id,
		.live_timer_us = s->live_timer_us,
		.clients = (uint32_t)published(&s->clients),
		.streams = (uint32_t)published(&s->streams),
		.hostname = s->hostname,
		.name = s->name,
		.trace_format = s->is_ctf2 });
}

bool
live_list_encode(struct live_list *l, struct buf *out)
{
	if (l->next == l->n)
		return false;
	do {
		struct live_object *item = l->items[l->next++];

		if (item->is_stream)
			encode_stream((void *)item, out);
		else
			encode_session((void *)item, l->minor, out);
		live_put(item);
	} while (l->next < l->n && !out->bad &&
		 buf_len(out) + LIVE_STREAM_RECORD_LEN <= LIVE_LIST_PIECE);
	return true;
}

size_t
live_list_memory(const struct live_list *l)
{
	return l->n * sizeof(*l->items);
}

void
live_list_free(struct live_list *l)
{
	while (l->next < l->n)
		live_put(l->items[l->next++]);
	free(l->items);
	*l = (struct live_list){ 0 };
}

enum status
viewer_create(struct viewer **out, struct viewers *vs, char *peer)
{
	struct viewer *v = calloc(1, sizeof(*v));

	assert(viewers_are_mine(vs));
	*out = v;
	if (v == NULL)
		return E_NOMEM;
	v->viewers = vs;
	v->peer = peer;
	list_init(&v->attachments);
	list_init(&v->unannounced);
	list_init(&v->announced);
	list_init(&v->incomplete);
	list_append(&vs->all, &v->node);
	return OK;
}

bool
viewer_has_news(const struct viewer *v, bool *has_ended)
{
	assert(viewers_are_mine(v->viewers));
	*has_ended = v->has_new_end;
	return v->has_new_stream || v->has_new_end;
}

bool
viewer_is_to_be_closed(
    const struct viewer *v, unsigned *n_streams, unsigned *n_sessions)
{
	assert(viewers_are_mine(v->viewers));
	*n_streams = v->n_ended;
	*n_sessions = v->n_ended_sessions;
	return v->is_to_be_closed;
}

/* V attached to S (HAS_COME), or detached from it. */
static void
report_attachment(
    const struct viewer *v, const struct live_session *s, bool has_come)
{
	const struct session_info info = { .id = s->id,
		.host = s->hostname,
		.name = s->name,
		.viewers = (unsigned)published(&s->clients) };

	stats_add(v->viewers->stats, STAT_viewers, has_come ? 1 : UINT64_MAX);
	stats_add(v->viewers->stats, STAT_viewers_came, has_come ? 1 : 0);
	relay_event_report(
	    &(struct relay_event){ .kind = has_come ? RELAY_EVENT_VIEWER_CAME
						    : RELAY_EVENT_VIEWER_WENT,
		.session = &info,
		.viewer = v->peer });
}

static void
detach(struct viewer *v, struct attachment *a)
{
	while (!list_empty(&a->positions))
		viewer_forget(v,
		    list_first(&a->positions, struct position, of_attachment));
	published_sub(&a->session->clients, 1);
	log_info("peer=%s viewer detached: session=%" PRIu64 "/%s", v->peer,
	    a->session->id, a->session->name);
	report_attachment(v, a->session, false);
	list_del(&a->node);
	live_put(a->session);
	free(a);
}

static void
detach_all(struct viewer *v)
{
	while (!list_empty(&v->attachments))
		detach(v, list_first(&v->attachments, struct attachment, node));
}

void
viewer_destroy(struct viewer *v)
{
	if (v == NULL)
		return;
	assert(viewers_are_mine(v->viewers));
	detach_all(v);
	if (v->lost > 0)
		log_info("peer=%s viewer disconnected; %" PRIu64
			 " packets were overwritten or cleared before it read "
			 "them",
		    v->peer, v->lost);
	if (v->passed > 0)
		log_info(
		    "peer=%s viewer disconnected; %" PRIu64 " packets "
		    "without events were not sent to it, because they were "
		    "older than what it had shown",
		    v->peer, v->passed);
	idmap_free(&v->by_id);
	idmap_free(&v->traces);
	list_del(&v->node);
	free(v);
}

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

static enum live_outcome
serve_connect(
    struct viewer *v, const struct live_request *q, struct live_reply *reply)
{
	uint64_t id = 0;

	if (q->major != LIVE_MAJOR || (q->type != LIVE_CLIENT_COMMAND &&
					  q->type != LIVE_CLIENT_NOTIFICATION))
		return LIVE_CLOSE;
	if (q->type == LIVE_CLIENT_COMMAND)
		id = published_add(v->viewers->ids, 1);
	v->is_greeted = true;
	v->minor = q->minor < LIVE_MINOR ? q->minor : LIVE_MINOR;
	live_reply_connect(reply->out, id, LIVE_MAJOR, LIVE_MINOR);
	return LIVE_REPLY;
}

static bool
may_see(const struct viewer *v, const struct live_session *s)
{
	return !s->is_ctf2 || v->minor >= LIVE_MINOR_FORMATS;
}

static enum live_outcome
serve_list(struct viewer *v, struct live_reply *reply)
{
	const struct live_seat *seat;
	uint32_t count = 0;

	v->has_listed = true;
	list_each (seat, &v->viewers->sessions, struct live_seat, node)
		count += may_see(v, (void *)seat->object);
	live_reply_u32(reply->out, count);
	if (live_list_make(&reply->list, count, v->minor) != OK) {
		reply->out->bad = true;
		return LIVE_REPLY;
	}
	list_each (seat, &v->viewers->sessions, struct live_seat, node)
		if (may_see(v, (void *)seat->object))
			live_list_add(&reply->list, seat->object);
	return LIVE_REPLY;
}

static enum live_outcome
serve_create(struct viewer *v, struct live_reply *reply)
{
	/* A repeated CREATE_SESSION detaches from all sessions; babeltrace2
	 * sends ten per second while it waits for a session. */
	detach_all(v);
	v->has_session = true;
	/* Between two of them babeltrace2 lists sessions: only what came before
	 * the first one counts. */
	if (!v->has_listed)
		v->created_before_list = true;
	live_reply_u32(reply->out, LIVE_CREATE_OK);
	return LIVE_REPLY;
}

/* May this viewer attach to S (live 2.3)? */
static enum live_attach
check_attach(const struct viewer *v, const struct live_session *s,
    const struct live_request *q)
{
	if (!v->has_session)
		return LIVE_ATTACH_NO_SESSION;
	if (s == NULL)
		return LIVE_ATTACH_UNKNOWN;
	if (s->live_timer_us == 0)
		return LIVE_ATTACH_NOT_LIVE;
	if (!may_see(v, s))
		return LIVE_ATTACH_UNKNOWN;
	if (q->seek != LIVE_SEEK_BEGINNING && q->seek != LIVE_SEEK_LAST)
		return LIVE_ATTACH_SEEK_ERR;
	if (viewer_attachment(v, q->id) != NULL)
		return LIVE_ATTACH_ALREADY;
	return LIVE_ATTACH_OK;
}

/* The viewer is added before the limit is checked: viewers on other threads may
 * attach at the same time. */
static bool
count_attachment(const struct viewer *v, struct live_session *s)
{
	const uint64_t most = published(&v->viewers->max_viewers);
	const uint64_t n = published_add(&s->clients, 1);

	if (most == 0 || n <= most)
		return true;
	published_sub(&s->clients, 1);
	return false;
}

static enum live_attach
attach(struct viewer *v, struct live_session *s, uint32_t seek)
{
	const struct live_seat *of = &s->seats[v->viewers->worker], *seat;
	struct attachment *a = calloc(1, sizeof(*a));
	struct position *p;

	if (a == NULL)
		return LIVE_ATTACH_UNKNOWN;
	if (!count_attachment(v, s)) {
		free(a);
		return LIVE_ATTACH_ALREADY;
	}
	a->session = live_get(s);
	a->has_ended = !list_empty(&of->linger_node);
	list_init(&a->positions);
	list_append(&v->attachments, &a->node);
	report_attachment(v, s, true);
	list_each (seat, &of->streams, struct live_seat, node) {
		struct live_stream *t = (void *)seat->object;

		if (viewer_add_position(v, t, &p) != OK) {
			detach(v, a);
			return LIVE_ATTACH_UNKNOWN;
		}
		if (t->is_metadata)
			continue;
		/* The listing has counted these streams. */
		p->trace->is_listed = true;
		p->pos = seek == LIVE_SEEK_LAST && !a->has_ended
			     ? published(&t->log->count)
			     : published(&t->log->start);
	}
	viewers_limit_sessions(v->viewers);
	return LIVE_ATTACH_OK;
}

static enum live_outcome
serve_attach(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held)
{
	struct live_session *s = viewers_find(v->viewers, q->id);
	enum live_attach status = check_attach(v, s, q);

	/* A listing may have counted streams whose event has not arrived. */
	if (status == LIVE_ATTACH_OK && how->may_hold &&
	    v->viewers->holds_replies && viewers_are_behind(v->viewers)) {
		*held = (struct live_held){ .until_ns = how->arrived_ns +
							VIEWER_MESSAGE_NS };
		return LIVE_HOLD;
	}
	if (status == LIVE_ATTACH_OK)
		status = attach(v, s, q->seek);
	if (status == LIVE_ATTACH_OK) {
		viewer_announce(v, s, reply);
		log_info("peer=%s viewer attached: session=%" PRIu64
			 "/%s streams=%" PRIu32,
		    v->peer, s->id, s->name, reply->list.n);
	}
	return viewer_reply_streams(reply, status);
}

static enum live_outcome
serve_detach(
    struct viewer *v, const struct live_request *q, struct live_reply *reply)
{
	struct attachment *a = viewer_attachment(v, q->id);
	uint32_t status = LIVE_DETACH_OK;

	if (!v->has_session)
		status = LIVE_DETACH_ERR;
	else if (a != NULL)
		detach(v, a);
	else if (viewers_find(v->viewers, q->id) != NULL)
		status = LIVE_DETACH_ERR;
	else
		status = LIVE_DETACH_UNKNOWN;
	live_reply_u32(reply->out, status);
	return LIVE_REPLY;
}

static enum live_outcome
serve(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held)
{
	const struct live_row *row = live_row(q->cmd);
	unsigned state = v->is_greeted ? LIVE_IN_GREETED : LIVE_IN_NEW;

	if (row->name == NULL && v->is_greeted) {
		live_reply_u32(reply->out, LIVE_UNKNOWN_COMMAND);
		return LIVE_REPLY_LAST;
	}
	if (row->name == NULL || (row->allowed & state) == 0)
		return LIVE_CLOSE;
	switch ((enum live_cmd)q->cmd) {
	case LIVE_CMD_connect:
		return serve_connect(v, q, reply);
	case LIVE_CMD_list_sessions:
		return serve_list(v, reply);
	case LIVE_CMD_attach_session:
		return serve_attach(v, q, how, reply, held);
	case LIVE_CMD_get_next_index:
		return viewer_next_index(v, q->id, how, reply, held);
	case LIVE_CMD_get_packet:
		return viewer_packet(v, q, reply);
	case LIVE_CMD_get_metadata:
		return viewer_metadata(v, q->id, how, reply, held);
	case LIVE_CMD_get_new_streams:
		return viewer_new_streams(v, q->id, how, reply, held);
	case LIVE_CMD_create_session:
		return serve_create(v, reply);
	case LIVE_CMD_detach_session:
		return serve_detach(v, q, reply);
	}
	return LIVE_CLOSE;
}

enum live_outcome
viewer_serve(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held)
{
	enum live_outcome outcome;

	assert(viewers_are_mine(v->viewers));
	v->has_new_stream = v->has_new_end = v->has_checked = false;
	outcome = serve(v, q, how, reply, held);
	if (outcome == LIVE_REPLY)
		v->last_reply_ns = clock_now_ns();
	return outcome;
}
