/* SPDX-License-Identifier: MIT */
/* What this process may use of its machine. */
#ifndef RELAYD_PROCESS_MACHINE_H
#define RELAYD_PROCESS_MACHINE_H

#include <stdint.h>

/*
 * Bytes of memory: those of the machine, or the limit of the process's control
 * group, or of one above it, if that is less (cgroups(7): memory.max of version
 * 2, memory.limit_in_bytes of version 1). 0: not known. ROOT is "" but in
 * tests: a directory with proc/ and sys/ in it.
 */
uint64_t machine_memory(const char *root);

#endif
