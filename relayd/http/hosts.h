/* SPDX-License-Identifier: MIT */
/*
 * Whom the Host of a request names (RFC 9112, 3.2). A page of somebody else can
 * let its own name lead to our address (DNS rebinding) and then read what we
 * answer; its requests have that name. So a name must be known.
 */
#ifndef RELAYD_HTTP_HOSTS_H
#define RELAYD_HTTP_HOSTS_H

#include <stdbool.h>

struct sockaddr;

/*
 * Is HOST ("name[:port]", "1.2.3.4", "[::1]:80"; NULL: none was sent)
 * "localhost", the address LOCAL to which the client connected, or one of the N
 * NAMES? Names are compared without case; ports do not matter.
 */
bool host_is_ours(const char *host, const struct sockaddr *local,
    const char *const *names, unsigned n);

#endif
