/* SPDX-License-Identifier: MIT */
#include "store/recovery.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/publish.h"
#include "common/thread.h"
#include "store/journal.h"

struct recovery_thread {
	pthread_t thread;
	struct published stop;
	int base_fd, ended_fd; /* an eventfd, 1 at the end */
	void (*begin)(void *arg);
	void *arg;
};

static void *
recover(void *arg)
{
	struct recovery_thread *r = arg;

	r->begin(r->arg);
	(void)journal_recover_until(r->base_fd, &r->stop);
	(void)eventfd_write(r->ended_fd, 1);
	return NULL;
}

static bool
ends_within(const struct recovery_thread *r, uint64_t wait_ns)
{
	struct pollfd ended = { .fd = r->ended_fd, .events = POLLIN };

	return poll(&ended, 1, (int)(wait_ns / NS_PER_MS)) == 1;
}

static void
end(struct recovery_thread *take_r)
{
	pthread_join(take_r->thread, NULL);
	close(take_r->ended_fd);
	free(take_r);
}

static bool
start_recovering(struct recovery_thread *r)
{
	int error;

	r->ended_fd = eventfd(0, EFD_CLOEXEC);
	if (r->ended_fd < 0)
		return false;
	error = thread_start(&r->thread, recover, r);
	if (error != 0)
		close(r->ended_fd);
	return error == 0;
}

void
recovery_start(struct recovery_thread **out, int base_fd, uint64_t wait_ns,
    void (*begin)(void *arg), void *arg)
{
	struct recovery_thread *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (r != NULL) {
		r->base_fd = base_fd;
		r->begin = begin;
		r->arg = arg;
	}
	if (r == NULL || !start_recovering(r)) {
		free(r);
		(void)journal_recover(base_fd);
	} else if (ends_within(r, wait_ns)) {
		end(r);
	} else {
		log_info("recovery goes on while we listen");
		*out = r;
	}
}

void
recovery_stop(struct recovery_thread *r)
{
	if (r == NULL)
		return;
	publish(&r->stop, 1);
	end(r);
}
