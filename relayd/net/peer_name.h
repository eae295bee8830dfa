/* SPDX-License-Identifier: MIT */
/* A peer's "address:port" for logs, and its host. */
#ifndef RELAYD_NET_PEER_NAME_H
#define RELAYD_NET_PEER_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct sockaddr;

/* The host of a peer, for limits per host: an IPv4 address, or the first 64
 * bits of an IPv6 address, because a host can choose the others. All zeros:
 * unknown. */
struct peer_host {
	uint8_t bytes[16];
};

/* An IPv4 address gives the same name on sockets of both families. The caller
 * frees it; NULL: out of memory. Any thread. */
char *peer_name(const struct sockaddr *a);

struct peer_host peer_host(const struct sockaddr *a);
static inline bool
peer_host_is_same(const struct peer_host *a, const struct peer_host *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

#endif
