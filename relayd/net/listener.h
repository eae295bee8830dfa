/* SPDX-License-Identifier: MIT */
/*
 * A listening socket (streaming 1.3): its address, its backlog, and keep-alive
 * of the sockets that it accepts. Main thread; libevent.
 */
#ifndef RELAYD_NET_LISTENER_H
#define RELAYD_NET_LISTENER_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/log.h"
#include "common/status.h"

struct event_base;
struct keepalive;
struct listen_url;
struct listener;
struct sockaddr;

/* Space for the connections of a fleet that boots: a connection that does not
 * fit waits one second until its peer tries again. The kernel's own limit is
 * net.core.somaxconn (4,096). */
#define LISTENER_BACKLOG 1024

/* The shortest time, in seconds, for which Linux retransmits unacknowledged
 * bytes by default (net.ipv4.tcp_retries2 is 15). */
#define LISTENER_RETRANSMISSION_S 924

/*
 * TAKE_FD listens, non-blocking; -1: E_IO. NAME ("control", ...) is for logs.
 * ACCEPTED gets each new socket, non-blocking, and owns it. KEEPALIVE
 * is borrowed; NULL: leave it to the system. When it is on, a peer that is
 * silent for idle + interval * count seconds is disconnected, also while it has
 * not acknowledged a reply (TCP_USER_TIMEOUT), if that time is shorter than
 * LISTENER_RETRANSMISSION_S.
 */
enum status listener_create(struct listener **out, struct event_base *base,
    int take_fd, const char *name, const struct keepalive *keepalive,
    void (*accepted)(int take_fd, const struct sockaddr *peer, void *arg),
    void *arg) MUST_CHECK;
void listener_destroy(struct listener *l); /* NULL is fine */

/* Its socket, borrowed. */
int listener_fd(const struct listener *l);

/* The socket that URL has, or one that is bound, listening and non-blocking.
 * -1: the reason is logged at LEVEL. */
int listener_open(const struct listen_url *url, const char *name,
    enum log_level level) MUST_CHECK;

#endif
