/* SPDX-License-Identifier: MIT */
/*
 * The source "live sessions of a relay": one of them, or all, present and
 * future. Each has a thread and a connection of its own; a failure of one harms
 * no other, and is retried.
 */
#ifndef TOOLS_SEND_FROM_LIVE_H
#define TOOLS_SEND_FROM_LIVE_H

#include <signal.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/send/options.h"
#include "tools/send/report.h"
#include "tools/sink/sink.h"

/* How often to ask the relay for its sessions. A viewer sees no stream that
 * ended before it came. */
#define FROM_LIVE_LIST_MS 250
/* Bytes of a thread's stack. */
#define FROM_LIVE_STACK (256 * 1024)

/* Send sessions until *STOP becomes true (E_STOPPED), or until the only one has
 * ended. E_REFUSED: that cannot be sent. Failures are in R, and were printed on
 * stderr. */
enum status from_live_run(const struct send_options *o, struct send_sink *sink,
    struct report *r, volatile sig_atomic_t *stop) MUST_CHECK;

#endif
