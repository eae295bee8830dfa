/* SPDX-License-Identifier: MIT */
/* "address:port" of a peer, for logs. */
#ifndef RELAYD_NET_PEER_NAME_H
#define RELAYD_NET_PEER_NAME_H

struct sockaddr;

/* The caller frees it; NULL: no memory. Any thread. */
char *peer_name(const struct sockaddr *a);

#endif
