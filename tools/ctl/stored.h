/* SPDX-License-Identifier: MIT */
/* What is on the relay's disk. Main thread. */
#ifndef TOOLS_CTL_STORED_H
#define TOOLS_CTL_STORED_H

#include <stdbool.h>

#include "tools/ctl/ctl.h"

/* Does the relay say that no trace is stored at PATH any more? False also if it
 * does not say. */
bool stored_is_gone(const struct ctl *c, const char *path) MUST_CHECK;

#endif
