/* SPDX-License-Identifier: MIT */
/*
 * As few privileges as possible (capabilities(7)): CAP_NET_RAW until the inputs
 * are open, then none. Call these before threads are started, and
 * privileges_drop() in each thread that existed before.
 */
#ifndef TOOLS_CAPTURE_PRIVILEGES_H
#define TOOLS_CAPTURE_PRIVILEGES_H

#include "common/compiler.h"
#include "common/status.h"

/* Keep CAP_NET_RAW, if the program has it, and what allows a larger buffer and
 * files of others. E_IO with errno. */
enum status privileges_keep_capture(void) MUST_CHECK;
/* Drop all privileges for good (PR_SET_NO_NEW_PRIVS). E_IO with errno. */
enum status privileges_drop(void) MUST_CHECK;

#endif
