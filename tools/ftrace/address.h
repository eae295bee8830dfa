/* SPDX-License-Identifier: MIT */
/* Addresses of peers, and sockets that wait for them. Any thread, but for
 * address_host(). */
#ifndef TOOLS_FTRACE_ADDRESS_H
#define TOOLS_FTRACE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"

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

#endif
