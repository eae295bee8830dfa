/* SPDX-License-Identifier: MIT */
/* Traces on the relay's disk. Main thread. */
#ifndef TOOLS_CTL_STORED_H
#define TOOLS_CTL_STORED_H

#include <stdbool.h>

#include "tools/ctl/ctl.h"

/* Does the relay report that no trace is stored at PATH any more? False if it
 * is not known. */
bool stored_is_gone(const struct ctl *c, const char *path) MUST_CHECK;

#endif
