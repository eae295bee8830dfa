/* SPDX-License-Identifier: MIT */
/* tracepulse events */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/event.h"

/* A relay that restarts answers after this time (RestartSec=2s). */
#define AGAIN_AFTER_S 2

struct follower {
	struct ctl *c;
	struct event_stream stream;
	uint64_t n;    /* events shown */
	bool is_there; /* the relay has begun to answer */
	bool is_wrong;
};

static bool
show_event(const struct event_stream *e, const char *data, void *arg)
{
	struct follower *f = arg;
	struct json_answer a = { 0 };
	json_error_t why;
	json_t *j = json_loads(data, JSON_REJECT_DUPLICATES, &why);

	if (!json_is_object(j)) {
		json_decref(j);
		f->is_wrong = true;
		return false;
	}
	if (f->c->options.json) {
		(void)json_object_set_new(j, "event", json_string(e->kind));
		(void)json_dumpf(j, stdout,
		    JSON_COMPACT |
			(f->c->terminal.is_terminal ? JSON_ENSURE_ASCII : 0));
		putc('\n', stdout);
	} else {
		event_print(
		    &f->c->terminal, &a, e->kind, j, EVENT_OF_ANY_SESSION);
	}
	json_decref(j);
	f->n++;
	/* Readers of a pipe want it now. */
	return fflush(stdout) == 0 &&
	       (f->c->options.count == 0 || f->n < f->c->options.count);
}

static bool
take_bytes(const char *p, size_t n, void *arg)
{
	struct follower *f = arg;

	f->is_there = true;
	return event_stream_take(&f->stream, p, n, show_event, f);
}

/* Follow until the end; CTL_OK: all requested events were shown. */
static int
follow(struct follower *f)
{
	struct ctl *c = f->c;
	char path[64], id[EVENT_ID_MAX];
	enum status st;

	for (;;) {
		snprintf(path, sizeof(path), "/api/v1/events?recent=%" PRIu64,
		    f->stream.id[0] == '\0' ? c->options.recent : 0);
		st = fetch_stream(c->fetch, path, f->stream.id, take_bytes, f);
		if (f->is_wrong || f->stream.is_bad)
			return ctl_fail("invalid event from the relay");
		if (st == E_LATER)
			return CTL_OK;
		/* Do not retry after a wrong request, or if no relay ever
		 * answered. */
		if (!f->is_there || (st != OK && st != E_IO))
			return ctl_fail_fetch(c);
		fprintf(stderr, "tracepulse: lost the connection to the relay; "
				"trying again\n");
		/* Only the id of the last event stays. */
		memcpy(id, f->stream.id, sizeof(id));
		event_stream_free(&f->stream);
		memcpy(f->stream.id, id, sizeof(id));
		sleep(AGAIN_AFTER_S);
	}
}

int
command_events(struct ctl *c)
{
	struct follower f = { .c = c };
	int status = follow(&f);

	event_stream_free(&f.stream);
	return status;
}
