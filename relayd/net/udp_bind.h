/* SPDX-License-Identifier: MIT */
/*
 * The UDP sockets of all workers on one port: they use SO_REUSEPORT and are
 * bound in the order of workers. A classic BPF program gives each datagram to
 * the socket whose number is in its stream handle. Without the program the
 * kernel distributes senders over the sockets, and workers hand datagrams on.
 * Main thread.
 */
#ifndef RELAYD_NET_UDP_BIND_H
#define RELAYD_NET_UDP_BIND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct listen_url;
struct options;

/* The receive buffer that is asked for, per socket: 40 ms at 200 MB/s. */
#define UDP_RCVBUF (8 * 1024 * 1024)

/*
 * N sockets at HOST's address and PORT (0: the system chooses), non-blocking,
 * with large datagrams merged (UDP_GRO) and drops counted (SO_RXQ_OVFL) where
 * the kernel can. *BOUND is the port. E_IO: errno says why; nothing is open,
 * and all FDS up to the one that failed are -1.
 */
enum status udp_bind(int *fds, unsigned n, const struct listen_url *host,
    uint16_t port, uint16_t *bound) MUST_CHECK;

/*
 * Do as the user's options say: no UDP, and *PORT is 0; a port of its own; or
 * the number of the data port, DATA_PORT. Where the system chose that, it may
 * choose another one for UDP. A port that is taken is an error, and logged.
 */
enum status udp_bind_wanted(int *fds, const struct options *o,
    uint16_t data_port, uint16_t *port) MUST_CHECK;

#endif
