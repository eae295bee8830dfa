/* SPDX-License-Identifier: MIT */
/*
 * The recovery at a start, in a thread of its own: whatever lies in the output
 * directory, the relay listens in time. New files are made meanwhile; they are
 * none that a journal of the past names.
 */
#ifndef STORE_RECOVERY_H
#define STORE_RECOVERY_H

#include <stdint.h>

struct recovery_thread;

/* Returns when all is recovered, or after WAIT_NS. BASE_FD is borrowed until
 * recovery_stop(), as is ARG: the thread calls BEGIN with it first. *OUT is
 * NULL if nothing runs any more. */
void recovery_start(struct recovery_thread **out, int base_fd, uint64_t wait_ns,
    void (*begin)(void *arg), void *arg);
/* Ends it early; the next start does the rest. NULL is fine. */
void recovery_stop(struct recovery_thread *r);

#endif
