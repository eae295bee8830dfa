/* SPDX-License-Identifier: MIT */
/*
 * Jobs that wait for a disk or a name server, run by threads beside the loop. A
 * job is handed to a thread and comes back through a pipe. A limited number of
 * threads run; further jobs wait in order. All functions belong to the loop's
 * thread.
 */
#ifndef TOOLS_FTRACE_LOOP_H
#define TOOLS_FTRACE_LOOP_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"

/* How long running jobs may continue at the end. */
#define BACKGROUND_END_MS 500

struct event_base;
struct background;

/* Embedded in the data of the job, which its owner keeps until DONE. */
struct background_job {
	struct list node;
	void (*work)(struct background_job *job); /* in a thread */
	void (*done)(struct background_job *job); /* in the loop's thread */
};

enum status background_create(struct background **out, struct event_base *base,
    unsigned threads) MUST_CHECK;
/* Call it at the end of the process. Waiting jobs come back undone; running
 * ones may continue for BACKGROUND_END_MS, then they are abandoned. NULL is
 * fine. */
void background_destroy(struct background *b);
void background_add(struct background *b, struct background_job *job);
/* Removes a waiting job; DONE will not be called. False: it runs or has run,
 * and DONE will be called. */
bool background_cancel(struct background_job *job);

/* The signals that end a command: SIGTERM and SIGINT. SIGPIPE is ignored. */

#define STOPS_N 2

/* Zeroed: no signal is caught. */
struct stops {
	struct event *events[STOPS_N];
};

/* A signal calls STOP with its number and ARG, in the loop of BASE. STOP NULL:
 * it ends the loop. On failure stops_remove() is required, too. */
enum status stops_add(struct stops *s, struct event_base *base,
    event_callback_fn stop, void *arg) MUST_CHECK;
/* Call it before BASE is freed. */
void stops_remove(struct stops *s);

#endif
