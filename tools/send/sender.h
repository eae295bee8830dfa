/* SPDX-License-Identifier: MIT */
/* One session: all traces, once. */
#ifndef TOOLS_SEND_SENDER_H
#define TOOLS_SEND_SENDER_H

#include <signal.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/send/options.h"
#include "tools/send/report.h"
#include "tools/sink/sink.h"
#include "tools/send/trace.h"

/* What the options say of a session that NAME is the default name of, which is
 * borrowed. One thread. */
struct send_session sender_session(
    const struct send_options *o, const char *name);

/*
 * Send one session, from connect to close. When *STOP becomes true (a signal
 * handler sets it), nothing more is sent, and the session is closed, if the
 * relay answers within a second: E_STOPPED. Other failures are in R, and were
 * printed on stderr.
 */
enum status sender_run(const struct send_options *o, struct send_sink *sink,
    struct traces *t, struct report *r, volatile sig_atomic_t *stop) MUST_CHECK;

#endif
