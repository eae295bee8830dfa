/* SPDX-License-Identifier: MIT */
/*
 * A viewer's positions: what they cost, when they are forgotten, and the times
 * that the viewer was sent.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "store/packet_log.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"

/* A viewer that sent nothing for this long has printed everything. */
#define HAS_SLEPT_NS (80 * NS_PER_MS)
#define HOLD_AFTER 3 /* "nothing" replies in a row: the viewer polls */
/* babeltrace 1.5 prints before it asks again, and asks its streams in turn.
 * With 8 idle streams it sends 12 requests per second instead of 18, and prints
 * lines as early as before. */
#define HOLD_AFTER_BABELTRACE_1 1
#define HOLD_MAX_NS (1 * NS_PER_S)

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

void
viewer_count_ended_session(struct viewer *v)
{
	v->n_ended_sessions++;
	v->viewers->n_ended_sessions++;
	viewers_limit_sessions(v->viewers);
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

void
viewer_hide(struct viewer *v, struct position *p)
{
	struct viewer_trace *t = p->trace;
	struct list *n, *tmp;

	v->has_checked = false;
	p->state = POSITION_HIDDEN;
	if (viewer_is_complete(t)) {
		list_for_each (n, tmp, &t->positions) {
			list_del(n);
			list_append(&v->unannounced, n);
		}
		list_del(&t->node);
		list_append(&v->unannounced, &p->node);
		return;
	}
	if (list_empty(&t->node))
		list_append(&v->incomplete, &t->node);
	list_append(&t->positions, &p->node);
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
	if (list_empty(&a->positions) && a->has_ended) {
		assert(v->n_ended_sessions > 0);
		v->n_ended_sessions--;
		v->viewers->n_ended_sessions--;
	}
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
viewer_add_position(
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
	list_append(&p->attachment->positions, &p->of_attachment);
	st = join_trace(v, p);
	if (st == OK)
		st = idmap_insert(&v->by_id, s->id, p);
	if (st != OK) {
		viewer_forget(v, p);
		return st;
	}
	viewer_hide(v, p);
	*out = p;
	return OK;
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
		    "peer=%s viewer has %u ended streams to read:"
		    " it misses the rest of %s/%s, and maybe of others",
		    v->peer, v->n_ended, p->stream->path, p->stream->channel);
	v->lost += packet_log_count(p->stream->log) - p->pos;
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

bool
viewer_stream_ended(struct viewer *v, struct position *p)
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

void
viewer_note_before(const struct viewer *v, struct position *p)
{
	uint64_t last_sent = last_sent_on_host(v, p->stream->session->hostname);

	p->time_before = p->stream->time_before > last_sent
			     ? p->stream->time_before
			     : last_sent;
}

/* The smaller of both times counts: a viewer collects an index of each stream
 * before it shows any event, so the time that was sent may be later than this
 * stream's first event. */
void
viewer_set_min_begin(const struct viewer *v, struct position *p)
{
	uint64_t last_sent = last_sent_on_host(v, p->stream->session->hostname);

	p->min_begin = last_sent < p->time_before ? last_sent : p->time_before;
	if (p->min_begin != 0 &&
	    p->min_begin < UINT64_MAX - VIEWER_MIN_BEGIN_TICKS)
		p->min_begin += VIEWER_MIN_BEGIN_TICKS;
}

uint64_t
viewer_min_begin(struct position *p, uint64_t time)
{
	if (p->min_begin > time && p->min_begin - time > VIEWER_CLOCK_TICKS)
		p->min_begin = 0;
	return p->min_begin;
}

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
