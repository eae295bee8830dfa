/* SPDX-License-Identifier: MIT */
/*
 * A viewer's streams: its positions in them, what these cost and when they are
 * forgotten; which streams are announced, and when (live 2.4, 2.5); the times
 * that it was sent.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"
#include "store/folder.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"

static void
count_memory(struct viewer *v, uint64_t more)
{
	v->memory += more;
	account_add(&v->viewers->memory, more);
	assert(v->memory <= account_used(&v->viewers->memory));
}

/* May V get another position? Logged if not, at most once a second. */
static bool
has_memory_for_position(const struct viewer *v)
{
	struct viewers *vs = v->viewers;

	if (account_may_take(&vs->memory, v->memory, VIEWER_POSITION_MEMORY))
		return true;
	if (log_ratelimit(&vs->last_memory_log, NS_PER_S))
		log_peer(LOG_WARN,
		    "peer=%s viewer is not shown all streams: all viewers "
		    "use %" PRIu64 " bytes, this one uses %" PRIu64
		    ", and their memory is short (--max-memory)",
		    v->peer, account_used(&vs->memory), v->memory);
	return false;
}

struct position *
viewer_position(const struct viewer *v, uint64_t id)
{
	return idmap_find(&v->by_id, id);
}

struct attachment *
viewer_attachment(const struct viewer *v, uint64_t id)
{
	struct attachment *a;

	list_each (a, &v->attachments, struct attachment, node)
		if (a->session->id == id)
			return a;
	return NULL;
}

static enum status
join_trace(struct viewer *v, struct position *p)
{
	uint64_t id = p->stream->trace_id;
	struct viewer_trace *t = idmap_find(&v->traces, id);
	enum status st;

	if (t == NULL) {
		t = calloc(1, sizeof(*t));
		if (t == NULL)
			return E_NOMEM;
		list_init(&t->node);
		list_init(&t->positions);
		t->id = id;
		st = idmap_insert(&v->traces, id, t);
		if (st != OK) {
			free(t);
			return st;
		}
	}
	p->trace = t;
	if (p->stream->is_metadata)
		t->metadata = p;
	else if (t->n_data++ == 0)
		t->since_ns = clock_now_ns();
	return OK;
}

static void
leave_trace(struct viewer *v, struct position *p)
{
	struct viewer_trace *t = p->trace;

	if (t == NULL)
		return;
	if (list_empty(&t->positions))
		list_del(&t->node);
	if (t->metadata == p)
		t->metadata = NULL;
	if (!p->stream->is_metadata)
		t->n_data--;
	if (t->metadata != NULL || t->n_data > 0)
		return;
	idmap_remove(&v->traces, t->id);
	free(t);
}

/* P, which is in no list, is not announced yet. */
static void
hide(struct viewer *v, struct position *p)
{
	struct viewer_trace *t = p->trace;

	v->has_checked = false;
	p->state = POSITION_HIDDEN;
	if (viewer_is_complete(t)) {
		list_move_all(&v->unannounced, &t->positions);
		list_del(&t->node);
		list_append(&v->unannounced, &p->node);
		return;
	}
	if (list_empty(&t->node))
		list_append(&v->incomplete, &t->node);
	list_append(&t->positions, &p->node);
}

/* Before A gets its first position, and after it lost the last one: N is 1 or
 * -1. */
static void
count_ended_session(struct viewer *v, const struct attachment *a, unsigned n)
{
	if (!list_empty(&a->positions) || !a->has_ended)
		return;
	v->n_ended_sessions += n;
	v->viewers->n_ended_sessions += n;
}

void
viewer_forget(struct viewer *v, struct position *p)
{
	struct attachment *a = p->attachment;

	count_memory(v, -(uint64_t)VIEWER_POSITION_MEMORY);
	if (p->is_ended) {
		assert(v->n_ended > 0);
		v->n_ended--;
		count_memory(v, -(uint64_t)VIEWER_ENDED_MEMORY);
	}
	list_del(&p->of_attachment);
	count_ended_session(v, a, -1u);
	v->has_checked = false;
	list_del(&p->node);
	leave_trace(v, p);
	idmap_remove(&v->by_id, p->stream->id);
	open_part_done(&p->part);
	open_file_put(p->file);
	live_put(p->stream);
	free(p);
}

