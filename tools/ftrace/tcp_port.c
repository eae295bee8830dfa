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
#include <sys/un.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/command_loop.h"

/* A busy machine does not accept a burst at once; a connection beyond the
 * backlog is a second late. */
#define BACKLOG 1024

#define VSOCK "vsock:"
#define UNIX "unix:"
/* Ports for "any": those of vsock have 32 bits, those in messages 16. */
#define VSOCK_FIRST 1024

static bool
begins(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool
address_is_local(
    const struct address *a, struct sockaddr_storage *out, socklen_t *n)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_vm vm = { .svm_family = AF_VSOCK };
	const char *path = a->host + strlen(UNIX),
		   *cid = a->host + strlen(VSOCK);
	uint64_t number = (uint32_t)VMADDR_CID_ANY, port = 0;

	*out = (struct sockaddr_storage){ 0 };
	if (begins(a->host, UNIX)) {
		if (*path == '\0' || strlen(path) >= sizeof(un.sun_path))
			return false;
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
		memcpy(out, &un, *n = sizeof(un));
		return true;
	}
	if (!begins(a->host, VSOCK) ||
	    (strcmp(cid, "any") != 0 &&
		parse_u64(cid, 0, UINT32_MAX - 1, &number) != OK) ||
	    parse_u64(a->port, 0, UINT32_MAX - 1, &port) != OK)
		return false;
	vm.svm_cid = (unsigned)number;
	vm.svm_port = (unsigned)port;
	memcpy(out, &vm, *n = sizeof(vm));
	return true;
}

bool
address_parse(struct address *out, const char *text)
{
	const char *colon = strrchr(text, ':');
	struct sockaddr_storage local;
	const bool is_unix = begins(text, UNIX);
	socklen_t len;
	size_t n;

	*out = (struct address){ 0 };
	if (is_unix)
		colon = text + strlen(text);
	else if (colon == NULL || colon[1] == '\0' ||
		 strlen(colon + 1) >= sizeof(out->port))
		return false;
	n = (size_t)(colon - text);
	if (!is_unix && *text == '[' && n > 1 && colon[-1] == ']') {
		text++;
		n -= 2;
	}
	if (n == 0 || n >= sizeof(out->host))
		return false;
	memcpy(out->host, text, n);
	if (!is_unix)
		snprintf(out->port, sizeof(out->port), "%s", colon + 1);
	return (!is_unix && !begins(out->host, VSOCK)) ||
	       address_is_local(out, &local, &len);
}

const char *
address_ports_host(const char *host)
{
	return begins(host, UNIX) ? "127.0.0.1" : host;
}

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
	if (a->sa_family == AF_UNIX) {
		const uint32_t loopback = htonl(INADDR_LOOPBACK);

		memcpy(out, mapped, sizeof(mapped));
		memcpy(out + sizeof(mapped), &loopback, 4);
		return true;
	}
	if (a->sa_family == AF_VSOCK) {
		/* No IPv6 address begins like it (RFC 4291 2.5.2). */
		memcpy(out + 4, &((const struct sockaddr_vm *)a)->svm_cid, 4);
		return true;
	}
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
	if (a->sa_family == AF_VSOCK)
		return (uint16_t)((const struct sockaddr_vm *)a)->svm_port;
	return 0;
}

void
address_text(char out[ADDRESS_TEXT], const struct sockaddr *a)
{
	char host[INET6_ADDRSTRLEN] = "unknown";
	const struct sockaddr_vm *vm = (const void *)a;
	uint8_t bytes[16];

	if (a->sa_family == AF_VSOCK) {
		snprintf(out, ADDRESS_TEXT, VSOCK "%u:%u", vm->svm_cid,
		    vm->svm_port);
		return;
	}
	if (a->sa_family == AF_UNIX) {
		snprintf(out, ADDRESS_TEXT, UNIX "%.40s",
		    ((const struct sockaddr_un *)a)->sun_path);
		return;
	}
	if (get_bytes(bytes, a) && is_ipv4(bytes))
		(void)inet_ntop(AF_INET, bytes + 12, host, sizeof(host));
	else if (a->sa_family == AF_INET6)
		(void)inet_ntop(AF_INET6, bytes, host, sizeof(host));
	snprintf(out, ADDRESS_TEXT, "%s:%u", host, address_port(a));
}

