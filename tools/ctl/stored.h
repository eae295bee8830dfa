/* SPDX-License-Identifier: MIT */
/* Traces on the relay's disk. Main thread. */
#ifndef TOOLS_CTL_STORED_H
#define TOOLS_CTL_STORED_H

#include <stdbool.h>

#include "tools/ctl/ctl.h"

/* Does the relay report that no trace is stored at PATH any more? False if it
 * is not known. */
bool stored_is_gone(const struct ctl *c, const char *path) MUST_CHECK;

/*
 * The stored traces with the path, id, name or HOST/NAME TEXT, a new array;
 * more than one only if it MAY_BE_MANY. NULL: there is none, or there are too
 * many, and a message was printed.
 */
json_t *stored_choose(
    struct ctl *c, const char *text, bool may_be_many) MUST_CHECK;

#endif
