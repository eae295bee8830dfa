/* SPDX-License-Identifier: MIT */
/* A TCP socket to a peer that may vanish. Any thread. */
#ifndef TOOLS_CLIENT_TCP_OPTIONS_H
#define TOOLS_CLIENT_TCP_OPTIONS_H

#include <stdbool.h>

#include "tools/client/url.h"

/* Nothing was heard for IDLE_S: COUNT probes leave, one each INTERVAL_S. */
struct tcp_keepalive {
	int idle_s, interval_s, count;
};

/* A machine that is gone is noticed after two minutes. */
extern const struct tcp_keepalive tcp_keepalive_two_minutes;

/* No delay (TCP_NODELAY), and keep-alive. False, with errno: an option is
 * not set; the others are. */
bool tcp_options_set(int fd, const struct tcp_keepalive *k);

/* Begin to connect to a relay, without waiting. -1: errno. */
int tcp_connect(const struct url_address *to);

#endif
