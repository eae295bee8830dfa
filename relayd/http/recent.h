/* SPDX-License-Identifier: MIT */
/* The last events, and the sessions that ended last. */
#ifndef RELAYD_HTTP_RECENT_H
#define RELAYD_HTTP_RECENT_H

#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "relayd/stats/info.h"

/*
 * The last events, as they are sent to listeners: server-sent events (HTML,
 * 9.2). An id is "START.N": when the relay started, in nanoseconds since the
 * epoch, so that no two starts have the same, and a number that counts from 1.
 */
#define EVENTS_MAX 1000

struct event_line {
	uint64_t number, session; /* session: its id, 0: of none */
	char *data;		  /* one line of JSON */
	char kind[24];
};

struct events {
	struct event_line *ring; /* of EVENTS_MAX */
	uint64_t start, last;	 /* the number of the newest event */
	unsigned n;
};

enum status events_init(struct events *e, uint64_t start) MUST_CHECK;
void events_free(struct events *e);
/* TAKE_DATA was allocated with malloc. Returns the event. */
const struct event_line *events_add(
    struct events *e, const char *kind, uint64_t session, char *take_data);
/* The event with this number; NULL: it is forgotten, or has not happened. */
const struct event_line *events_get(const struct events *e, uint64_t number);

/* Write L as it is sent. */
void events_write(
    struct buf *b, const struct events *e, const struct event_line *l);
/* The event number to resume after, given LAST_ID (NULL: only new events). If
 * that was before this start of the relay, or too long ago: the oldest that is
 * remembered. */
uint64_t events_resume(const struct events *e, const char *last_id);

/* The sessions that ended last, oldest first. */

/* How many are remembered: 1 MiB at most with long names. */
#define CLOSED_MAX 1000

struct closed {
	struct session_info *ring; /* of CLOSED_MAX */
	uint64_t total;		   /* that ended */
};

/* How many of them are remembered. */
static inline unsigned
closed_count(const struct closed *c)
{
	return c->total < CLOSED_MAX ? (unsigned)c->total : CLOSED_MAX;
}

enum status closed_init(struct closed *c) MUST_CHECK;
void closed_free(struct closed *c);
/* Takes over the strings of TAKE_S. */
void closed_add(struct closed *c, const struct session_info *take_s);
/* The I-th, counted from the oldest. */
const struct session_info *closed_at(const struct closed *c, unsigned i);
const struct session_info *closed_find(const struct closed *c, uint64_t id);

/* A restart (common/state.h): the ids go on, and what has an id is still there.
 * get: both are as they were initialized. E_MALFORMED, E_NOMEM. */
struct state_in;
struct state_out;
void recent_put_state(
    struct state_out *o, const struct events *e, const struct closed *c);
enum status recent_get_state(
    struct events *e, struct closed *c, struct state_in *in) MUST_CHECK;

#endif
