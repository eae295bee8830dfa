/* SPDX-License-Identifier: MIT */
/*
 * Recovery at start, in its own thread, so that the relay listens in time
 * however much there is to recover. Files that are created meanwhile are not
 * affected: no journal of an earlier relay names them.
 */
#ifndef STORE_RECOVERY_H
#define STORE_RECOVERY_H

#include <stdint.h>

struct published;
struct recovery_thread;

/*
 * Cut the torn ends of files that a killed relay left below BASE_FD, as its
 * journals say, and remove these journals. Journals of running relays are left
 * alone. Logs one line per file that is cut, and returns their number. It
 * returns early when *STOP is not 0: the next start does the rest. STOP may be
 * NULL.
 */
unsigned recovery_run(int base_fd, const struct published *stop);

/* Returns when recovery is done, or after WAIT_NS. BASE_FD, ARG and IS_RUNNING
 * are borrowed until recovery_stop(); the thread calls BEGIN with ARG first.
 * *OUT is NULL if recovery is done. *IS_RUNNING is not 0 until it is done; NULL
 * is fine. */
void recovery_start(struct recovery_thread **out, int base_fd, uint64_t wait_ns,
    void (*begin)(void *arg), void *arg, struct published *is_running);
/* Stop early: the next start does the rest. NULL is fine. */
void recovery_stop(struct recovery_thread *r);

#endif
