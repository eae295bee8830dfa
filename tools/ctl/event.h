/* SPDX-License-Identifier: MIT */
/* Events of the relay: read from a stream of server-sent events, and shown. */
#ifndef TOOLS_CTL_EVENT_H
#define TOOLS_CTL_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "tools/ctl/answer.h"
#include "tools/ctl/terminal.h"

/* An event with names of 4 KiB is smaller than 16 KiB: a stream with longer
 * ones is not that of a relay. */
#define EVENT_BYTES_MAX (64u << 10)
#define EVENT_ID_MAX 64
#define EVENT_KIND_MAX 64

/* The state of a stream; all zeros at its beginning. */
struct event_stream {
	struct buf line;
	struct buf data; /* of the event, as far as it has arrived */
	char kind[EVENT_KIND_MAX];
	char id[EVENT_ID_MAX]; /* of the last event that had one */
	bool is_bad;	       /* too long, or no memory */
};

/* Takes an event; false ends the stream. DATA ends with a NUL. */
typedef bool event_fn(
    const struct event_stream *e, const char *data, void *arg);

/* Take the next N bytes of the stream. False: TAKE returned false, or
 * E->is_bad. */
bool event_stream_take(
    struct event_stream *e, const char *p, size_t n, event_fn *take, void *arg);
void event_stream_free(struct event_stream *e);

enum event_place { EVENT_OF_ANY_SESSION, EVENT_OF_ONE_SESSION };

/* Print one line. Unknown members are shown as they are. */
void event_print(const struct terminal *t, struct json_answer *a,
    const char *kind, const json_t *j, enum event_place place);

#endif
