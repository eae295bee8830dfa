/* SPDX-License-Identifier: MIT */
#include "relayd/net/threads.h"

#include <assert.h>

#include "relayd/net/loop.h"

#define HEALTH_WORKER (UINT64_C(1) << 1)
#define HEALTH_LIVE_WORKER (UINT64_C(1) << 4)

void
threads_add(struct threads *t, enum thread_kind kind, unsigned number,
    struct loop *loop)
{
	assert(t->n < THREADS_MAX);
	t->all[t->n++] = (struct thread){ kind, number, loop };
}

bool
thread_is_stuck(const struct thread *t, uint64_t ns)
{
	const uint64_t since = published(&t->loop->busy_since);
	const uint64_t now = clock_now_ns();

	return since != 0 && now > since && now - since > ns;
}

uint64_t
threads_health(void *threads)
{
	const struct threads *t = threads;
	uint64_t mask = 0;

	for (unsigned i = 0; i < t->n; i++) {
		if (t->all[i].kind == THREAD_MAIN ||
		    !thread_is_stuck(&t->all[i], THREADS_STUCK_NS))
			continue;
		mask |= t->all[i].kind == THREAD_WORKER ? HEALTH_WORKER
							: HEALTH_LIVE_WORKER;
	}
	return mask;
}
