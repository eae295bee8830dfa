/* SPDX-License-Identifier: MIT */
/*
 * Unix sockets by path: their addresses, and the removal of stale ones.
 */
#ifndef RELAYD_PROCESS_UNIX_SOCKET_H
#define RELAYD_PROCESS_UNIX_SOCKET_H

#include <stdbool.h>
#include <sys/un.h>

#include "common/compiler.h"
#include "common/status.h"

/* E_LIMIT: the path is empty, or too long for an address. */
enum status unix_socket_address(
    struct sockaddr_un *addr, const char *path) MUST_CHECK;
/* Remove the socket at PATH if no process listens on it. Returns true if it was
 * removed. */
bool unix_socket_remove_stale(const char *path);

#endif
