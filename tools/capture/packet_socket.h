/* SPDX-License-Identifier: MIT */
/*
 * Options of packet sockets (packet(7)) that libtrace has no name for. Those
 * that it opens are looked for among the descriptors.
 */
#ifndef TOOLS_CAPTURE_PACKET_SOCKET_H
#define TOOLS_CAPTURE_PACKET_SOCKET_H

#include <stdbool.h>

/* What the kernel may keep for a reader that is late: 0.2 seconds of 200,000
 * small packets a second. It takes CAP_NET_ADMIN to have more than the
 * administrator allows (net.core.rmem_max), which is one millisecond of them.
 * The kernel takes twice the number. */
#define PACKET_SOCKET_BUFFER (16 * 1024 * 1024)

bool packet_socket_is_loopback(const char *interface);

/* A larger buffer, and of a loopback no outgoing packets, each of which also
 * comes in. What cannot be set stays as it is. */
void packet_socket_tune(int fd, bool is_loopback);
/* The same of all packet sockets that are bound to INTERFACE. */
void packet_socket_tune_bound(const char *interface);

#endif