enum status
viewer_make_position(
    struct viewer *v, struct live_stream *s, struct position **out)
{
	struct position *p;
	enum status st;

	if (idmap_find(&v->by_id, s->id) != NULL)
		return E_EXISTS;
	if (!has_memory_for_position(v))
		return E_NOMEM;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return E_NOMEM;
	count_memory(v, VIEWER_POSITION_MEMORY);
	list_init(&p->node);
	p->stream = live_get(s);
	p->attachment = viewer_attachment(v, s->session->id);
	count_ended_session(v, p->attachment, 1);
	list_append(&p->attachment->positions, &p->of_attachment);
	st = join_trace(v, p);
	if (st == OK)
		st = idmap_insert(&v->by_id, s->id, p);
	if (st != OK) {
		viewer_forget(v, p);
		return st;
	}
	*out = p;
	return OK;
}

enum status
viewer_add_position(
    struct viewer *v, struct live_stream *s, struct position **out)
{
	const enum status st = viewer_make_position(v, s, out);

	if (st == OK)
		hide(v, *out);
	return st;
}

/* V loses the oldest ended stream that was not announced to it. False: all were
 * announced. */
static bool
lose_oldest_stream(struct viewer *v)
{
	struct position *p = NULL, *o;

	list_each (o, &v->unannounced, struct position, node) {
		if (o->is_ended) {
			p = o;
			break;
		}
	}
	if (p == NULL)
		return false;
	if (log_ratelimit(&v->viewers->last_ended_log, LOG_AGAIN_NS))
		log_peer(LOG_WARN,
		    "peer=%s viewer has %u ended streams left to read, too "
		    "many: the rest of %s/%s, and maybe of others, is not sent",
		    v->peer, v->n_ended, p->stream->path, p->stream->channel);
	v->lost += published(&p->stream->log->count) - p->pos;
	viewer_forget(v, p);
	return true;
}

/* Of the viewers that stay, the one with most ended streams, or with streams of
 * most ended sessions (BY_SESSIONS): at least FEW of them. */
static struct viewer *
with_most_ended(const struct viewers *vs, bool by_sessions, unsigned few)
{
	struct viewer *v, *found = NULL;
	unsigned n;

	list_each (v, &vs->all, struct viewer, node) {
		n = by_sessions ? v->n_ended_sessions : v->n_ended;
		if (v->is_to_be_closed || n < few)
			continue;
		few = n + 1;
		found = v;
	}
	return found;
}

/* P's stream is closed. True: streams of this viewer or another were dropped
 * because there are too many. */
static bool
count_ended(struct viewer *v, struct position *p)
{
	struct viewers *vs = v->viewers;
	struct viewer *most;

	p->is_ended = true;
	v->n_ended++;
	count_memory(v, VIEWER_ENDED_MEMORY);
	if (v->n_ended <= vs->max_ended && !account_is_exhausted(&vs->memory))
		return false;
	while (v->n_ended > vs->max_ended && lose_oldest_stream(v))
		;
	if (v->n_ended > VIEWER_ENDED_TOLD * vs->max_ended)
		v->is_to_be_closed = vs->has_to_be_closed = true;
	/* Closed streams need memory that no viewer asked for: the viewer with
	 * most of them loses the oldest, or is closed if all were announced. */
	while (account_is_exhausted(&vs->memory) && !vs->has_to_be_closed &&
	       (most = with_most_ended(vs, false, 1)) != NULL)
		if (!lose_oldest_stream(most))
			most->is_to_be_closed = vs->has_to_be_closed = true;
	return true;
}

void
viewers_limit_sessions(struct viewers *vs)
{
	struct viewer *most;

	if (vs->n_ended_sessions <= vs->max_ended_sessions ||
	    vs->has_to_be_closed)
		return;
	most = with_most_ended(vs, true, VIEWER_SESSIONS_LEFT_FEW);
	if (most != NULL)
		most->is_to_be_closed = vs->has_to_be_closed = true;
}

bool
viewer_is_same_host(const struct position *a, const struct position *b)
{
	return a->attachment == b->attachment ||
	       strcmp(a->stream->session->hostname,
		   b->stream->session->hostname) == 0;
}

