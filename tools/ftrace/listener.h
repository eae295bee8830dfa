/* SPDX-License-Identifier: MIT */
/* Addresses of peers, and sockets that wait for them. Any thread, but for
 * address_host(). */
#ifndef TOOLS_FTRACE_LISTENER_H
#define TOOLS_FTRACE_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"
#include "common/status.h"

#define ADDRESS_TEXT 80

/* "127.0.0.1", "fe80::1"; an IPv4 address in IPv6 is shown as IPv4. */
void address_host(char out[ADDRESS_TEXT], const struct sockaddr *a);
uint16_t address_port(const struct sockaddr *a);
/* The same address, whatever the ports. */
bool address_is_same(const struct sockaddr *a, const struct sockaddr *b);
/* Addresses that one host may have: the same of IPv4, or 64 bits of IPv6. */
bool address_is_neighbour(const struct sockaddr *a, const struct sockaddr *b);

/* A socket of TYPE that is bound to PORT of HOST (NULL: all addresses, IPv4 and
 * IPv6); one of TCP listens. -1: errno. */
int address_bind(const char *host, uint16_t port, int type);
uint16_t address_bound_port(int fd);

/* The port to which recorders connect. libevent; the loop's thread. */

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
