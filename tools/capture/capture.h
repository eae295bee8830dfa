/* SPDX-License-Identifier: MIT */
/* One run of tracepulse-capture: from inputs to one output. */
#ifndef TOOLS_CAPTURE_CAPTURE_H
#define TOOLS_CAPTURE_CAPTURE_H

#include "tools/capture/options.h"

/* The exit status; messages are on stderr. SIGINT and SIGTERM end it in order,
 * within CAPTURE_END_MS whatever the relay or a FIFO does. */
#define CAPTURE_END_MS 800
int capture_run(const struct capture_options *o);

#endif
