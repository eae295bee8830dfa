/* SPDX-License-Identifier: MIT */
#include "store/syncer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/publish.h"
#include "common/thread.h"

#define ROUNDS 4 /* per TIME */
/* The least time between rounds that were requested. */
#define REQUEST_PAUSE_NS (100 * NS_PER_MS)

/* A failed round takes two numbers: the second is for what was noted while it
 * ran. */
static void
sync_once(struct syncer *s)
{
	const uint64_t round = published(&s->begun) + 1;

	publish(&s->begun, round);
	if (syncfs(s->base_fd) == 0) {
		publish(&s->done, round);
		return;
	}
	publish(&s->failed, round + 1);
	publish(&s->begun, round + 1);
	s->errors++;
	if (log_ratelimit(&s->last_error_log, NS_PER_S))
		log_errno(LOG_ERROR,
		    "--sync: what was written since the last sync may be lost "
		    "in a power cut (%" PRIu64 " syncs failed since the start)",
		    s->errors);
}

/* Wait for the next round. Returns true when the thread must end. */
static bool
wait_for_round(struct syncer *s)
{
	struct pollfd fds[2] = { { .fd = s->stop_fd, .events = POLLIN },
		{ .fd = s->request_fd, .events = POLLIN } };
	const uint64_t first = s->pause_ns < REQUEST_PAUSE_NS
				   ? s->pause_ns
				   : REQUEST_PAUSE_NS;
	eventfd_t requests;

	/* Requests wait at least this long. */
	(void)poll(fds, 1, (int)(first / NS_PER_MS));
	if (fds[0].revents == 0)
		(void)poll(fds, 2, (int)((s->pause_ns - first) / NS_PER_MS));
	if (fds[1].revents != 0)
		(void)eventfd_read(s->request_fd, &requests);
	return fds[0].revents != 0;
}

static void *
run_syncer(void *arg)
{
	struct syncer *s = arg;

	while (!wait_for_round(s))
		sync_once(s);
	sync_once(s);
	return NULL;
}

static void
close_fds(struct syncer *s)
{
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	if (s->request_fd >= 0)
		close(s->request_fd);
}

enum status
syncer_create(struct syncer **out, int base_fd, uint64_t time_ns)
{
	struct syncer *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	s->base_fd = base_fd;
	s->pause_ns = time_ns / ROUNDS;
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	s->request_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->stop_fd < 0 || s->request_fd < 0) {
		log_errno(LOG_ERROR, "--sync");
		close_fds(s);
		free(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

enum status
syncer_start(struct syncer *s)
{
	errno = thread_start(&s->thread, run_syncer, s);
	s->has_thread = errno == 0;
	if (s->has_thread)
		return OK;
	log_errno(LOG_ERROR, "--sync: cannot start the thread");
	return E_NOMEM;
}

void
syncer_stop(struct syncer *s)
{
	if (s == NULL)
		return;
	(void)eventfd_write(s->stop_fd, 1);
	if (s->has_thread)
		pthread_join(s->thread, NULL);
	close_fds(s);
	free(s);
}

void
syncer_request(struct syncer *s)
{
	(void)eventfd_write(s->request_fd, 1);
}
