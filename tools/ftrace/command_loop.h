/* SPDX-License-Identifier: MIT */
/*
 * The libevent loop of a command, the signals that end it, and threads for jobs
 * that wait for a disk or a name server. A job is handed to a thread and comes
 * back through a pipe. A limited number of threads run; further jobs wait in
 * order. All functions belong to the loop's thread.
 */
#ifndef TOOLS_FTRACE_COMMAND_LOOP_H
#define TOOLS_FTRACE_COMMAND_LOOP_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"

/* How long running jobs may continue at the end. */
#define BACKGROUND_END_MS 500
/* Host names that a process looks up at a time. */
#define COMMAND_LOOP_LOOKUPS 8
/* SIGINT and SIGTERM. */
#define COMMAND_LOOP_SIGNALS 2

struct background;

/* Embedded in the data of the job, which its owner keeps until DONE. */
struct background_job {
	struct list node;
	void (*work)(struct background_job *job); /* in a thread */
	void (*done)(struct background_job *job); /* in the loop's thread */
	struct background *of;
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

struct command_loop {
	struct event_base *base;
	struct background *names; /* looks up host names */
	struct event *signals[COMMAND_LOOP_SIGNALS];
};

/* On failure, which is logged, command_loop_destroy() is required, too. */
enum status command_loop_create(struct command_loop *l) MUST_CHECK;
/* SIGINT and SIGTERM call STOP with their number and ARG, or end the loop if
 * STOP is NULL. SIGPIPE is ignored. */
enum status command_loop_catch_signals(
    struct command_loop *l, event_callback_fn stop, void *arg) MUST_CHECK;
/* Call it when all that uses the loop is destroyed. A zeroed struct is fine. */
void command_loop_destroy(struct command_loop *l);

/* Calls FN for the events WHAT of FD, or of a signal, until event_free(). NULL:
 * no memory. */
struct event *command_loop_watch(struct event_base *base, int fd, short what,
    event_callback_fn fn, void *arg) MUST_CHECK;
/* Ends the wait of TIMER in NS from now; a former end no longer counts. */
void command_loop_set_timer(struct event *timer, uint64_t ns);
struct timeval command_loop_timeval(uint64_t ns);

#endif
