/* SPDX-License-Identifier: MIT */
/* Landlock: which files the process may reach (landlock(7)). */
#ifndef RELAYD_PROCESS_LANDLOCK_H
#define RELAYD_PROCESS_LANDLOCK_H

#include "common/compiler.h"
#include "common/status.h"

struct sandbox;

/* Below this version of the interface, no file may be renamed into another
 * directory, which rotations do. */
#define LANDLOCK_ABI_MIN 2

/*
 * Confine the calling thread, and those that it starts from now on. E_NOENT:
 * the kernel has no Landlock, or it is switched off, or too old; E_IO: it
 * failed. Then errno says why. It needs PR_SET_NO_NEW_PRIVS.
 */
enum status landlock_confine(const struct sandbox *s) MUST_CHECK;

#endif
