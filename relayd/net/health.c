/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/net/health.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/process/unix_socket.h"

#define COMMAND_CHECK 0
#define ACCEPT_PAUSE_S 1

struct client {
	struct health *health;
	struct event *event; /* NULL: the slot is free */
	int fd;
	uint64_t deadline_ns;
	unsigned char request[sizeof(uint32_t)];
	size_t n_request;
};

struct health {
	struct event_base *base;
	struct health_config config;
	struct sockaddr_un addr;
	int fd;
	struct stat file; /* the socket's file; st_ino is 0 until it is bound */
	struct event *accept;
	struct event *resume; /* out of descriptors: accept again later */
	struct client clients[HEALTH_CLIENTS_MAX];
};

static void
client_close(struct client *c)
{
	if (c->event == NULL)
		return;
	event_free(c->event);
	close(c->fd);
	*c = (struct client){ .fd = -1 };
}

static void
client_wait(struct client *c)
{
	uint64_t now = clock_now_ns();
	uint64_t left = c->deadline_ns > now ? c->deadline_ns - now : 0;
	const struct timeval tv = {
		.tv_sec = (time_t)(left / NS_PER_S),
		.tv_usec = (suseconds_t)(left % NS_PER_S / 1000),
	};

	if (event_add(c->event, &tv) != 0)
		client_close(c);
}

static void
client_answer(struct client *c)
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
			log_debug("health: a client left before its answer");
	} else {
		log_debug("health: unknown command %u", command);
	}
	client_close(c);
}

static void
on_client(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
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
static struct client *
client_slot(struct health *h)
{
	struct client *oldest = &h->clients[0];

	for (size_t i = 0; i < ARRAY_LEN(h->clients); i++) {
		struct client *c = &h->clients[i];

		if (c->event == NULL)
			return c;
		if (c->deadline_ns < oldest->deadline_ns)
			oldest = c;
	}
	client_close(oldest);
	return oldest;
}

static void
client_open(struct health *h, int take_fd)
{
	struct client *c = client_slot(h);

	*c = (struct client){
		.health = h,
		.fd = take_fd,
		.deadline_ns = clock_now_ns() + HEALTH_TIMEOUT_S * NS_PER_S,
	};
	c->event = event_new(h->base, take_fd, EV_READ, on_client, c);
	if (c->event == NULL) {
		close(take_fd);
		return;
	}
	client_wait(c);
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval pause = { .tv_sec = ACCEPT_PAUSE_S };
	struct health *h = arg;
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (peer >= 0) {
		client_open(h, peer);
		return;
	}
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return;
	log_errno(LOG_WARN, "health: accept, again in %d s", ACCEPT_PAUSE_S);
	(void)event_del(h->accept);
	(void)event_add(h->resume, &pause);
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct health *h = arg;

	(void)event_add(h->accept, NULL);
}

/* Does not follow a link that another user put in the socket's place. */
static bool
give_to_group(const struct health *h)
{
	const char *path = h->config.path;

	return h->config.group == HEALTH_NO_GROUP ||
	       (lchown(path, (uid_t)-1, h->config.group) == 0 &&
		   fchmodat(AT_FDCWD, path, 0660, AT_SYMLINK_NOFOLLOW) == 0);
}

static enum status
bind_file(struct health *h)
{
	const char *path = h->config.path;

	(void)unix_socket_remove_stale(path);
	if (bind(h->fd, (struct sockaddr *)&h->addr, sizeof(h->addr)) != 0) {
		bool is_taken = errno == EADDRINUSE;

		log_errno(LOG_ERROR, "health socket %s", path);
		return is_taken ? E_EXISTS : E_IO;
	}
	if (lstat(path, &h->file) != 0 || !give_to_group(h) ||
	    listen(h->fd, HEALTH_CLIENTS_MAX) != 0) {
		log_errno(LOG_ERROR, "health socket %s", path);
		return E_IO;
	}
	return OK;
}

static enum status
start(struct health *h)
{
	enum status st = unix_socket_address(&h->addr, h->config.path);

	if (st != OK) {
		log_error("health socket %s: the path is too long, see "
			  "LTTNG_RELAYD_HEALTH",
		    h->config.path);
		return st;
	}
	h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0) {
		log_errno(LOG_ERROR, "health socket");
		return E_IO;
	}
	st = bind_file(h);
	if (st != OK)
		return st;
	h->accept = event_new(
	    h->base, h->fd, EV_READ | EV_PERSIST, on_accept, h);
	h->resume = event_new(h->base, -1, 0, on_resume, h);
	if (h->accept == NULL || h->resume == NULL ||
	    event_add(h->accept, NULL) != 0)
		return E_NOMEM;
	return OK;
}

enum status
health_create(struct health **out, struct event_base *base,
    const struct health_config *config)
{
	struct health *h = calloc(1, sizeof(*h));
	enum status st;

	*out = NULL;
	if (h == NULL)
		return E_NOMEM;
	h->base = base;
	h->config = *config;
	h->fd = -1;
	st = start(h);
	if (st != OK) {
		health_destroy(h);
		return st;
	}
	/* The caller may free its string. */
	h->config.path = h->addr.sun_path;
	*out = h;
	return OK;
}

/* Another daemon may have replaced our socket with its own. */
static void
remove_file(const struct health *h)
{
	struct stat now;

	if (h->file.st_ino != 0 && lstat(h->addr.sun_path, &now) == 0 &&
	    now.st_ino == h->file.st_ino && now.st_dev == h->file.st_dev)
		(void)unlink(h->addr.sun_path);
}

void
health_destroy(struct health *h)
{
	if (h == NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(h->clients); i++)
		client_close(&h->clients[i]);
	if (h->accept != NULL)
		event_free(h->accept);
	if (h->resume != NULL)
		event_free(h->resume);
	if (h->fd >= 0)
		close(h->fd);
	remove_file(h);
	free(h);
}
