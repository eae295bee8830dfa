/* SPDX-License-Identifier: MIT */
/* One session: all traces, once. */
#ifndef TOOLS_SEND_SENDER_H
#define TOOLS_SEND_SENDER_H

#include <signal.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/client.h"
#include "tools/send/options.h"
#include "tools/send/report.h"
#include "tools/send/trace.h"

/* What the options say of a session that NAME is the default name of; it has
 * WATCH, and both are borrowed. One thread. */
struct client_config sender_config(const struct send_options *o,
    const char *name, const struct client_watch *watch);

/*
 * Send one session, from connect to close. When *STOP becomes true (a signal
 * handler sets it), nothing more is sent, and the session is closed, if the
 * relay answers within a second: E_STOPPED. Other failures are in R, and were
 * printed on stderr.
 */
enum status sender_run(const struct send_options *o, struct traces *t,
    struct report *r, volatile sig_atomic_t *stop) MUST_CHECK;

#endif
