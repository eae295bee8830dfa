/* SPDX-License-Identifier: MIT */
/* The filter of system calls (seccomp(2)); the list is syscalls.tbl.h. */
#ifndef COMMON_SYSCALLS_H
#define COMMON_SYSCALLS_H

#include "common/compiler.h"
#include "common/status.h"

/*
 * Restrict all threads of the process forever. E_NOENT: no seccomp in the
 * kernel or in this build; E_NOMEM, E_IO: see errno.
 */
enum status syscalls_confine(void) MUST_CHECK;

#endif
