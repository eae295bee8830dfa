/* SPDX-License-Identifier: MIT */
#include "relayd/http/recent.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/state.h"
#include "relayd/http/text.h"

enum status
events_init(struct events *e, uint64_t start)
{
	*e = (struct events){ .start = start };
	e->ring = calloc(EVENTS_MAX, sizeof(e->ring[0]));
	return e->ring == NULL ? E_NOMEM : OK;
}

void
events_free(struct events *e)
{
	for (unsigned i = 0; i < e->n; i++)
		free(e->ring[i].data);
	free(e->ring);
	*e = (struct events){ 0 };
}

const struct event_line *
events_add(
    struct events *e, const char *kind, uint64_t session, char *take_data)
{
	struct event_line *l = &e->ring[e->last % EVENTS_MAX];

	assert(e->n <= EVENTS_MAX && e->n <= e->last);
	free(l->data);
	*l = (struct event_line){
		.number = ++e->last,
		.session = session,
		.data = take_data,
	};
	snprintf(l->kind, sizeof(l->kind), "%s", kind);
	if (e->n < EVENTS_MAX)
		e->n++;
	return l;
}

const struct event_line *
events_get(const struct events *e, uint64_t number)
{
	if (number == 0 || number > e->last || e->last - number >= e->n)
		return NULL;
	return &e->ring[(number - 1) % EVENTS_MAX];
}

void
events_write(struct buf *b, const struct events *e, const struct event_line *l)
{
	text_add(b, "id: %" PRIu64 ".%" PRIu64 "\nevent: %s\ndata: %s\n\n",
	    e->start, l->number, l->kind, l->data);
}

uint64_t
events_resume(const struct events *e, const char *last_id)
{
	uint64_t start, number;

	if (last_id == NULL || *last_id == '\0')
		return e->last;
	if (sscanf(last_id, "%" SCNu64 ".%" SCNu64, &start, &number) != 2 ||
	    start != e->start || number > e->last || e->last - number > e->n)
		return e->last - e->n;
	return number;
}

enum status
closed_init(struct closed *c)
{
	*c = (struct closed){ 0 };
	c->ring = calloc(CLOSED_MAX, sizeof(c->ring[0]));
	return c->ring == NULL ? E_NOMEM : OK;
}

void
closed_free(struct closed *c)
{
	for (unsigned i = 0; i < closed_count(c); i++)
		session_info_clear(&c->ring[i]);
	free(c->ring);
	*c = (struct closed){ 0 };
}

void
closed_add(struct closed *c, const struct session_info *take_s)
{
	struct session_info *to = &c->ring[c->total % CLOSED_MAX];

	if (c->total++ >= CLOSED_MAX)
		session_info_clear(to);
	*to = *take_s;
}

const struct session_info *
closed_at(const struct closed *c, unsigned i)
{
	assert(i < closed_count(c));
	return &c->ring[(c->total - closed_count(c) + i) % CLOSED_MAX];
}

const struct session_info *
closed_find(const struct closed *c, uint64_t id)
{
	for (unsigned i = 0; i < closed_count(c); i++)
		if (closed_at(c, i)->id == id)
			return closed_at(c, i);
	return NULL;
}

static const struct state_member line_members[] = {
	STATE_DROP(struct event_line, number), /* they follow one another */
	STATE_KEEP(struct event_line, session),
	STATE_TEXT(struct event_line, data),
	STATE_BYTES(struct event_line, kind),
};
static STATE_TABLE(line_state, struct event_line, line_members);

static const struct state_member events_members[] = {
	STATE_CODE(struct events, ring),
	STATE_KEEP(struct events, start),
	STATE_CODE(struct events, last),
	STATE_CODE(struct events, n),
};
static STATE_TABLE(events_state, struct events, events_members);

static const struct state_member sums_members[] = {
	STATE_KEEP(struct sums, received_bytes),
	STATE_KEEP(struct sums, received_packets),
	STATE_KEEP(struct sums, written_bytes),
	STATE_KEEP(struct sums, written_packets),
	STATE_KEEP(struct sums, index_records),
	STATE_KEEP(struct sums, metadata_bytes),
	STATE_CODE(struct sums, lost),
};
static STATE_TABLE(sums_state, struct sums, sums_members);

