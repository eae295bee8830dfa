/* SPDX-License-Identifier: MIT */
/* The threads that have a loop, for the health socket and HTTP. */
#ifndef RELAYD_NET_THREADS_H
#define RELAYD_NET_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

/* A thread whose cycle lasts longer than this is unhealthy. */
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

/* Has its current cycle lasted longer than NS? Any thread. */
bool thread_is_stuck(const struct thread *t, uint64_t ns);

/* The mask of unhealthy groups of threads (streaming 6.5); THREADS is a struct
 * threads. */
uint64_t threads_health(void *threads);

#endif
