/* SPDX-License-Identifier: MIT */
#include "relayd/net/health.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/net/listener.h"
#include "relayd/process/unix_socket.h"

#define COMMAND_CHECK 0

struct health_client {
	struct health *health; /* NULL: the slot is free */
	struct event event;
	int fd;
	uint64_t deadline_ns;
	unsigned char request[sizeof(uint32_t)];
	size_t n_request;
};

struct health {
	struct event_base *base;
	struct health_config config;
	struct unix_socket socket;
	struct listener *listener;
	struct health_client clients[HEALTH_CLIENTS_MAX];
};

static void
client_close(struct health_client *c)
{
	if (c->health == NULL)
		return;
	event_del(&c->event);
	close(c->fd);
	c->health = NULL;
}

static void
client_wait(struct health_client *c)
{
	uint64_t now = clock_now_ns();
	uint64_t left = c->deadline_ns > now ? c->deadline_ns - now : 0;
	const struct timeval tv = {
		.tv_sec = (time_t)(left / NS_PER_S),
		.tv_usec = (suseconds_t)(left % NS_PER_S / 1000),
	};

	if (event_add(&c->event, &tv) != 0)
		client_close(c);
}

static void
client_answer(struct health_client *c)
{
	uint32_t command;
	uint64_t mask;

	memcpy(&command, c->request, sizeof(command));
	if (command == COMMAND_CHECK) {
		mask = c->health->config.mask(c->health->config.arg);
		/* The answer fits a new socket; a send fails only if the client
		 * has closed. */
		if (send(c->fd, &mask, sizeof(mask),
			MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(mask))
			log_debug(
			    "health: a client disconnected before the reply");
	} else {
		log_debug("health: unknown command %u", command);
	}
	client_close(c);
}

static void
on_client(evutil_socket_t fd, short what, void *arg)
{
	struct health_client *c = arg;
	ssize_t n;

	if ((what & EV_READ) == 0) {
		client_close(c);
		return;
	}
	n = recv(fd, c->request + c->n_request,
	    sizeof(c->request) - c->n_request, MSG_DONTWAIT);
	if (n > 0)
		c->n_request += (size_t)n;
	if (c->n_request == sizeof(c->request))
		client_answer(c);
	else if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		client_wait(c);
	else
		client_close(c);
}

/* A free slot, or that of the oldest client, which is closed. */
static struct health_client *
client_slot(struct health *h)
{
	struct health_client *oldest = &h->clients[0];

	for (size_t i = 0; i < ARRAY_LEN(h->clients); i++) {
		struct health_client *c = &h->clients[i];

		if (c->health == NULL)
			return c;
		if (c->deadline_ns < oldest->deadline_ns)
			oldest = c;
	}
	client_close(oldest);
	return oldest;
}

static void
on_accepted(int take_fd, const struct sockaddr *peer, void *arg)
{
	struct health *h = arg;
	struct health_client *c = client_slot(h);

	*c = (struct health_client){
		.health = h,
		.fd = take_fd,
		.deadline_ns = clock_now_ns() + HEALTH_TIMEOUT_S * NS_PER_S,
	};
	(void)event_assign(&c->event, h->base, take_fd, EV_READ, on_client, c);
	client_wait(c);
}

enum status
health_create(struct health **out, struct event_base *base,
    const struct health_config *config)
{
	const bool has_group = config->group != HEALTH_NO_GROUP;
	struct health *h = calloc(1, sizeof(*h));
	enum status st;
	int fd;

	*out = NULL;
	if (h == NULL)
		return E_NOMEM;
	h->base = base;
	h->config = *config;
	fd = unix_socket_listen(
	    &h->socket, config->path, has_group ? 0660 : 0, config->group);
	if (fd < 0) {
		st = errno == EADDRINUSE     ? E_EXISTS
		     : errno == ENAMETOOLONG ? E_LIMIT
					     : E_IO;
		log_errno(LOG_ERROR, "health socket %s (LTTNG_RELAYD_HEALTH)",
		    config->path);
	} else {
		st = listener_create(
		    &h->listener, base, fd, "health", NULL, on_accepted, h);
	}
	if (st != OK) {
		health_destroy(h);
		return st;
	}
	*out = h;
	return OK;
}

void
health_destroy(struct health *h)
{
	if (h == NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(h->clients); i++)
		client_close(&h->clients[i]);
	listener_destroy(h->listener);
	unix_socket_remove(&h->socket);
	free(h);
}
