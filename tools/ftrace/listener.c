/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/address.h"

/* Connections that are accepted in a turn of the loop. */
#define ACCEPT_BATCH 16
/* How long none is accepted when descriptors are used up. */
#define PAUSE_MS 100

struct listener {
	int fd;
	struct event *event, *resume;
	uint64_t last_log;
	void (*accepted)(void *arg, int take_fd, const struct sockaddr *peer);
	void *arg;
};

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)fd;
	(void)what;
	(void)event_add(l->event, NULL);
}

/* False: none is there, or none can be taken now. */
static bool
accept_one(struct listener *l)
{
	const struct timeval pause = { .tv_usec = PAUSE_MS * 1000 };
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);
	const int fd = accept4(l->fd, (struct sockaddr *)&peer, &len,
	    SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		l->accepted(l->arg, fd, (const struct sockaddr *)&peer);
		return true;
	}
	if (errno == EINTR || errno == ECONNABORTED)
		return true;
	if (errno == EAGAIN)
		return false;
	if (log_ratelimit(&l->last_log, 10 * NS_PER_S))
		log_errno(LOG_ERROR, "a connection cannot be accepted");
	(void)event_del(l->event);
	(void)event_add(l->resume, &pause);
	return false;
}

static void
on_connection(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	for (unsigned i = 0; i < ACCEPT_BATCH && accept_one(arg); i++)
		;
}

enum status
listener_create(struct listener **out, struct event_base *base,
    const char *host, uint16_t port,
    void (*accepted)(void *arg, int take_fd, const struct sockaddr *peer),
    void *arg)
{
	struct listener *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (l == NULL)
		return E_NOMEM;
	l->accepted = accepted;
	l->arg = arg;
	l->fd = address_bind(host, port, SOCK_STREAM);
	if (l->fd < 0) {
		log_errno(LOG_ERROR, "cannot listen on port %u", port);
		goto fail;
	}
	l->resume = evtimer_new(base, on_resume, l);
	l->event = event_new(
	    base, l->fd, EV_READ | EV_PERSIST, on_connection, l);
	if (l->resume == NULL || l->event == NULL ||
	    event_add(l->event, NULL) != 0)
		goto fail;
	*out = l;
	return OK;
fail:
	listener_destroy(l);
	return E_IO;
}

void
listener_destroy(struct listener *l)
{
	if (l == NULL)
		return;
	if (l->event != NULL)
		event_free(l->event);
	if (l->resume != NULL)
		event_free(l->resume);
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

uint16_t
listener_port(const struct listener *l)
{
	return address_bound_port(l->fd);
}