static uint64_t
last_sent_on_host(const struct viewer *v, const char *hostname)
{
	const struct attachment *a;
	uint64_t last_sent = 0;

	/* One host has one clock. */
	list_each (a, &v->attachments, struct attachment, node) {
		if (a->last_sent > last_sent &&
		    strcmp(a->session->hostname, hostname) == 0)
			last_sent = a->last_sent;
	}
	return last_sent;
}

void
viewer_note_sent(struct position *p, uint64_t time)
{
	if (time > p->last_sent)
		p->last_sent = time;
	if (time > p->attachment->last_sent)
		p->attachment->last_sent = time;
}

uint64_t
viewer_min_begin(struct position *p, uint64_t time)
{
	if (p->min_begin > time && p->min_begin - time > VIEWER_CLOCK_TICKS)
		p->min_begin = 0;
	return p->min_begin;
}

/* How long a trace of SESSION may be hidden because it lacks data. */
static uint64_t
class_ns(const struct viewer *v, const struct live_session *session)
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

/*
 * When a trace is announced. Data and metadata streams are announced together,
 * or not at all (live 6, P1). A viewer shows nothing while it knows a trace
 * without metadata, or a stream without a packet or beacon. Where processes
 * start all the time, there would always be such a stream. So new traces are
 * hidden until their metadata declares a stream class and all their streams
 * have data. Until then the viewer is sent older packets of other traces.
 *
 * A trace of metadata alone is hidden until it has a data stream, if it ever
 * gets one. babeltrace2 2.0 that has read such metadata asks for new streams
 * without a pause, and for nothing else, from the first data stream on (live
 * 4.1).
 */

static bool
has_data(struct position *p)
{
	const struct packet_log *log = p->stream->log;
	struct log_view view;

	if (!p->has_data)
		p->has_data =
		    p->stream->is_metadata
			? published(&p->stream->metadata->classes) != 0 ||
			      published(&p->stream->metadata->is_ended) != 0
			: packet_log_look(log, published(&log->start), &view) !=
			      LOG_RETRY;
	return p->has_data;
}

/* Decide which positions may be announced now. A trace that was ready becomes
 * hidden again when it gets a new stream without data. */
static void
find_ready(struct viewer *v)
{
	const uint64_t now_ns = clock_now_ns();
	const struct viewer_trace *t;
	struct position *p;
	bool is_ready;

	v->has_ready = false;
	list_each (p, &v->unannounced, struct position, node)
		p->trace->lacks_data = false;
	list_each (p, &v->unannounced, struct position, node)
		p->trace->lacks_data |= !has_data(p);
	list_each (p, &v->unannounced, struct position, node) {
		t = p->trace;
		assert(p->state != POSITION_ANNOUNCED);
		is_ready = viewer_is_complete(t) &&
			   (t->is_listed || !t->lacks_data ||
			       now_ns - t->since_ns >=
				   class_ns(v, p->stream->session));
		p->state = is_ready ? POSITION_READY : POSITION_HIDDEN;
		v->has_ready |= is_ready;
	}
}

/* The log of a closed stream does not show that its chunk was cleared. */
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

/* Does an unannounced data stream have nothing to read, now and later? Its
 * process was short and was cleared, or traced nothing. A viewer would ask for
 * its metadata without success. */
static bool
is_spent(const struct position *p)
{
	const struct packet_log *log = p->stream->log;
	struct log_view view;
	uint64_t start, pos;

	if (p->stream->is_metadata)
		return false;
	start = published(&log->start);
	pos = p->pos > start ? p->pos : start;
	switch (packet_log_look(log, pos, &view)) {
	case LOG_END:
		return true;
	case LOG_PACKET:
		return published(&log->is_ended) != 0 && is_cleared(log, pos);
	default:
		return false;
	}
}

/* Forget the metadata of traces whose last data stream was forgotten, unless
 * they may get another one. */
static void
forget_spent_metadata(struct viewer *v)
{
	struct position *p, *next;

	list_each_safe (p, next, &v->unannounced, struct position, node) {
		if (!p->stream->is_metadata || p->trace->n_data > 0)
			continue;
		if (published(&p->stream->metadata->is_ended) != 0) {
			viewer_forget(v, p);
		} else {
			list_del(&p->node);
			hide(v, p);
		}
	}
}

