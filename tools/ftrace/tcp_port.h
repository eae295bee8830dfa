/* SPDX-License-Identifier: MIT */
/* Addresses of peers, and the sockets that they connect to. Any thread, except
 * for address_text() and struct tcp_port. */
#ifndef TOOLS_FTRACE_TCP_PORT_H
#define TOOLS_FTRACE_TCP_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"
#include "common/status.h"

/* The sizes of a host, which may be a path (unix(7)), and of a port. */
#define ADDRESS_HOST_SIZE 256
#define ADDRESS_PORT_SIZE 32

/* An address that a user gave: HOST:PORT, with IPv6 also in brackets;
 * vsock:CID:PORT (vsock(7)), of which the host is "vsock:CID"; or unix:PATH,
 * which is the host, with the port "". */
struct address {
	char host[ADDRESS_HOST_SIZE], port[ADDRESS_PORT_SIZE];
};
bool address_parse(struct address *out, const char *text);
/* The socket address, if no name need be looked up: of vsock and unix. */
bool address_is_local(
    const struct address *a, struct sockaddr_storage *out, socklen_t *n);
/* The host of further ports beside HOST: of a Unix socket, 127.0.0.1. */
const char *address_ports_host(const char *host);

#define ADDRESS_TEXT 80

/* "127.0.0.1:80", "fe80::1:80"; IPv4 mapped to IPv6 is shown as IPv4. A peer of
 * a vsock is "vsock:CID:PORT", and one of a Unix socket "unix:" and its process
 * id, which tcp_port has stored as the path. */
void address_text(char out[ADDRESS_TEXT], const struct sockaddr *a);
void address_copy(struct sockaddr_storage *out, const struct sockaddr *a);
/* 0: it has none. */
uint16_t address_port(const struct sockaddr *a);
/* Equal addresses, with any ports. A peer of a Unix socket is 127.0.0.1. */
bool address_is_same(const struct sockaddr *a, const struct sockaddr *b);
/* May both be addresses of one host: equal in IPv4, equal in 64 bits
 * in IPv6? */
bool address_is_same_host(const struct sockaddr *a, const struct sockaddr *b);

/* Has it a host name, and its connection options of TCP? */
bool address_is_internet(const struct sockaddr *a);
/* Is PEER, of the connection FD, on this host: do both ends have one
 * address? */
bool address_is_own(int fd, const struct sockaddr *peer);

/* A socket of TYPE bound to PORT of HOST, as in struct address ("": all
 * addresses, IPv4 and IPv6). A stream socket listens. -1: errno. */
int address_bind(const char *host, uint16_t port, int type);

/* A port that accepts connections. libevent; the loop's thread. */

struct event_base;
struct tcp_port;

/* HOST as for address_bind(); PORT 0: any. ACCEPTED gets each connection,
 * non-blocking. Failures are logged. */
enum status tcp_port_create(struct tcp_port **out, struct event_base *base,
    const char *host, uint16_t port,
    void (*accepted)(void *arg, int take_fd, const struct sockaddr *peer),
    void *arg) MUST_CHECK;
void tcp_port_destroy(struct tcp_port *l); /* NULL is fine */
uint16_t tcp_port_number(const struct tcp_port *l);
/* Logs "listening on port N", or on which address, and MORE. */
void tcp_port_log(const struct tcp_port *l, const char *more);

#endif
