/* SPDX-License-Identifier: MIT */
/* Where a live session is watched. Any thread. */
#ifndef TOOLS_CTL_WATCH_H
#define TOOLS_CTL_WATCH_H

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ctl/address.h"
#include "tools/ctl/session.h"

#define WATCH_URL_MAX 2048

/*
 * net://HOST:PORT/host/HOSTNAME/NAME, as babeltrace2 takes it. A: where the
 * relay's HTTP is; LISTENS and PORT: where it says that it listens for viewers,
 * which is followed only to another address of this machine. Not OK: *WHY is a
 * constant text.
 */
enum status watch_url(char out[WATCH_URL_MAX], const struct address *a,
    const char *listens, unsigned port, const struct session *s,
    const char **why) MUST_CHECK;

#endif
