/* SPDX-License-Identifier: MIT */
/*
 * As few privileges as possible (capabilities(7)): CAP_NET_RAW until the inputs
 * are open, then none. Before threads are started.
 */
#ifndef TOOLS_CAPTURE_PRIVILEGES_H
#define TOOLS_CAPTURE_PRIVILEGES_H

#include "common/compiler.h"
#include "common/status.h"

/* Keep CAP_NET_RAW, if it is there, what allows a larger buffer, and what opens
 * files that an administrator may read. E_IO with errno. */
enum status privileges_keep_capture(void) MUST_CHECK;
/* Give all up, for good (PR_SET_NO_NEW_PRIVS). E_IO with errno. */
enum status privileges_drop(void) MUST_CHECK;

#endif
