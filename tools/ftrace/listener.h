/* SPDX-License-Identifier: MIT */
/* The port to which recorders connect. libevent; the loop's thread. */
#ifndef TOOLS_FTRACE_LISTENER_H
#define TOOLS_FTRACE_LISTENER_H

#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"
#include "common/status.h"

struct event_base;
struct listener;

/* All addresses, or HOST. Each connection is given to ACCEPTED, non-blocking.
 * Failures are logged. PORT 0: any. */
enum status listener_create(struct listener **out, struct event_base *base,
    const char *host, uint16_t port,
    void (*accepted)(void *arg, int take_fd, const struct sockaddr *peer),
    void *arg) MUST_CHECK;
void listener_destroy(struct listener *l); /* NULL is fine */
uint16_t listener_port(const struct listener *l);

#endif
