/* SPDX-License-Identifier: MIT */
/*
 * As few privileges as possible (capabilities(7)): CAP_NET_RAW until the inputs
 * are open, then none.
 */
#ifndef TOOLS_CAPTURE_PRIVILEGES_H
#define TOOLS_CAPTURE_PRIVILEGES_H

#include <signal.h>

#include "common/compiler.h"
#include "common/status.h"

/* Before threads are started: keep CAP_NET_RAW, if the program has it, and what
 * allows a larger buffer and files of others. E_IO with errno. */
enum status privileges_keep_capture(void) MUST_CHECK;
/* It asks a thread to drop its privileges; nothing else uses it. */
#define PRIVILEGES_SIGNAL SIGURG
/* Drop all privileges of all threads for good (PR_SET_NO_NEW_PRIVS): also of
 * those that a library has started. A thread that blocks PRIVILEGES_SIGNAL must
 * do it itself. E_IO with errno. */
enum status privileges_drop(void) MUST_CHECK;
/* Those of the calling thread only. */
enum status privileges_drop_own(void) MUST_CHECK;

#endif
