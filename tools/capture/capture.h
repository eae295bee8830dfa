/* SPDX-License-Identifier: MIT */
/* The two things that tracepulse-capture does. */
#ifndef TOOLS_CAPTURE_CAPTURE_H
#define TOOLS_CAPTURE_CAPTURE_H

#include "tools/capture/options.h"

/* From inputs to one output. Returns the exit status; messages go to stderr.
 * SIGINT and SIGTERM end it in order, within CAPTURE_END_MS whatever the relay
 * or a FIFO does. */
#define CAPTURE_END_MS 800
int capture_run(const struct capture_options *o);

/* From a trace of its own back to packets. Returns the exit status; messages go
 * to stderr. SIGINT and SIGTERM end it, with 1, and what was written until then
 * is whole; a second signal kills. */
int from_ctf_run(const struct capture_options *o);

#endif
