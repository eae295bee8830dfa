/* SPDX-License-Identifier: MIT */
/*
 * The address of a relay, as tracers write it:
 * net://HOST[:CONTROL[:DATA]][/PATH], net4:// and net6:// for one address
 * family; an IPv6 address is in brackets. Ports default to 5342 and 5343; PATH
 * is the session's base path.
 */
#ifndef TOOLS_CLIENT_URL_H
#define TOOLS_CLIENT_URL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"
#include "common/status.h"

#define URL_HOST_MAX 256
#define URL_PATH_MAX 4096
#define URL_CONTROL_PORT 5342
#define URL_DATA_PORT 5343
#define URL_LIVE_PORT 5344

struct url {
	int family; /* AF_UNSPEC, AF_INET, AF_INET6 */
	char host[URL_HOST_MAX];
	uint16_t control, data;
	char path[URL_PATH_MAX]; /* without its first slash; may be "" */
};

/* Does TEXT begin like an address? */
bool url_is(const char *text);
/* E_MALFORMED: *WHY is a constant string. */
enum status url_parse(
    struct url *u, const char *text, const char **why) MUST_CHECK;

/* The address of a relay for viewers, net://HOST[:LIVE][/PATH]: u->control is
 * the live port. */
enum status url_parse_live(
    struct url *u, const char *text, const char **why) MUST_CHECK;

struct url_address {
	struct sockaddr_storage sa;
	socklen_t len;
};

/* The addresses of the host, with the control port, in the resolver's order: a
 * name may have several, and not all of them may have a relay. E_NOENT: *WHY is
 * the resolver's reason. May block. With GOES_ON, it calls GOES_ON(ARG) every
 * TICK_MS while it waits, and returns E_STOPPED when that returns false. */
#define URL_ADDRESSES 4
enum status url_resolve(const struct url *u,
    struct url_address out[URL_ADDRESSES], unsigned *n, const char **why,
    int tick_ms, bool (*goes_on)(void *arg), void *arg) MUST_CHECK;
/* The same address with another port. */
struct url_address url_with_port(const struct url_address *a, uint16_t port);
/* Is A a loopback address (RFC 1122 3.2.1.3, RFC 4291 2.5.3 and 2.5.5.2)? */
bool url_is_loopback(const struct url_address *a);

#endif
