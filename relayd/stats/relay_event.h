/* SPDX-License-Identifier: MIT */
/*
 * What happens in the relay, reported to one listener: the HTTP thread, which
 * shows it as events. Without a listener nothing is done. Any thread may
 * report.
 */
#ifndef RELAYD_STATS_RELAY_EVENT_H
#define RELAYD_STATS_RELAY_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "relayd/stats/info.h"

/* How often the lost packets of a session are reported at most. The others are
 * reported with the next loss, and with the end of the session. */
#define RELAY_EVENT_LOSS_NS (1 * NS_PER_S)

enum relay_event_kind {
	RELAY_EVENT_SESSION_BEGAN,
	RELAY_EVENT_SESSION_ENDED,
	RELAY_EVENT_SESSION_ROTATED, /* a trace chunk was closed, to be archived
				      */
	RELAY_EVENT_PACKETS_LOST,    /* n, cause */
	RELAY_EVENT_VIEWER_CAME,     /* viewer */
	RELAY_EVENT_VIEWER_WENT,     /* viewer */
	/* A session, chunk or snapshot; session has its names, path and
	 * written_bytes only; reason. */
	RELAY_EVENT_DELETED,
};

struct relay_event {
	enum relay_event_kind kind;
	const struct session_info *session; /* borrowed */
	const char *viewer;		    /* its address; borrowed */
	const char *reason;		    /* constant */
	enum loss cause;
	uint64_t n;
};

/* Set the listener; NULL: none. Call it before threads start and after they
 * ended. REPORT copies what it keeps; it runs on the thread that reports. */
void relay_event_listen(
    void (*report)(const struct relay_event *e, void *arg), void *arg);
bool relay_event_has_listener(void);
void relay_event_report(const struct relay_event *e);

#endif
