/* SPDX-License-Identifier: MIT */
/*
 * A trace that is being recorded on this machine, by a relay or by LTTng
 * itself, is sent on while it grows: new streams, metadata that grows, trace
 * chunks and rings of tracefiles included.
 */
#ifndef TOOLS_SEND_FOLLOW_H
#define TOOLS_SEND_FOLLOW_H

#include <signal.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/send/options.h"
#include "tools/send/report.h"
#include "tools/sink/sink.h"

/* How often index files are looked at, and directories for new ones. */
#define FOLLOW_LOOK_MS 50
#define FOLLOW_SCAN_MS 500
/* How often the state file is written, if anything was sent. */
#define FOLLOW_STATE_MS 1000
/* How often streams that have ended get beacons. */
#define FOLLOW_ENDED_MS 200
/* Nobody has written, or could write, for this time: the recording has
 * ended. */
#define FOLLOW_END_MS 2000

/* Send it, until nobody records any more. When *STOP becomes true, what is
 * there is sent, and the session closed: E_STOPPED. Other failures are in R,
 * and were printed on stderr. */
enum status follow_run(const struct send_options *o, struct send_sink *sink,
    struct report *r, volatile sig_atomic_t *stop) MUST_CHECK;

#endif
