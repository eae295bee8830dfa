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

#define ADDRESS_TEXT 80

/* "127.0.0.1:80", "fe80::1:80"; IPv4 mapped to IPv6 is shown as IPv4. */
void address_text(char out[ADDRESS_TEXT], const struct sockaddr *a);
/* Copies an address of IPv4 or IPv6. */
void address_copy(struct sockaddr_storage *out, const struct sockaddr *a);
uint16_t address_port(const struct sockaddr *a);
/* Equal addresses, with any ports. */
bool address_is_same(const struct sockaddr *a, const struct sockaddr *b);
/* May both be addresses of one host: equal in IPv4, equal in 64 bits
 * in IPv6? */
bool address_is_same_host(const struct sockaddr *a, const struct sockaddr *b);

/* A socket of TYPE bound to PORT of HOST (NULL: all addresses, IPv4 and IPv6).
 * A TCP socket listens. -1: errno. */
int address_bind(const char *host, uint16_t port, int type);

/* A port that accepts connections. libevent; the loop's thread. */

struct event_base;
struct tcp_port;

/* HOST NULL: all addresses; PORT 0: any. ACCEPTED gets each connection,
 * non-blocking. Failures are logged. */
enum status tcp_port_create(struct tcp_port **out, struct event_base *base,
    const char *host, uint16_t port,
    void (*accepted)(void *arg, int take_fd, const struct sockaddr *peer),
    void *arg) MUST_CHECK;
void tcp_port_destroy(struct tcp_port *l); /* NULL is fine */
uint16_t tcp_port_number(const struct tcp_port *l);

#endif
