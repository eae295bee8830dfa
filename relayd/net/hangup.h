/* SPDX-License-Identifier: MIT */
/* SIGHUP as an event of a loop. */
#ifndef RELAYD_NET_HANGUP_H
#define RELAYD_NET_HANGUP_H

#include "common/compiler.h"
#include "common/status.h"

struct event_base;
struct hangup;

/* CALL in the thread of BASE, for each SIGHUP from here on (some that come
 * together may be one). E_NOMEM, and nothing is logged. */
enum status hangup_create(struct hangup **out, struct event_base *base,
    void (*call)(void *arg), void *arg) MUST_CHECK;
/* The signal has the disposition from before. NULL is fine. */
void hangup_destroy(struct hangup *h);

#endif
