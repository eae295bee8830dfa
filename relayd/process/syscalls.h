/* SPDX-License-Identifier: MIT */
/* The filter of system calls (seccomp(2)); the list is syscalls.tbl.h. */
#ifndef RELAYD_PROCESS_SYSCALLS_H
#define RELAYD_PROCESS_SYSCALLS_H

#include "common/compiler.h"
#include "common/status.h"

/*
 * For all threads of the process, and for ever. E_NOENT: the kernel has no
 * seccomp, or the build none; E_NOMEM, E_IO: it failed, errno says why.
 */
enum status syscalls_confine(void) MUST_CHECK;

#endif
