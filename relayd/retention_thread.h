/* SPDX-License-Identifier: MIT */
/*
 * The thread that deletes finished traces (relayd/retention/). Workers notify
 * it of directories and HTTP asks it for lists; neither waits. Main thread,
 * except for the notifier and the inbox of the loop.
 */
#ifndef RELAYD_RETENTION_THREAD_H
#define RELAYD_RETENTION_THREAD_H

#include "common/compiler.h"
#include "common/status.h"

struct dir_registry;
struct loop;
struct options;
struct retention_thread;
struct stored_notifier;

/* O is borrowed for the call, its paths until the thread ends. E_NOMEM. */
enum status retention_thread_create(struct retention_thread **out,
    struct dir_registry *registry, const struct options *o) MUST_CHECK;
/* Begins to read the disk. E_NOMEM. */
enum status retention_thread_start(struct retention_thread *t) MUST_CHECK;
/* After workers and HTTP have stopped. T may be NULL. */
void retention_thread_stop(struct retention_thread *t);

/* For struct store_config. */
struct stored_notifier *retention_thread_notifier(struct retention_thread *t);
/* Takes MESSAGE_STORED_INFO. */
struct loop *retention_thread_loop(struct retention_thread *t);
/* Apply the limits of O, after a reload. */
void retention_thread_reload(const struct options *o, void *thread);

#endif
