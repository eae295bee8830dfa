/* SPDX-License-Identifier: MIT */
/*
 * The UDP sockets of all workers on one port: they use SO_REUSEPORT and are
 * bound in the order of the workers. A classic BPF program selects the socket
 * whose number is in the stream handle of the datagram. Without the program the
 * kernel distributes senders over the sockets, and workers forward datagrams.
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

/* The receive buffer to request for each socket: 40 ms at 200 MB/s. */
#define UDP_RCVBUF (8 * 1024 * 1024)

/*
 * N sockets at HOST's address and PORT (0: the system chooses), non-blocking,
 * with large datagrams merged (UDP_GRO) and drops counted (SO_RXQ_OVFL) where
 * the kernel can. Those that are not -1 are bound there already. *BOUND is the
 * port. E_IO, with errno: no socket is open, and
 * all FDS up to the one that failed are -1.
 */
enum status udp_bind(int *fds, unsigned n, const struct listen_url *host,
    uint16_t port, uint16_t *bound) MUST_CHECK;

/*
 * Bind as the options say: no UDP (*PORT is 0), a port of its own, or the
 * number of the data port, DATA_PORT. If the system chose DATA_PORT, it may
 * choose another port for UDP. A port in use is an error, which is logged.
 */
enum status udp_bind_wanted(int *fds, const struct options *o,
    uint16_t data_port, uint16_t *port) MUST_CHECK;

#endif
