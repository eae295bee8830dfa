/* SPDX-License-Identifier: MIT */
/* The two tasks of tracepulse-capture. */
#ifndef TOOLS_CAPTURE_CAPTURE_H
#define TOOLS_CAPTURE_CAPTURE_H

#include "tools/capture/options.h"

/* From inputs to one output. Returns the exit status; messages go to stderr.
 * SIGINT and SIGTERM end it in order, within CAPTURE_END_MS even if the relay
 * or a FIFO hangs. */
#define CAPTURE_END_MS 800
int capture_run(const struct capture_options *o);

/* From a trace made by this program back to packets. Returns the exit status;
 * messages go to stderr. SIGINT and SIGTERM end it, with 1, and what was
 * written until then is complete; a second signal kills. */
int from_ctf_run(const struct capture_options *o);

#endif
