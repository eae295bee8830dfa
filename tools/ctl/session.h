/* SPDX-License-Identifier: MIT */
/* Sessions, as the relay reports them. Main thread. */
#ifndef TOOLS_CTL_SESSION_H
#define TOOLS_CTL_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ctl/answer.h"
#include "tools/ctl/ctl.h"

struct relay_session {
	json_t *json; /* borrowed from the answer, like all strings */
	uint64_t id;
	const char *host, *name, *state, *why, *why_text, *path, *peer,
	    *transport;
	bool is_active, is_snapshot;
	uint64_t live_timer_us; /* 0: not live */
	uint64_t began;		/* seconds since the epoch */
	double duration;	/* seconds */
	uint64_t streams, viewers;
	uint64_t received_bytes, received_packets, written_bytes, sent_bytes;
	uint64_t held_bytes, lost_packets;
	double
	    rate; /* bytes/s since the last update of top; below 0: not known */
};

struct sessions {
	json_t *answer;		   /* all pages in one */
	struct relay_session *all; /* by id */
	size_t n;
	bool has_more; /* the relay has more */
};

/* Read one session of an answer. */
void session_read(struct relay_session *s, struct json_answer *a, json_t *j);

/* STATE: "active", "closed"; NULL: both. HOST: NULL: any. Fails as
 * fetch_json() does, with fetch_error(). */
enum status sessions_load(struct ctl *c, const char *state, const char *host,
    struct sessions *out) MUST_CHECK;
void sessions_free(struct sessions *s);

/*
 * Find the session that TEXT names: by number, name, or HOST/NAME. Of several,
 * the one that is still open. *OUT points into S. False: a message was printed.
 */
bool session_find(const struct ctl *c, const struct sessions *s,
    const char *text, const struct relay_session **out) MUST_CHECK;

/* "live", "snapshot", or "disk". */
const char *session_kind(const struct relay_session *s);

/* Does TEXT name this session? */
bool session_is_called(const struct relay_session *s, const char *text);

#endif
