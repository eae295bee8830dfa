/* SPDX-License-Identifier: MIT */
#include "relayd/process/listen_url.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "common/parse.h"

static const struct {
	const char *name;
	int family;
} schemes[] = {
	{ "tcp://", AF_INET },
	{ "tcp4://", AF_INET },
	{ "tcp6://", AF_INET6 },
};

/* The rest after the scheme; NULL: unknown scheme. */
static const char *
skip_scheme(const char *s, int *family)
{
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t n = strlen(schemes[i].name);

		if (strncasecmp(s, schemes[i].name, n) == 0) {
			*family = schemes[i].family;
			return s + n;
		}
	}
	return NULL;
}

static bool
is_numeric(const char *host, int family)
{
	struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST,
	};
	struct addrinfo *ai = NULL;
	bool is = getaddrinfo(host, NULL, &hints, &ai) == 0;

	if (is)
		freeaddrinfo(ai);
	return is;
}

/* Copy the host. Returns the rest after it; NULL: not a host. */
static const char *
take_host(struct listen_url *u, const char *s)
{
	bool bracketed = *s == '[';
	size_t n;

	s += bracketed;
	n = strcspn(s, bracketed ? "]" : ":/");
	if (n == 0 || n >= sizeof(u->host) || (bracketed && s[n] != ']'))
		return NULL;
	memcpy(u->host, s, n);
	u->host[n] = '\0';
	if (bracketed && !is_numeric(u->host, u->family))
		return NULL;
	return s + n + bracketed;
}

static enum status
take_port(struct listen_url *u, const char *s)
{
	size_t n = strcspn(s, "/");
	char digits[8];
	uint64_t port;

	if (n == 0) /* "host:" means no port, as in lttng-relayd */
		return OK;
	if (n >= sizeof(digits))
		return E_MALFORMED;
	memcpy(digits, s, n);
	digits[n] = '\0';
	if (parse_u64(digits, 0, UINT16_MAX, &port) != OK)
		return E_MALFORMED;
	u->port = (uint16_t)port;
	u->has_port = true;
	return OK;
}

enum status
listen_url_parse(struct listen_url *u, const char *s, const char **why)
{
	*u = (struct listen_url){ .is_explicit = true };
	*why = "it must begin with tcp://, tcp4:// or tcp6://";
	s = skip_scheme(s, &u->family);
	if (s == NULL)
		return E_MALFORMED;
	*why = "no host, or not an address of that family in the brackets";
	s = take_host(u, s);
	if (s == NULL)
		return E_MALFORMED;
	*why = "address family mismatch (IPv4 and IPv6)";
	if (is_numeric(u->host, u->family == AF_INET ? AF_INET6 : AF_INET))
		return E_MALFORMED;
	*why = "the port must be a number up to 65535";
	if (*s == ':' && take_port(u, s + 1) != OK)
		return E_MALFORMED;
	*why = "unexpected text after the host";
	return *s == '\0' || *s == ':' || *s == '/' ? OK : E_MALFORMED;
}

void
listen_url_show(const struct listen_url *u, uint16_t port, char *out, size_t n)
{
	snprintf(out, n,
	    u->family == AF_INET6 ? "tcp6://[%s]:%u" : "tcp://%s:%u", u->host,
	    port);
}

int
listen_url_find(const struct listen_url *u, int type, struct addrinfo **found)
{
	const struct addrinfo hints = { .ai_family = u->family,
		.ai_socktype = type,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	char port[8];
	int err;

	snprintf(port, sizeof(port), "%u", u->port);
	err = getaddrinfo(u->host, port, &hints, found);
	if (err != 0 && strcmp(u->host, "localhost") == 0)
		err = getaddrinfo(u->family == AF_INET6 ? "::1" : "127.0.0.1",
		    port, &hints, found);
	return err;
}

uint16_t
listen_url_port(int fd)
{
	struct sockaddr_storage a = { 0 };
	const struct sockaddr_in6 *in6 = (const void *)&a;
	const struct sockaddr_in *in = (const void *)&a;
	socklen_t len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		return 0;
	return ntohs(a.ss_family == AF_INET6 ? in6->sin6_port : in->sin_port);
}

static bool
is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) ==
	       0;
}

bool
listen_url_is_host(const struct listen_url *u, int fd)
{
	struct sockaddr_storage bound = { 0 };
	socklen_t len = sizeof(bound);
	struct addrinfo *found;
	bool is = false;

	if (getsockname(fd, (struct sockaddr *)&bound, &len) != 0 ||
	    listen_url_find(u, SOCK_STREAM, &found) != 0)
		return true;
	for (const struct addrinfo *a = found; a != NULL; a = a->ai_next)
		is |= is_same_host(a->ai_addr, (struct sockaddr *)&bound);
	freeaddrinfo(found);
	return is;
}
