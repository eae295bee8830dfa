/* SPDX-License-Identifier: MIT */
/*
 * One worker's UDP socket. Many datagrams are read at a time, also merged ones,
 * and given to udp_input(). Datagrams for other workers are handed to the
 * acceptor, which knows the workers. libevent; the worker's thread.
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

/* Bytes of datagrams on their way between the threads of all workers; beyond it
 * datagrams are dropped. Datagrams are handed on only where the BPF program
 * does not work, or a sender uses one socket for sessions of several
 * workers. */
#define UDP_FORWARD_MAX (8 * 1024 * 1024)

/* The object of MESSAGE_DATAGRAM. */
struct udp_parcel {
	unsigned worker; /* the worker that it is for */
	size_t n;
	uint8_t bytes[];
};

/*
 * TAKE_FD is owned, and closed on failure. Datagrams are read into DESK's
 * scratch buffer. UNDERWAY counts the bytes that all workers are handing on;
 * borrowed.
 */
enum status udp_port_create(struct udp_port **out, int take_fd,
    struct desk *desk, struct loop *acceptor,
    struct published *underway) MUST_CHECK;
void udp_port_destroy(struct udp_port *port); /* NULL is fine */

/* At an ordered end: read what has arrived until now. NULL is fine. */
void udp_port_read_all(struct udp_port *port);

/* Free a parcel that reached its worker, or that is dropped. */
void udp_parcel_done(struct udp_parcel *take_p, struct published *underway);

#endif
