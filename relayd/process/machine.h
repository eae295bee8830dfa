/* SPDX-License-Identifier: MIT */
/* The resources that this process may use. */
#ifndef RELAYD_PROCESS_MACHINE_H
#define RELAYD_PROCESS_MACHINE_H

#include <stdint.h>

/*
 * Bytes of memory: of the machine, or the lower limit of the process's control
 * group or one above it (cgroups(7): memory.max of version 2,
 * memory.limit_in_bytes of version 1). 0: unknown. ROOT is "" except in tests:
 * a directory with proc/ and sys/ in it.
 */
uint64_t machine_memory(const char *root);

#endif
