/* SPDX-License-Identifier: MIT */
/*
 * The last events, as they are sent to listeners: server-sent events (HTML,
 * 9.2). An id is "START.N": when the relay started, in nanoseconds since the
 * epoch, so that no two starts have the same, and a number that counts from 1.
 */
#ifndef RELAYD_HTTP_EVENTS_H
#define RELAYD_HTTP_EVENTS_H

#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"

#define EVENTS_MAX 1000

struct event_line {
	uint64_t number, session; /* session: its id, 0: of none */
	char *data;		  /* one line of JSON */
	const char *kind;	  /* constant */
};

struct events {
	struct event_line *ring; /* of EVENTS_MAX */
	uint64_t start, last;	 /* the last number given */
	unsigned n;
};

enum status events_init(struct events *e, uint64_t start) MUST_CHECK;
void events_free(struct events *e);
/* KIND is constant; TAKE_DATA was allocated with malloc. Returns the event. */
const struct event_line *events_add(
    struct events *e, const char *kind, uint64_t session, char *take_data);
/* The event that has this number; NULL: it is forgotten, or did not happen. */
const struct event_line *events_get(const struct events *e, uint64_t number);

/* As it is sent. */
void events_write(
    struct buf *b, const struct events *e, const struct event_line *l);
/* The number behind which one goes on who had LAST_ID (NULL: nothing; he gets
 * what comes). After another start of the relay, or too long ago: with the
 * oldest that is here. */
uint64_t events_resume(const struct events *e, const char *last_id);

#endif
