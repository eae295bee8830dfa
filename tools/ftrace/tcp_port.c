/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/tcp_port.h"

#include <assert.h>
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/command_loop.h"

/* A busy machine does not accept a burst at once; a connection beyond the
 * backlog is a second late. */
#define BACKLOG 1024

/* The address as IPv6, also if it is IPv4. */
static bool
get_bytes(uint8_t out[16], const struct sockaddr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (a->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)a;

		memcpy(out, &in6->sin6_addr, 16);
		return true;
	}
	if (a->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)a;

		memcpy(out, mapped, sizeof(mapped));
		memcpy(out + sizeof(mapped), &in->sin_addr, 4);
		return true;
	}
	memset(out, 0, 16);
	return false;
}

static bool
is_ipv4(const uint8_t bytes[16])
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)bytes);
}

uint16_t
address_port(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)a)->sin6_port);
	if (a->sa_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)a)->sin_port);
	return 0;
}

void
address_text(char out[ADDRESS_TEXT], const struct sockaddr *a)
{
	char host[INET6_ADDRSTRLEN] = "unknown";
	uint8_t bytes[16];

	if (get_bytes(bytes, a) && is_ipv4(bytes))
		(void)inet_ntop(AF_INET, bytes + 12, host, sizeof(host));
	else if (a->sa_family == AF_INET6)
		(void)inet_ntop(AF_INET6, bytes, host, sizeof(host));
	snprintf(out, ADDRESS_TEXT, "%s:%u", host, address_port(a));
}

void
address_copy(struct sockaddr_storage *out, const struct sockaddr *a)
{
	memcpy(out, a,
	    a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
				     : sizeof(struct sockaddr_in));
}

bool
address_is_same(const struct sockaddr *a, const struct sockaddr *b)
{
	uint8_t x[16], y[16];

	return get_bytes(x, a) && get_bytes(y, b) &&
	       memcmp(x, y, sizeof(x)) == 0;
}

bool
address_is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	uint8_t x[16], y[16];

	if (!get_bytes(x, a) || !get_bytes(y, b))
		return false;
	return memcmp(x, y, is_ipv4(x) ? 16 : 8) == 0;
}

/* IS_DUAL: an IPv6 socket also accepts IPv4. */
static int
bind_host(const char *host, uint16_t port, int type, bool is_dual)
{
	const struct addrinfo hints = { .ai_socktype = type,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	const int one = 1, v6only = !is_dual;
	const bool is_tcp = type == SOCK_STREAM;
	struct addrinfo *ai;
	char service[8];
	int fd, saved = 0;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &ai) != 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	fd = socket(ai->ai_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    (ai->ai_family == AF_INET6 &&
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only,
		    sizeof(v6only)) != 0) ||
	    (is_tcp && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one,
			   sizeof(one)) != 0) ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 ||
	    (is_tcp && listen(fd, BACKLOG) != 0))
		saved = errno;
	freeaddrinfo(ai);
	if (saved == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

int
address_bind(const char *host, uint16_t port, int type)
{
	int fd;

	if (host != NULL)
		return bind_host(host, port, type, false);
	fd = bind_host("::", port, type, true);
	if (fd >= 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL))
		return fd;
	return bind_host("0.0.0.0", port, type, false);
}

/* Connections accepted in one cycle of the loop. */
#define ACCEPT_BATCH 16
/* The pause when descriptors are used up. */
#define PAUSE_MS 100

struct tcp_port {
	int fd;
	struct event *event, *resume;
	uint64_t last_log;
	void (*accepted)(void *arg, int take_fd, const struct sockaddr *peer);
	void *arg;
};

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct tcp_port *l = arg;

	(void)fd;
	(void)what;
	(void)event_add(l->event, NULL);
}

/* False: none waits, or none can be accepted now. */
static bool
accept_one(struct tcp_port *l)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);
	const int fd = accept4(l->fd, (struct sockaddr *)&peer, &len,
	    SOCK_NONBLOCK | SOCK_CLOEXEC);

	assert(l->fd >= 0);
	if (fd >= 0) {
		l->accepted(l->arg, fd, (const struct sockaddr *)&peer);
		return true;
	}
	if (errno == EINTR || errno == ECONNABORTED)
		return true;
	if (errno == EAGAIN)
		return false;
	if (log_ratelimit(&l->last_log, 10 * NS_PER_S))
		log_errno(LOG_ERROR, "cannot accept a connection");
	(void)event_del(l->event);
	command_loop_set_timer(l->resume, PAUSE_MS * NS_PER_MS);
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
tcp_port_create(struct tcp_port **out, struct event_base *base,
    const char *host, uint16_t port,
    void (*accepted)(void *arg, int take_fd, const struct sockaddr *peer),
    void *arg)
{
	struct tcp_port *l = calloc(1, sizeof(*l));

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
	l->event = command_loop_watch(
	    base, l->fd, EV_READ | EV_PERSIST, on_connection, l);
	if (l->resume == NULL || l->event == NULL)
		goto fail;
	*out = l;
	return OK;
fail:
	tcp_port_destroy(l);
	return E_IO;
}

void
tcp_port_destroy(struct tcp_port *l)
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
tcp_port_number(const struct tcp_port *l)
{
	struct sockaddr_storage a = { 0 };
	socklen_t n = sizeof(a);

	if (getsockname(l->fd, (struct sockaddr *)&a, &n) != 0)
		return 0;
	return address_port((struct sockaddr *)&a);
}
