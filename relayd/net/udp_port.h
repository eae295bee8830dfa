/* SPDX-License-Identifier: MIT */
/*
 * One worker's UDP socket. Reads many datagrams at a time, also merged ones,
 * and passes them to udp_input(). Datagrams for other workers go to the
 * acceptor, which knows the workers. libevent; the worker's thread.
 */
#ifndef RELAYD_NET_UDP_PORT_H
#define RELAYD_NET_UDP_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct conns;
struct loop;
struct account;
struct udp_port;

/* Bytes of datagrams in flight between workers; more are dropped. Datagrams are
 * forwarded only if the BPF program does not work, or if a sender uses one
 * socket for sessions of several workers. */
#define UDP_FORWARD_MAX (8 * 1024 * 1024)

/* The object of MESSAGE_DATAGRAM. */
struct forwarded_datagram {
	unsigned worker; /* its destination */
	size_t n;
	uint8_t bytes[];
};

/*
 * TAKE_FD is owned, and closed on failure. Datagrams are read into CONNS'
 * scratch buffer. UNDERWAY, which is borrowed, counts the bytes that all
 * workers are forwarding.
 */
enum status udp_port_create(struct udp_port **out, int take_fd,
    struct conns *conns, struct loop *acceptor,
    struct account *underway) MUST_CHECK;
void udp_port_destroy(struct udp_port *port); /* NULL is fine */

/* Its socket, borrowed. */
int udp_port_fd(const struct udp_port *port);

/* At an ordered shutdown: read what has arrived. PORT may be NULL. */
void udp_port_read_all(struct udp_port *port);

/* Free a datagram that was delivered or dropped. */
void forwarded_datagram_done(
    struct forwarded_datagram *take_p, struct account *underway);

#endif
