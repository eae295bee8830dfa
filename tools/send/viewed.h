/* SPDX-License-Identifier: MIT */
/*
 * One session of a relay, as a viewer sees it (live 1 and 2), sent on to a
 * sink. The user's session may be several sessions of the relay, one for each
 * of its domains (live 2.1): these are its parts, and the sink has one session
 * of them all.
 */
#ifndef TOOLS_SEND_VIEWED_H
#define TOOLS_SEND_VIEWED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/status.h"
#include "tools/client/url.h"
#include "tools/sink/sink.h"

/* Kernel, and user space of 64 and 32 bits; and as many of another user's
 * session with the same name, until they are declined. */
#define VIEWED_PARTS_MAX 8

/* How long to wait when no stream has anything new. At first the shortest
 * time, then twice as long each time. A stream that is used has something new
 * once in a period of the live timer. */
#define VIEWED_PAUSE_MIN_MS 10
#define VIEWED_PAUSE_MAX_MS 200
/* How often to ask for new streams: lttng-relayd 2.13 mentions them only when
 * another stream has a packet (live 2.6), and never those that have ended. */
#define VIEWED_STREAMS_MS 200
/* Packets of one stream before the next stream has its turn. */
#define VIEWED_PACKETS 16

struct viewed_config {
	const struct url *url; /* of the relay, for viewers */
	const char *hostname, *name;
	uint32_t live_timer_us;
	struct send_sink *sink;
	bool (*goes_on)(void *arg);
	void *arg;
};

struct viewed_totals {
	struct send_stats sent;
	uint64_t streams;
	uint64_t missing; /* packets that were gone before they could be read */
	uint64_t had;	  /* packets that the sink had already */
	bool is_open;	  /* the sink had the session */
	unsigned parts;	  /* that were taken, of the ids */
};

/* What the thread of a session and the one that started it share. */
struct viewed_parts {
	/* Ids of the relay's sessions; the first N are set, and N grows. */
	uint64_t ids[VIEWED_PARTS_MAX];
	struct published n;
	/* A bit for each part that belongs to another session with the same
	 * name. */
	struct published declined;
};

/*
 * Send the session until it has ended (OK) or goes_on() returns false
 * (E_STOPPED; what was taken is sent, if that needs no more than a second).
 * Otherwise WHY is one line. TOTALS is complete in any case.
 */
enum status viewed_run(const struct viewed_config *config,
    struct viewed_parts *parts, struct viewed_totals *totals,
    char why[SEND_ERROR_MAX]) MUST_CHECK;

#endif
