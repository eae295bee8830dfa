/* SPDX-License-Identifier: MIT */
#include "relayd/net/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/process/listen_url.h"
#include "relayd/process/options.h"

/* Connections accepted per wake-up, so that the loop also serves others. */
#define ACCEPT_BATCH 64
/* The pause in accepting when descriptors are used up. */
#define PAUSE_MS 100

struct listener {
	int fd, spare_fd;
	const char *name;
	const struct keepalive *keepalive;
	struct event *event, *resume;
	uint64_t last_log;
	void (*accepted)(int take_fd, const struct sockaddr *peer, void *arg);
	void *arg;
};

static int
open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static bool
set_number(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

static int
get_number(int fd, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return getsockopt(fd, IPPROTO_TCP, name, &value, &len) == 0 ? value : 0;
}

/*
 * While a reply is unacknowledged, the kernel retransmits it and sends no
 * keep-alive probes. This makes the kernel give up as early as with probes.
 */
static bool
limit_retransmission(int fd)
{
	const int64_t s = get_number(fd, TCP_KEEPIDLE) +
			  (int64_t)get_number(fd, TCP_KEEPINTVL) *
			      get_number(fd, TCP_KEEPCNT);

	return s <= 0 || s >= LISTENER_RETRANSMISSION_S ||
	       set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)(s * 1000));
}

static bool
keep_alive(const struct keepalive *k, int fd)
{
	return set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1) &&
	       (k->idle == 0 ||
		   set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, k->idle)) &&
	       (k->interval == 0 ||
		   set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, k->interval)) &&
	       (k->count == 0 ||
		   set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, k->count)) &&
	       limit_retransmission(fd);
}

static void
set_options(const struct listener *l, int fd)
{
	/* Replies are sent whole: a delay gains nothing. A Unix socket has no
	 * such option. */
	(void)set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (l->keepalive != NULL && l->keepalive->on &&
	    !keep_alive(l->keepalive, fd))
		log_errno(
		    LOG_WARN, "%s port: cannot set TCP keep-alive", l->name);
}

/* Accept and close one connection with the spare descriptor, then pause. */
static void
out_of_descriptors(struct listener *l)
{
	const struct timeval pause = { .tv_usec = PAUSE_MS * 1000 };
	int fd;

	if (log_ratelimit(&l->last_log, LOG_AGAIN_NS))
		log_errno(
		    LOG_ERROR, "%s port: a connection is turned away", l->name);
	close(l->spare_fd);
	fd = accept(l->fd, NULL, NULL);
	if (fd >= 0)
		close(fd);
	l->spare_fd = open_spare();
	event_del(l->event);
	event_add(l->resume, &pause);
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	event_add(l->event, NULL);
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct sockaddr_storage peer;
	struct listener *l = arg;
	socklen_t len;
	int got;

	for (int i = 0; i < ACCEPT_BATCH; i++) {
		len = sizeof(peer);
		got = accept4(l->fd, (struct sockaddr *)&peer, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (got >= 0) {
			set_options(l, got);
			l->accepted(got, (struct sockaddr *)&peer, l->arg);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM)
			out_of_descriptors(l);
		else if (errno == EINTR || errno == ECONNABORTED)
			continue;
		else if (errno != EAGAIN)
			log_errno(LOG_WARN,
			    "%s port: cannot accept a connection", l->name);
		return;
	}
}

static int
try_bind(const struct addrinfo *ai)
{
	const int one = 1;
	int fd, saved;

	fd = socket(
	    ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
	    listen(fd, LISTENER_BACKLOG) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int
listener_open(
    const struct listen_url *url, const char *name, enum log_level level)
{
	struct addrinfo *found;
	int fd, err;

	if (url->has_socket)
		return url->socket_fd;
	err = listen_url_find(url, SOCK_STREAM, &found);
	if (err != 0) {
		log_line(level,
		    "%s%s port: cannot find the address of '%s': %s",
		    url->where, name, url->host, gai_strerror(err));
		return -1;
	}
	fd = try_bind(found);
	if (fd < 0)
		log_errno(level, "%s%s port: cannot listen on %s port %u",
		    url->where, name, url->host, url->port);
	freeaddrinfo(found);
	return fd;
}

enum status
listener_create(struct listener **out, struct event_base *base, int take_fd,
    const char *name, const struct keepalive *keepalive,
    void (*accepted)(int take_fd, const struct sockaddr *peer, void *arg),
    void *arg)
{
	struct listener *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (take_fd < 0 || l == NULL) {
		free(l);
		if (take_fd >= 0)
			close(take_fd);
		return take_fd < 0 ? E_IO : E_NOMEM;
	}
	l->name = name;
	l->keepalive = keepalive;
	l->accepted = accepted;
	l->arg = arg;
	l->spare_fd = open_spare();
	l->fd = take_fd;
	l->event = event_new(base, l->fd, EV_READ | EV_PERSIST, on_accept, l);
	l->resume = evtimer_new(base, on_resume, l);
	if (l->event == NULL || l->resume == NULL ||
	    event_add(l->event, NULL) != 0) {
		listener_destroy(l);
		return E_NOMEM;
	}
	*out = l;
	return OK;
}

int
listener_fd(const struct listener *l)
{
	return l->fd;
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
	if (l->spare_fd >= 0)
		close(l->spare_fd);
	free(l);
}
