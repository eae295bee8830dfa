/* SPDX-License-Identifier: MIT */
/* One run of tracepulse-capture: from a trace of its own back to packets. */
#ifndef TOOLS_CAPTURE_FROM_CTF_H
#define TOOLS_CAPTURE_FROM_CTF_H

#include "tools/capture/options.h"

/* The exit status; messages are on stderr. SIGINT and SIGTERM end it, with 1,
 * and what was written until then is whole; a second one kills. */
int from_ctf_run(const struct capture_options *o);

#endif
