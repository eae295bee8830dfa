/* SPDX-License-Identifier: MIT */
/*
 * Work that waits, for a disk or for a name server, in threads beside the loop:
 * each job is handed over to a thread, and comes back through a pipe. At most
 * so many threads work at a time; jobs that come meanwhile wait in order. All
 * functions belong to the loop's thread.
 */
#ifndef TOOLS_FTRACE_LOOP_H
#define TOOLS_FTRACE_LOOP_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"

/* What a name server has at the end. */
#define BACKGROUND_END_MS 500

struct event_base;
struct background;

/* Part of whatever the work is about; who makes it keeps it until DONE. */
struct background_job {
	struct list node;
	void (*work)(struct background_job *job); /* in a thread */
	void (*done)(struct background_job *job); /* in the loop's */
};

enum status background_create(struct background **out, struct event_base *base,
    unsigned threads) MUST_CHECK;
/* At the end of the process. Jobs that wait come back undone; those at work
 * have BACKGROUND_END_MS, then they are left to themselves. NULL is fine. */
void background_destroy(struct background *b);
void background_add(struct background *b, struct background_job *job);
/* A job that waits will not be done, and DONE is not called. False: it is at
 * work, or has been done, and DONE will be called. */
bool background_cancel(struct background_job *job);

/* What ends a command that serves: SIGTERM and SIGINT. SIGPIPE does not. */

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
