/* SPDX-License-Identifier: MIT */
/* The URLs of -C, -D and -L: where to listen (streaming 6.1). */
#ifndef RELAYD_PROCESS_LISTEN_URL_H
#define RELAYD_PROCESS_LISTEN_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct addrinfo;

struct listen_url {
	int family;	  /* AF_INET or AF_INET6 */
	char host[256];	  /* name or address, without brackets */
	uint16_t port;	  /* host order; 0: the system chooses */
	bool has_port;	  /* the URL names a port */
	bool is_explicit; /* set by the user */
	bool has_socket;  /* from the service manager, or a restart */
	int socket_fd;	  /* if has_socket */
	/* The source for messages: "FILE:LINE: " or "VARIABLE: ", cut to fit;
	 * "" for a default or the command line. */
	char where[256];
};

/*
 * [tcp|tcp4|tcp6]://HOST[:PORT][/...], in any case. Sets family, host, port (0
 * if missing), has_port, is_explicit. E_MALFORMED: *WHY is the reason, and *U
 * is undefined. An address of another family is refused; names are not
 * resolved.
 */
enum status listen_url_parse(
    struct listen_url *u, const char *s, const char **why) MUST_CHECK;

/* The URL of U with PORT instead of its own. */
void listen_url_show(
    const struct listen_url *u, uint16_t port, char *out, size_t n);

/*
 * The addresses to bind a socket of TYPE to; freed by the caller with
 * freeaddrinfo(). May ask a name server. If "localhost" is not found, the
 * loopback address is used. Returns 0, or an error for gai_strerror().
 */
int listen_url_find(
    const struct listen_url *u, int type, struct addrinfo **found) MUST_CHECK;
/* The port of the bound socket FD, host order; 0: none. */
uint16_t listen_url_port(int fd);
/* Is the socket FD bound to an address of U's host? Also if that cannot be
 * resolved. */
bool listen_url_is_host(const struct listen_url *u, int fd);

#endif
