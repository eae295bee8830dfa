/* SPDX-License-Identifier: MIT */
/*
 * The thread that deletes what is finished (relayd/retention/). Workers tell it
 * of directories, HTTP asks it; nobody waits for it. Main thread, but for the
 * door and the loop's inbox.
 */
#ifndef RELAYD_RETENTION_THREAD_H
#define RELAYD_RETENTION_THREAD_H

#include "common/compiler.h"
#include "common/status.h"

struct dir_registry;
struct loop;
struct options;
struct retention_thread;
struct stored_door;

/* O is borrowed for the call, its paths of directories for ever.
 * E_NOMEM. */
enum status retention_thread_create(struct retention_thread **out,
    struct dir_registry *registry, const struct options *o) MUST_CHECK;
/* It looks at the disk from here on. E_NOMEM. */
enum status retention_thread_start(struct retention_thread *t) MUST_CHECK;
/* When workers are gone, and HTTP asks no more. NULL is fine. */
void retention_thread_stop(struct retention_thread *t);

/* What workers tell, for struct store_config. */
struct stored_door *retention_thread_door(struct retention_thread *t);
/* For questions: MESSAGE_STORED_INFO. */
struct loop *retention_thread_loop(struct retention_thread *t);
/* The limits of O count from now on; for reload_tell(). */
void retention_thread_reload(const struct options *o, void *thread);

#endif
