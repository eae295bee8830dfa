/* SPDX-License-Identifier: MIT */
/* The address of a live session for viewers. Any thread. */
#ifndef TOOLS_CTL_WATCH_H
#define TOOLS_CTL_WATCH_H

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ctl/address.h"
#include "tools/ctl/session.h"

#define WATCH_URL_MAX 2048

/*
 * net://HOST:PORT/host/HOSTNAME/NAME, as babeltrace2 takes it. A: the address
 * of the relay's HTTP server; LISTENS and PORT: where the relay listens for
 * viewers, as it reports. A local relay may be followed only to another address
 * of this machine. Not OK: *WHY is a constant text.
 */
enum status watch_url(char out[WATCH_URL_MAX], const struct address *a,
    const char *listens, unsigned port, const struct relay_session *s,
    const char **why) MUST_CHECK;

#endif
