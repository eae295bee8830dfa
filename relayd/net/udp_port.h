/* SPDX-License-Identifier: MIT */
/*
 * One worker's UDP socket: datagrams are read many at a time, also such that
 * the kernel has merged, and given to udp_input(). Those of other workers are
 * handed to the lobby, which knows them. libevent; the worker's thread.
 */
#ifndef RELAYD_NET_UDP_PORT_H
#define RELAYD_NET_UDP_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct desk;
struct loop;
struct published;
struct udp_port;

/* Bytes of datagrams on their way between threads, of all workers; what is
 * beyond is dropped. Only where steering fails, or a sender mixes sessions of
 * several workers in one socket. */
#define UDP_FORWARD_MAX (8 * 1024 * 1024)

/* MESSAGE_DATAGRAM: its object. */
struct udp_parcel {
	unsigned worker; /* where it belongs */
	size_t n;
	uint8_t bytes[];
};

/*
 * TAKE_FD is closed in any case. DESK's scratch holds what one call brings.
 * UNDERWAY counts bytes that are being handed on, of all workers; borrowed.
 */
enum status udp_port_create(struct udp_port **out, int take_fd,
    struct desk *desk, struct loop *lobby,
    struct published *underway) MUST_CHECK;
void udp_port_destroy(struct udp_port *port); /* NULL is fine */

/* At an ordered end: what has arrived until now. NULL is fine. */
void udp_port_read_all(struct udp_port *port);

/* A parcel reached its worker, or its end: it is freed. */
void udp_parcel_done(struct udp_parcel *take_p, struct published *underway);

#endif
