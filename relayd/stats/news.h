/* SPDX-License-Identifier: MIT */
/*
 * What happens in the relay, told to the one who listens: the HTTP thread,
 * which shows it as events. Without a listener nothing is done. Any thread may
 * tell.
 */
#ifndef RELAYD_STATS_NEWS_H
#define RELAYD_STATS_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayd/stats/info.h"

/* The lost packets of a session are told at most so often. What is not told
 * then is told with the next loss, and with the end of the session. */
#define NEWS_LOSS_NS (1 * NS_PER_S)

enum news_kind {
	NEWS_SESSION_BEGAN,
	NEWS_SESSION_ENDED,
	NEWS_SESSION_ROTATED, /* a trace chunk was closed, to be archived */
	NEWS_PACKETS_LOST,    /* n, cause */
	NEWS_VIEWER_CAME,     /* viewer */
	NEWS_VIEWER_WENT,     /* viewer */
	/* A session, chunk or snapshot; session has its names, path and
	 * written_bytes only; reason. */
	NEWS_DELETED,
};

struct news {
	enum news_kind kind;
	const struct session_info *session; /* borrowed */
	const char *viewer;		    /* its address; borrowed */
	const char *reason;		    /* constant */
	enum loss cause;
	uint64_t n;
};

/* Before threads start, and after they ended; NULL: nobody listens. TELL copies
 * what it keeps; it runs on the thread that tells. */
void news_listen(void (*tell)(const struct news *n, void *arg), void *arg);
bool news_has_listener(void);
void news_tell(const struct news *n);

#endif
