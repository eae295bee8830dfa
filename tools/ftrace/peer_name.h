/* SPDX-License-Identifier: MIT */
/*
 * The host name of a peer, by which the file of a recorder is named, as stock
 * names it. A thread asks the name server, which is not trusted. The loop's
 * thread.
 */
#ifndef TOOLS_FTRACE_PEER_NAME_H
#define TOOLS_FTRACE_PEER_NAME_H

#include <sys/socket.h>

#include "tools/ftrace/command_loop.h"

struct peer_name;

/* Calls FOUND once with HOST:PORT, or with "" if there is no name, unless
 * peer_name_cancel() is called before. NULL: it is no Internet address, or no
 * memory; FOUND is not called. */
struct peer_name *peer_name_ask(struct background *names,
    const struct sockaddr *peer, void (*found)(void *arg, const char *name),
    void *arg);
/* A lookup that still waits is removed: otherwise peers that come and go could
 * queue any number of slow ones. NULL is fine. */
void peer_name_cancel(struct peer_name *q);

#endif
