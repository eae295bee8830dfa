/* SPDX-License-Identifier: MIT */
/*
 * Allocations of the calling thread that fail when a test wants it. The program
 * links with $(FAULT_LDFLAGS); without these flags no allocation fails.
 */
#ifndef TESTS_LIB_FAULT_H
#define TESTS_LIB_FAULT_H

#include <stdbool.h>

/* The N-th allocation from now fails, 1 being the next. */
void fault_arm(unsigned n);
/* Stop failures; did one happen? To be called before any assertion, because
 * Check allocates, too. */
bool fault_disarm(void);
/* Between these two calls no allocation fails, and none is counted down: this
 * is for allocations of the test itself. LEFT is what fault_pause()
 * returned. */
unsigned fault_pause(void);
void fault_go_on(unsigned left);
/* Allocations (malloc, calloc, realloc, strdup, asprintf) so far. */
unsigned long fault_count(void);

#endif
