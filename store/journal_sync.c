/* SPDX-License-Identifier: MIT */
#include "store/journal_sync.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/publish.h"

#define ROUNDS 4 /* in TIME */

struct syncer {
	pthread_t thread;
	int base_fd, stop_fd; /* an eventfd, 1 to end */
	uint64_t pause_ns;
	uint64_t last_error_log, errors;
	struct published begun, done; /* numbers of rounds */
};

/* A round that fails is not done; the next one counts for it, too, as far as
 * the kernel still has the bytes. */
static void
sync_once(struct syncer *s)
{
	const uint64_t round = published(&s->begun) + 1;

	publish(&s->begun, round);
	if (syncfs(s->base_fd) == 0) {
		publish(&s->done, round);
		return;
	}
	s->errors++;
	if (log_ratelimit(&s->last_error_log, NS_PER_S))
		log_errno(LOG_ERROR,
		    "--sync: what was written since the last sync may be lost "
		    "in a power cut (%" PRIu64 " syncs failed since the start)",
		    s->errors);
}

static void *
sync_for_ever(void *arg)
{
	struct syncer *s = arg;
	struct pollfd stop = { .fd = s->stop_fd, .events = POLLIN };

	while (poll(&stop, 1, (int)(s->pause_ns / NS_PER_MS)) != 1)
		sync_once(s);
	sync_once(s);
	return NULL;
}

static int
start_thread(struct syncer *s)
{
	sigset_t all, old;
	int ret;

	/* Only the main thread takes signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&s->thread, NULL, sync_for_ever, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

enum status
syncer_start(struct syncer **out, int base_fd, uint64_t time_ns)
{
	struct syncer *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	s->base_fd = base_fd;
	s->pause_ns = time_ns / ROUNDS;
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (s->stop_fd >= 0)
		errno = start_thread(s);
	if (s->stop_fd < 0 || errno != 0) {
		log_errno(LOG_ERROR, "--sync: thread");
		if (s->stop_fd >= 0)
			close(s->stop_fd);
		free(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

void
syncer_stop(struct syncer *s)
{
	if (s == NULL)
		return;
	(void)eventfd_write(s->stop_fd, 1);
	pthread_join(s->thread, NULL);
	close(s->stop_fd);
	free(s);
}

uint64_t
syncer_round(const struct syncer *s)
{
	return published(&s->begun) + 1;
}

uint64_t
syncer_done(const struct syncer *s)
{
	return published(&s->done);
}

uint64_t
syncer_pause_ns(const struct syncer *s)
{
	return s->pause_ns;
}