static void
forget_spent(struct viewer *v)
{
	struct position *p, *next;

	list_each_safe (p, next, &v->unannounced, struct position, node)
		if (is_spent(p))
			viewer_forget(v, p);
	forget_spent_metadata(v);
}

/* Find out which positions are ready, once in each request: there may be
 * many. */
static void
check_once(struct viewer *v)
{
	if (v->has_checked)
		return;
	forget_spent(v);
	find_ready(v);
	v->has_checked = true;
}

/* Is the stream hidden for a limited time? Call check_once() first. */
static bool
is_waiting(const struct position *p)
{
	return p->state == POSITION_HIDDEN && viewer_is_complete(p->trace);
}

uint64_t
viewer_waits_until(
    struct viewer *v, const struct position *beside, uint64_t *safe)
{
	const struct position *p;
	uint64_t until, last = 0;

	check_once(v);
	*safe = UINT64_MAX;
	list_each (p, &v->unannounced, struct position, node) {
		if (!is_waiting(p) ||
		    (beside != NULL && !viewer_is_same_host(p, beside)))
			continue;
		until = p->trace->since_ns + class_ns(v, p->stream->session);
		if (until > last)
			last = until;
		if (p->time_before < *safe)
			*safe = p->time_before;
	}
	return last;
}

uint64_t
viewer_knows_until(const struct viewer *v, const struct position *beside)
{
	uint64_t before = UINT64_MAX;
	const struct position *p;

	list_each (p, &v->unannounced, struct position, node) {
		if (viewer_is_complete(p->trace) && p->time_before < before &&
		    viewer_is_same_host(p, beside))
			before = p->time_before;
	}
	return before;
}

void
viewer_wait_for_hidden(struct viewer *v)
{
	const uint64_t bit = v->viewers->wake_bit;
	const struct position *p;

	check_once(v);
	list_each (p, &v->unannounced, struct position, node) {
		if (p->has_data || !is_waiting(p))
			continue;
		if (p->stream->is_metadata)
			waiters_add(&p->stream->metadata->waiters, bit);
		else
			waiters_add(&p->stream->log->waiters, bit);
	}
	v->has_checked = false;
}

void
viewer_hold_for_hidden(struct viewer *v, struct live_held *held)
{
	uint64_t safe, until = viewer_waits_until(v, NULL, &safe);

	if (until == 0)
		return;
	held->is_any = true;
	/* At that time the streams are announced without data. */
	if (until < held->until_ns)
		held->until_ns = until;
}

bool
viewer_has_ready(struct viewer *v)
{
	check_once(v);
	return v->has_ready;
}

/* The smaller of both times counts: a viewer collects an index of each stream
 * before it shows any event, so the time that was sent may be later than this
 * stream's first event. */
static void
set_min_begin(const struct viewer *v, struct position *p)
{
	uint64_t last_sent = last_sent_on_host(v, p->stream->session->hostname);

	p->min_begin = last_sent < p->time_before ? last_sent : p->time_before;
	if (p->min_begin != 0 &&
	    p->min_begin < UINT64_MAX - VIEWER_MIN_BEGIN_TICKS)
		p->min_begin += VIEWER_MIN_BEGIN_TICKS;
}

void
viewer_announce(
    struct viewer *v, const struct live_session *s, struct live_reply *reply)
{
	struct live_list *out = &reply->list;
	struct position *p, *next;
	uint32_t count = 0;

	check_once(v);
	list_each (p, &v->unannounced, struct position, node)
		count += p->stream->session == s && p->state == POSITION_READY;
	if (live_list_make(out, count, 0) != OK) {
		reply->out->bad = true;
		return;
	}
	list_each_safe (p, next, &v->unannounced, struct position, node) {
		if (p->stream->session != s || p->state != POSITION_READY)
			continue;
		live_list_add(out, p->stream);
		p->state = POSITION_ANNOUNCED;
		list_del(&p->node);
		list_append(&v->announced, &p->node);
		set_min_begin(v, p);
	}
	assert(out->n == count);
	v->has_checked = false;
}

/* Has V announced data streams, of S or (NULL) of any session? */
static bool
has_data_stream(const struct viewer *v, const struct live_session *s)
{
	const struct position *p;

	list_each (p, &v->announced, struct position, node) {
		if ((s == NULL || p->stream->session == s) &&
		    !p->stream->is_metadata)
			return true;
	}
	return false;
}

