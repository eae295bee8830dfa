/* SPDX-License-Identifier: MIT */
/* Opening a session. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/client/client_internal.h"
#include "tools/client/tcp_options.h"

/*
 * Within one machine there is no network to protect. Where the system's default
 * algorithm paces (BBR), each send would start a timer, which costs half of the
 * sender's CPU time. Every kernel has the algorithm of RFC 5681.
 */
static void
do_not_pace(int fd)
{
	static const char name[] = "reno";

	(void)setsockopt(
	    fd, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name) - 1);
}

static int
connect_to(const struct url_address *to)
{
	int fd = socket(
	    to->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -1;
	/* Requests are small: without TCP_NODELAY each would wait for the
	 * answer to the one before. No TCP_USER_TIMEOUT: it would also end a
	 * connection to a relay that hangs, and goes on later. */
	(void)tcp_options_set(fd, &tcp_keepalive_two_minutes);
	if (url_is_loopback(to))
		do_not_pace(fd);
	if (connect(fd, (const struct sockaddr *)&to->sa, to->len) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

static enum status
cannot_connect(struct client *c, uint16_t port)
{
	return client_fail(c, E_IO, "%s port %u: %s", c->config.url.host, port,
	    strerror(errno));
}

/* Is there an address to try? When no other address answers, the silent one is
 * tried again: it may only be slow. */
static bool
has_address(struct client *c)
{
	if (c->address == c->n_addresses && c->has_silent) {
		c->has_silent = false;
		c->address = c->silent;
		c->n_addresses = c->silent + 1;
	}
	return c->address < c->n_addresses;
}

/* Connect to the address in use, or to one behind it. */
static enum status
begin_connect(struct client *c)
{
	for (; has_address(c); c->address++) {
		c->moved_ns = clock_now_ns();
		c->control = connect_to(&c->addresses[c->address]);
		if (c->control >= 0) {
			client_opened(c, c->control);
			return OK;
		}
	}
	return cannot_connect(c, c->config.url.control);
}

/* Leave the address in use, which failed with ERR. */
static enum status
next_address(struct client *c, int err)
{
	close(c->control);
	c->control = -1;
	c->address++;
	errno = err;
	return begin_connect(c);
}

enum status
client_connected(struct client *c)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(c->control, SOL_SOCKET, SO_ERROR, &err, &len) != 0)
		err = errno;
	return err == 0 ? client_advance(c) : next_address(c, err);
}

enum status
client_connect_elsewhere(struct client *c, uint64_t now_ns)
{
	if (c->phase != CLIENT_CONNECT || c->address + 1 >= c->n_addresses ||
	    now_ns - c->moved_ns < c->config.connect_ms * NS_PER_MS)
		return OK;
	if (!c->has_silent)
		c->silent = c->address;
	c->has_silent = true;
	return next_address(c, ETIMEDOUT);
}

static bool
goes_on(void *arg)
{
	return client_goes_on(arg);
}

static enum status
resolve(struct client *c, const char **why)
{
	const struct client_watch *w = c->config.watch;

	if (c->n_addresses > 0)
		return OK;
	*why = status_text(E_NOMEM);
	if (w == NULL || w->goes_on == NULL)
		return url_resolve(
		    &c->config.url, c->addresses, &c->n_addresses, why);
	return url_resolve_while(&c->config.url, c->addresses, &c->n_addresses,
	    why, CLIENT_TICK_MS, goes_on, c);
}

static enum status
start(struct client *c)
{
	const char *why;
	enum status st = resolve(c, &why);

	if (st == E_STOPPED)
		return st;
	if (st != OK)
		return client_fail(c, st, "%s: %s", c->config.url.host, why);
	c->phase = CLIENT_CONNECT;
	return begin_connect(c);
}

enum status
client_open(struct client *c)
{
	enum status st = c->failed;

	if (st == OK && c->phase == CLIENT_NEW)
		st = start(c);
	while (st == OK && c->config.waits && !client_is_open(c))
		st = client_wait(c);
	return st;
}

static void
ask_version(struct client *c)
{
	struct buf *b = dialog_ask(&c->dialog, RELAY_CMD_version, 0);

	relay_request_version(b, RELAY_MAJOR, c->dialog.minor);
}

static enum status
ask_session(struct client *c)
{
	struct relay_session_request q = {
		.session_name = c->config.session_name,
		.hostname = c->config.hostname,
		.base_path = c->config.url.path,
		.live_timer_us = c->config.live_timer_us,
		.name_has_time = c->config.name_has_time,
		.creation_time = clock_wall_s(),
		.trace_format = 1,
	};

	if (c->dialog.minor < CLIENT_MINOR_MIN)
		return client_fail(c, E_PROTOCOL,
		    "the relay speaks 2.%u: 2.11 or newer is needed",
		    c->dialog.minor);
	if (getrandom(&q.uuid, sizeof(q.uuid), 0) != sizeof(q.uuid))
		return client_fail_errno(c, "getrandom");
	relay_request_create_session(
	    dialog_ask(&c->dialog, RELAY_CMD_create_session, 0),
	    c->dialog.minor, &q);
	return OK;
}

/* Ask for a trace chunk right behind CREATE_SESSION, as peers do (streaming
 * 1.1). */
static enum status
ask_chunk(struct client *c)
{
	const struct url_address to = url_with_port(
	    &c->addresses[c->address], c->config.url.data);

	c->data = connect_to(&to);
	if (c->data < 0)
		return cannot_connect(c, c->config.url.data);
	client_opened(c, c->data);
	relay_request_create_chunk(
	    dialog_ask(&c->dialog, RELAY_CMD_create_trace_chunk, 0), 0,
	    clock_wall_s(), NULL);
	return OK;
}

static enum client_phase
next_phase(const struct client *c)
{
	const enum client_phase next = c->phase + 1;

	if (!c->config.udp &&
	    (next == CLIENT_CONFIGURATION || next == CLIENT_UDP))
		return next + 1;
	return next;
}

enum status
client_advance(struct client *c)
{
	if (c->phase == CLIENT_OPEN || c->dialog.n > 0)
		return OK;
	c->phase = next_phase(c);
	switch (c->phase) {
	case CLIENT_VERSION:
		ask_version(c);
		return OK;
	case CLIENT_CONFIGURATION:
		relay_request_get_configuration(
		    dialog_ask(&c->dialog, RELAY_CMD_get_configuration, 0),
		    RELAY_CONFIG_UDP);
		return OK;
	case CLIENT_UDP:
		client_udp_ask_open(c);
		return OK;
	case CLIENT_SESSION:
		return ask_session(c);
	case CLIENT_CHUNK:
		return ask_chunk(c);
	case CLIENT_NEW:
	case CLIENT_CONNECT:
	case CLIENT_OPEN:
		break;
	}
	return OK;
}
