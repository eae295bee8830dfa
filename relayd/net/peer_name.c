/* SPDX-License-Identifier: MIT */
#include "relayd/net/peer_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

char *
peer_name(const struct sockaddr *a)
{
	char host[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in6 *in6 = (const void *)a;
	const struct sockaddr_in *in = (const void *)a;
	char *name = NULL;
	int n;

	if (a->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		n = asprintf(&name, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		n = asprintf(&name, "%s:%u", host, ntohs(in->sin_port));
	}
	return n < 0 ? NULL : name;
}