static const struct state_member info_members[] = {
	STATE_KEEP(struct session_info, id),
	STATE_KEEP(struct session_info, worker),
	STATE_KEEP(struct session_info, minor),
	STATE_MOST(struct session_info, state, SESSION_CLOSED),
	STATE_MOST(struct session_info, why, WHYS - 1),
	STATE_TEXT(struct session_info, host),
	STATE_TEXT(struct session_info, name),
	STATE_TEXT(struct session_info, path),
	STATE_TEXT(struct session_info, peer),
	STATE_KEEP(struct session_info, live_timer_us),
	STATE_KEEP(struct session_info, is_snapshot),
	STATE_KEEP(struct session_info, is_udp),
	STATE_KEEP(struct session_info, began_s),
	STATE_KEEP(struct session_info, ended_s),
	STATE_KEEP(struct session_info, duration_ns),
	STATE_KEEP(struct session_info, streams),
	STATE_KEEP(struct session_info, viewers),
	STATE_KEEP(struct session_info, held_bytes),
	STATE_KEEP(struct session_info, sent_bytes),
	STATE_STRUCT(struct session_info, sums, sums_state),
};
static STATE_TABLE(info_state, struct session_info, info_members);

static const struct state_member closed_members[] = {
	STATE_CODE(struct closed, ring),
	STATE_CODE(struct closed, total),
};
static STATE_TABLE(closed_state, struct closed, closed_members);

void
recent_put_state(
    struct state_out *o, const struct events *e, const struct closed *c)
{
	const struct session_info *s;

	state_put(o, &events_state, e);
	state_put_u64(o, e->last - e->n);
	state_put_u32(o, e->n);
	for (uint64_t n = e->last - e->n; n < e->last; n++)
		state_put(o, &line_state, &e->ring[n % EVENTS_MAX]);
	state_put(o, &closed_state, c);
	state_put_u64(o, c->total - closed_count(c));
	state_put_u32(o, closed_count(c));
	for (unsigned i = 0; i < closed_count(c); i++) {
		s = closed_at(c, i);
		state_put(o, &info_state, s);
		state_put_u32(o, LOSSES);
		for (unsigned k = 0; k < LOSSES; k++)
			state_put_u64(o, s->sums.lost[k]);
	}
}

static enum status
get_line(struct events *e, struct state_in *in)
{
	struct event_line l = { 0 };
	const enum status st = state_get(in, &line_state, &l);

	l.kind[sizeof(l.kind) - 1] = '\0';
	if (st == OK && l.data != NULL) {
		(void)events_add(e, l.kind, l.session, l.data);
		return OK;
	}
	free(l.data);
	return st == OK ? E_MALFORMED : st;
}

static enum status
get_closed(struct closed *c, struct state_in *in)
{
	struct session_info s = { 0 };
	enum status st = state_get(in, &info_state, &s);

	const uint32_t n = state_get_u32(in, LOSSES);

	for (uint32_t k = 0; k < n; k++)
		s.sums.lost[k] = state_get_u64(in);
	if (st == OK && s.host != NULL && s.name != NULL && s.path != NULL &&
	    s.peer != NULL && !in->r.bad) {
		closed_add(c, &s);
		return OK;
	}
	session_info_clear(&s);
	return st == OK ? E_MALFORMED : st;
}

enum status
recent_get_state(struct events *e, struct closed *c, struct state_in *in)
{
	enum status st = state_get(in, &events_state, e);
	uint32_t n;

	e->last = state_get_u64(in);
	n = state_get_u32(in, EVENTS_MAX);
	for (uint32_t i = 0; i < n && st == OK; i++)
		st = get_line(e, in);
	if (st == OK)
		st = state_get(in, &closed_state, c);
	c->total = state_get_u64(in);
	n = state_get_u32(in, CLOSED_MAX);
	if (c->total > 0 && n < CLOSED_MAX)
		st = E_MALFORMED;
	for (uint32_t i = 0; i < n && st == OK; i++)
		st = get_closed(c, in);
	if (st == OK)
		st = state_in_status(in);
	if (st != OK) {
		for (unsigned i = 0; i < CLOSED_MAX; i++)
			session_info_clear(&c->ring[i]);
		c->total = 0;
	}
	return st;
}
