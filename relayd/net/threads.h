/* SPDX-License-Identifier: MIT */
/* The threads that have a loop, for those who look at them: the health socket
 * and HTTP. */
#ifndef RELAYD_NET_THREADS_H
#define RELAYD_NET_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

/* The health socket: a thread that serves without a pause for so long is
 * bad. */
#define THREADS_STUCK_NS (20 * NS_PER_S)

struct loop;

enum thread_kind { THREAD_MAIN, THREAD_WORKER, THREAD_LIVE_WORKER };

struct thread {
	enum thread_kind kind;
	unsigned number; /* of its kind, from 0 */
	struct loop *loop;
};

#define THREADS_MAX (1 + 64 + 4)
struct threads {
	struct thread all[THREADS_MAX];
	unsigned n;
};

void threads_add(struct threads *t, enum thread_kind kind, unsigned number,
    struct loop *loop);

/* Has it served for longer than NS without a pause? Any thread. */
bool thread_is_stuck(const struct thread *t, uint64_t ns);

/* Which groups of threads are bad (streaming 6.5); THREADS: struct threads. */
uint64_t threads_health(void *threads);

#endif