void
address_copy(struct sockaddr_storage *out, const struct sockaddr *a)
{
	static const size_t sizes[] = { [AF_INET] = sizeof(struct sockaddr_in),
		[AF_INET6] = sizeof(struct sockaddr_in6),
		[AF_UNIX] = sizeof(struct sockaddr_un),
		[AF_VSOCK] = sizeof(struct sockaddr_vm) };

	assert(a->sa_family < ARRAY_LEN(sizes));
	memcpy(out, a, sizes[a->sa_family]);
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

bool
address_is_internet(const struct sockaddr *a)
{
	return a->sa_family == AF_INET || a->sa_family == AF_INET6;
}

bool
address_is_own(int fd, const struct sockaddr *peer)
{
	struct sockaddr_storage own;
	socklen_t n = sizeof(own);

	return getsockname(fd, (struct sockaddr *)&own, &n) == 0 &&
	       address_is_same((const struct sockaddr *)&own, peer);
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

/* A socket that a killed program has left is replaced: nothing listens. */
static bool
is_left(const struct sockaddr_storage *a, socklen_t n)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct sockaddr_un *un = (const void *)a;
	bool is_refused;

	if (fd < 0)
		return false;
	is_refused = connect(fd, (const struct sockaddr *)a, n) != 0 &&
		     errno == ECONNREFUSED;
	close(fd);
	return is_refused && unlink(un->sun_path) == 0;
}

/* Binds and listens; IS_ANY: at the first free port of vsock. */
static int
bind_local(struct sockaddr_storage *a, socklen_t n, bool is_any)
{
	const int fd = socket(
	    a->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_vm *vm = (void *)a;
	int err = 0;

	if (fd < 0)
		return -1;
	vm->svm_port = is_any ? VSOCK_FIRST : vm->svm_port;
	while (bind(fd, (struct sockaddr *)a, n) != 0) {
		err = errno;
		if (err != EADDRINUSE ||
		    !(is_any ? vm->svm_port++ < UINT16_MAX
			     : a->ss_family == AF_UNIX && is_left(a, n)))
			break;
		err = 0;
	}
	if (err == 0 && listen(fd, BACKLOG) != 0)
		err = errno;
	if (err == 0)
		return fd;
	close(fd);
	errno = err;
	return -1;
}

int
address_bind(const char *host, uint16_t port, int type)
{
	struct address address = { 0 };
	struct sockaddr_storage local;
	socklen_t n;
	int fd;

	snprintf(address.host, sizeof(address.host), "%s", host);
	snprintf(address.port, sizeof(address.port), "%u", port);
	if (address_is_local(&address, &local, &n))
		return bind_local(
		    &local, n, local.ss_family == AF_VSOCK && port == 0);
	if (*host != '\0')
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
	struct sockaddr_un path; /* of a Unix socket, to remove it */
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

/* Identifies the peer of a Unix socket, which has no address. */
static void
identify(int fd, struct sockaddr_storage *peer)
{
	struct sockaddr_un *un = (void *)peer;
	struct ucred cred = { 0 };
	socklen_t n = sizeof(cred);

	if (peer->ss_family != AF_UNIX)
		return;
	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n);
	snprintf(un->sun_path, sizeof(un->sun_path), "%ld", (long)cred.pid);
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
		identify(fd, &peer);
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
	socklen_t n = sizeof(l->path);

	*out = NULL;
	if (l == NULL)
		return E_NOMEM;
	l->accepted = accepted;
	l->arg = arg;
	l->fd = address_bind(host, port, SOCK_STREAM);
	if (l->fd < 0) {
		if (*host == '\0')
			log_errno(LOG_ERROR, "cannot listen on port %u", port);
		else
			log_errno(LOG_ERROR, "cannot listen at %s, port %u",
			    host, port);
		goto fail;
	}
	(void)getsockname(l->fd, (struct sockaddr *)&l->path, &n);
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
	if (l->fd >= 0) {
		if (l->path.sun_family == AF_UNIX)
			(void)unlink(l->path.sun_path);
		close(l->fd);
	}
	free(l);
}

void
tcp_port_log(const struct tcp_port *l, const char *more)
{
	char text[ADDRESS_TEXT];

	if (l->path.sun_family == AF_UNIX) {
		log_notice("listening on unix:%s%s", l->path.sun_path, more);
	} else if (l->path.sun_family == AF_VSOCK) {
		address_text(text, (const struct sockaddr *)&l->path);
		log_notice("listening on %s%s", text, more);
	} else {
		log_notice("listening on port %u%s", tcp_port_number(l), more);
	}
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
