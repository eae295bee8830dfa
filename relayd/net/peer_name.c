/* SPDX-License-Identifier: MIT */
#include "relayd/net/peer_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

/* True for a peer that connected over IPv4 to an IPv6 socket. */
static bool
is_ipv4_on_ipv6(const struct sockaddr *a)
{
	const struct sockaddr_in6 *in6 = (const void *)a;

	return a->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);
}

char *
peer_name(const struct sockaddr *a)
{
	char host[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in6 *in6 = (const void *)a;
	const struct sockaddr_in *in = (const void *)a;
	char *name = NULL;
	int n;

	if (is_ipv4_on_ipv6(a)) {
		inet_ntop(
		    AF_INET, &in6->sin6_addr.s6_addr[12], host, sizeof(host));
		n = asprintf(&name, "%s:%u", host, ntohs(in6->sin6_port));
	} else if (a->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		n = asprintf(&name, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		n = asprintf(&name, "%s:%u", host, ntohs(in->sin_port));
	}
	return n < 0 ? NULL : name;
}

struct peer_host
peer_host(const struct sockaddr *a)
{
	const struct sockaddr_in6 *in6 = (const void *)a;
	const struct sockaddr_in *in = (const void *)a;
	struct peer_host h = { { 0 } };

	if (is_ipv4_on_ipv6(a))
		memcpy(h.bytes, &in6->sin6_addr, 16);
	else if (a->sa_family == AF_INET6)
		memcpy(h.bytes, &in6->sin6_addr, 8);
	else
		memcpy(h.bytes + 12, &in->sin_addr, 4);
	/* The same bytes as of an IPv4-mapped address. */
	if (a->sa_family != AF_INET6)
		h.bytes[10] = h.bytes[11] = 0xff;
	return h;
}
