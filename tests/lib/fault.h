/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail when a test wants it. One thread. The program links
 * with $(FAULT_LDFLAGS); without, nothing ever fails.
 */
#ifndef LIB_FAULT_H
#define LIB_FAULT_H

#include <stdbool.h>

/* The N-th allocation from now fails, 1 being the next. */
void fault_arm(unsigned n);
/* No more failures; did one happen? Before anything is asserted: Check
 * allocates, too. */
bool fault_disarm(void);
/* Allocations (malloc, calloc, realloc) so far. */
unsigned long fault_count(void);

#endif