void
viewer_stream_published(struct viewer *v, struct live_stream *s)
{
	struct position *p;
	uint64_t last_sent;

	if (viewer_attachment(v, s->session->id) == NULL)
		return;
	switch (viewer_add_position(v, s, &p)) {
	case OK:
		break;
	case E_EXISTS:
		return; /* it was made when the viewer attached */
	default:
		log_peer(LOG_ERROR,
		    "peer=%s out of memory: the viewer will not see "
		    "stream %s/%s",
		    v->peer, s->path, s->channel);
		return;
	}
	/* A stream that appears after ATTACH is read from its beginning. */
	if (!s->is_metadata)
		p->pos = published(&s->log->start);
	last_sent = last_sent_on_host(v, s->session->hostname);
	p->time_before = s->time_before > last_sent ? s->time_before
						    : last_sent;
	v->has_had_empty_ok = false;
	v->has_new_stream = true;
}

void
viewer_session_ended(struct viewer *v, const struct live_session *s)
{
	struct attachment *a = viewer_attachment(v, s->id);

	if (a == NULL)
		return;
	a->has_ended = true;
	v->has_new_end = true;
	if (list_empty(&a->positions))
		return;
	v->n_ended_sessions++;
	v->viewers->n_ended_sessions++;
	viewers_limit_sessions(v->viewers);
}

/* Forget the metadata position P when the last data stream of its trace has
 * been read, or there is none, and the trace is over. */
static void
forget_metadata(struct viewer *v, struct position *p)
{
	if (p != NULL && p->trace->n_data == 0 &&
	    published(&p->stream->metadata->is_ended) != 0)
		viewer_forget(v, p);
}

void
viewer_stream_closed(struct viewer *v, const struct live_stream *s)
{
	struct position *p = viewer_position(v, s->id);

	if (p == NULL || p->is_ended)
		return;
	if (s->is_metadata && p->trace->n_data > 0)
		forget_spent(v);
	if (s->is_metadata) {
		forget_metadata(v, viewer_position(v, s->id));
		return;
	}
	/* The viewer attached after the metadata stream was closed: this stream
	 * will never be announced. */
	if (p->state != POSITION_ANNOUNCED && p->trace->metadata == NULL) {
		viewer_forget(v, p);
		return;
	}
	if (count_ended(v, p))
		forget_spent_metadata(v);
}

void
viewer_hang_up(struct viewer *v, struct position *p)
{
	struct position *metadata = p->trace->metadata;

	viewer_forget(v, p);
	forget_metadata(v, metadata);
}

enum live_outcome
viewer_reply_streams(struct live_reply *reply, uint32_t status)
{
	live_reply_u32(reply->out, status);
	live_reply_u32(reply->out, reply->list.n);
	return LIVE_REPLY;
}

enum live_outcome
viewer_new_streams(struct viewer *v, uint64_t id, const struct live_how *how,
    struct live_reply *reply, struct live_held *held)
{
	struct attachment *a = viewer_attachment(v, id);
	uint32_t count;

	if (a == NULL) {
		viewer_count(v, true);
		return viewer_reply_streams(reply, LIVE_STREAMS_ERR);
	}
	viewer_announce(v, a->session, reply);
	count = reply->list.n;
	v->has_been_flagged = v->has_had_empty_ok = false;
	if (count == 0 && a->has_ended && !has_data_stream(v, a->session)) {
		viewer_count(v, true);
		return viewer_reply_streams(reply, LIVE_STREAMS_HUP);
	}
	/* Hold only a viewer without data streams: others ask for an index
	 * next. */
	if (count == 0 && !has_data_stream(v, NULL) &&
	    viewer_may_hold(v, how, a->session, NULL, held)) {
		viewer_wait_for_hidden(v);
		viewer_hold_for_hidden(v, held);
		if (!viewer_has_ready(v))
			return LIVE_HOLD;
		viewer_announce(v, a->session, reply);
		count = reply->list.n;
	}
	if (count > 0 || !has_data_stream(v, NULL))
		viewer_count(v, count > 0);
	return viewer_reply_streams(reply, LIVE_STREAMS_OK);
}
