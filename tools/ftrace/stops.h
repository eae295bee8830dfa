/* SPDX-License-Identifier: MIT */
/* What ends a command that serves: SIGTERM and SIGINT. SIGPIPE does not. */
#ifndef TOOLS_FTRACE_STOPS_H
#define TOOLS_FTRACE_STOPS_H

#include <event2/event.h>

#include "common/compiler.h"
#include "common/status.h"

#define STOPS_N 2

/* All zero: nothing is caught. */
struct stops {
	struct event *events[STOPS_N];
};

/* A signal calls STOP with its number and ARG in BASE's loop; if STOP is NULL,
 * the loop ends. E_NOMEM: call stops_remove() all the same. */
enum status stops_add(struct stops *s, struct event_base *base,
    event_callback_fn stop, void *arg) MUST_CHECK;
/* Before BASE goes. */
void stops_remove(struct stops *s);

#endif
