/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail when a test wants it, those of the calling thread. The
 * program links with $(FAULT_LDFLAGS); without, nothing ever fails.
 */
#ifndef TESTS_LIB_FAULT_H
#define TESTS_LIB_FAULT_H

#include <stdbool.h>

/* The N-th allocation from now fails, 1 being the next. */
void fault_arm(unsigned n);
/* No more failures; did one happen? Before anything is asserted: Check
 * allocates, too. */
bool fault_disarm(void);
/* In between, for what belongs to the test: none fails, none is counted down;
 * what was left is given back to the second. */
unsigned fault_pause(void);
void fault_go_on(unsigned left);
/* Allocations (malloc, calloc, realloc, strdup, asprintf) so far. */
unsigned long fault_count(void);

#endif
