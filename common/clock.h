/* SPDX-License-Identifier: MIT */
/* Time, in one place, so that tests can set it. Any thread. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

uint64_t clock_now_ns(void);  /* monotonic, arbitrary origin */
uint64_t clock_wall_s(void);  /* seconds since the Unix epoch */
uint64_t clock_wall_ns(void); /* the same in nanoseconds */
double clock_cpu_s(void);     /* processor time of this process; 0: not known */

/* Milliseconds from now to UNTIL_NS for poll(2), rounded up so that the wait
 * does not end early; 0: it has passed. */
int clock_ms_until(uint64_t until_ns);

/* The earlier of two times. */
static inline uint64_t
clock_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* For tests, before any thread is started: both clocks stand still at these
 * times. */
void clock_freeze(uint64_t now_ns, uint64_t wall_s);

#endif
