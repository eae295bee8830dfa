/* SPDX-License-Identifier: MIT */
/* Unix sockets by path. */
#ifndef RELAYD_PROCESS_UNIX_SOCKET_H
#define RELAYD_PROCESS_UNIX_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/compiler.h"
#include "common/status.h"

/* E_LIMIT: the path is empty, or too long for an address. */
enum status unix_socket_address(
    struct sockaddr_un *addr, const char *path) MUST_CHECK;
/* Remove the socket at PATH if no process listens on it. Returns true if it was
 * removed. */
bool unix_socket_remove_stale(const char *path);

/* A listening socket's file. */
struct unix_socket {
	struct sockaddr_un address;
	struct stat file; /* st_ino 0: there is none */
};

/* Listen at PATH, and replace a stale socket there. The file gets MODE and, if
 * it is not -1, GROUP; MODE 0: by the umask. Nobody can connect before. Returns
 * the socket, or -1 with errno: EADDRINUSE, something else is there. */
int unix_socket_listen(struct unix_socket *s, const char *path, mode_t mode,
    gid_t group) MUST_CHECK;
/* Remove the file, unless another socket has replaced it. */
void unix_socket_remove(const struct unix_socket *s);

/* Descriptors in one message: the kernel's SCM_MAX_FD. */
#define UNIX_SOCKET_FDS 253

/* Send the N bytes at P in one message, to TO (LEN bytes) unless it is NULL,
 * with the N_FDS descriptors at FDS, which stay open. False: see errno. */
bool unix_socket_send(int fd, const void *p, size_t n,
    const struct sockaddr_un *to, socklen_t len, const int *fds, unsigned n_fds,
    int flags) MUST_CHECK;
/* Receive one message of exactly N bytes, and its descriptors: at most
 * *N_FDS of them. False: something else came, or nothing; then no descriptor is
 * left open. */
bool unix_socket_receive(
    int fd, void *p, size_t n, int *fds, unsigned *n_fds, int flags) MUST_CHECK;

#endif
