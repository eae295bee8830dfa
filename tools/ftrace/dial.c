/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/dial.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/client/tcp_options.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/tcp_port.h"

/* A vanished peer is noticed after twice this time. */
#define KEEPALIVE_S 30

/* A lookup by a thread, which may outlive its dial. */
struct dial_query {
	struct background_job job;
	struct dial *dial; /* NULL: destroyed */
	struct address address;
	struct addrinfo *found;
	int err;
};

struct dial {
	struct command_loop *loop;
	char address[ADDRESS_HOST_SIZE + ADDRESS_PORT_SIZE];
	void (*done)(void *arg, int take_fd);
	void *arg;
	struct dial_query *query; /* NULL: the answer was taken */
	bool is_asked;		  /* by a thread */
	struct addrinfo *found, *at;
	struct addrinfo local; /* of vsock and unix: AT */
	struct sockaddr_storage local_address;
	struct event *event;
	int fd;
	uint64_t until_ns;
};

void
dial_set_options(int fd)
{
	static const struct tcp_keepalive k = { KEEPALIVE_S, KEEPALIVE_S / 3,
		3 };

	(void)tcp_options_set(fd, &k);
}

/* Ends the dial with the socket, or -1. */
static void
finish_dial(struct dial *d, int take_fd)
{
	void (*const done)(void *arg, int fd) = d->done;
	void *const arg = d->arg;

	dial_destroy(d);
	done(arg, take_fd);
}

static void on_answer(evutil_socket_t fd, short what, void *arg);

/* The share of the remaining time for each remaining address. */
static struct timeval
part_of_time(const struct dial *d)
{
	const uint64_t now = clock_now_ns();
	uint64_t n = 0;

	for (const struct addrinfo *at = d->at; at != NULL; at = at->ai_next)
		n++;
	return command_loop_timeval(
	    (now < d->until_ns ? d->until_ns - now : 1000) / n);
}

/* Tries the next address; errno has the failure of the last one. */
static void
try_next(struct dial *d)
{
	assert(d->fd < 0);
	for (; d->at != NULL; d->at = d->at->ai_next) {
		const struct timeval tv = part_of_time(d);

		d->fd = socket(d->at->ai_family,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (d->fd < 0)
			continue;
		if ((connect(d->fd, d->at->ai_addr, d->at->ai_addrlen) == 0 ||
			errno == EINPROGRESS) &&
		    event_assign(d->event, d->loop->base, d->fd, EV_WRITE,
			on_answer, d) == 0 &&
		    event_add(d->event, &tv) == 0)
			return;
		close(d->fd);
		d->fd = -1;
	}
	log_peer_errno(LOG_ERROR, "%s: cannot connect", d->address);
	finish_dial(d, -1);
}

static void
on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;
	int err = ETIMEDOUT;
	socklen_t n = sizeof(err);

	if ((what & EV_TIMEOUT) == 0 &&
	    getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &err, &n) != 0)
		err = errno;
	d->fd = -1;
	if (err == 0) {
		dial_set_options(fd);
		finish_dial(d, fd);
		return;
	}
	(void)event_del(d->event);
	close(fd);
	d->at = d->at->ai_next;
	errno = err;
	try_next(d);
}

static void
look_up(struct dial_query *q, int flags)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = flags };

	q->err = getaddrinfo(
	    q->address.host, q->address.port, &hints, &q->found);
	if (q->err != 0)
		q->found = NULL;
}

/* In a thread. */
static void
look_up_in_thread(struct background_job *job)
{
	look_up(container_of(job, struct dial_query, job), 0);
}

static void
take_found(struct dial *d)
{
	struct dial_query *q = d->query;
	const int err = q->err;

	d->found = q->found;
	d->at = d->local.ai_addr != NULL ? &d->local : q->found;
	d->query = NULL;
	free(q);
	if (err == 0) {
		try_next(d);
		return;
	}
	log_peer(LOG_ERROR, "%s: cannot look up the address: %s", d->address,
	    gai_strerror(err));
	finish_dial(d, -1);
}

static void
free_query(struct dial_query *q)
{
	if (q->found != NULL)
		freeaddrinfo(q->found);
	free(q);
}

static void
on_looked_up(struct background_job *job)
{
	struct dial_query *q = container_of(job, struct dial_query, job);

	if (q->dial == NULL) {
		free_query(q);
		return;
	}
	(void)event_del(q->dial->event);
	take_found(q->dial);
}

/* An address needs no lookup; a lookup may take too long. */
static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;

	(void)fd;
	(void)what;
	if (!d->is_asked) {
		take_found(d);
		return;
	}
	log_peer(LOG_ERROR, "%s: the name server does not answer", d->address);
	finish_dial(d, -1);
}

/* Resolves an address here, a name in a thread. */
static void
begin_dial(struct dial *d)
{
	struct dial_query *q = d->query;

	if (address_is_local(
		&q->address, &d->local_address, &d->local.ai_addrlen)) {
		d->local.ai_family = d->local_address.ss_family;
		d->local.ai_addr = (struct sockaddr *)&d->local_address;
		command_loop_set_timer(d->event, 0);
		return;
	}
	look_up(q, AI_NUMERICHOST);
	command_loop_set_timer(
	    d->event, q->err != EAI_NONAME ? 0 : DIAL_MS * NS_PER_MS);
	if (q->err != EAI_NONAME)
		return;
	q->job = (struct background_job){ .work = look_up_in_thread,
		.done = on_looked_up };
	d->is_asked = true;
	background_add(d->loop->names, &q->job);
}

enum status
dial_create(struct dial **out, struct command_loop *loop, const char *address,
    void (*done_fn)(void *arg, int take_fd), void *arg)
{
	struct dial *d = calloc(1, sizeof(*d));

	*out = NULL;
	if (d == NULL)
		return E_NOMEM;
	d->fd = -1;
	d->loop = loop;
	d->done = done_fn;
	d->arg = arg;
	d->until_ns = clock_now_ns() + DIAL_MS * NS_PER_MS;
	snprintf(d->address, sizeof(d->address), "%s", address);
	d->event = evtimer_new(loop->base, on_timer, d);
	d->query = calloc(1, sizeof(*d->query));
	if (d->event == NULL || d->query == NULL)
		goto fail;
	d->query->dial = d;
	if (!address_parse(&d->query->address, address))
		goto fail;
	begin_dial(d);
	*out = d;
	return OK;
fail:
	dial_destroy(d);
	return E_NOMEM;
}

void
dial_destroy(struct dial *d)
{
	if (d == NULL)
		return;
	if (d->event != NULL)
		event_free(d->event);
	if (d->query != NULL &&
	    (!d->is_asked || background_cancel(&d->query->job)))
		free_query(d->query);
	else if (d->query != NULL)
		d->query->dial = NULL; /* a thread uses it */
	if (d->found != NULL)
		freeaddrinfo(d->found);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
}
