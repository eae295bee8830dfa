/* SPDX-License-Identifier: MIT */
#include "relayd/http/recent.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
		.kind = kind,
	};
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
