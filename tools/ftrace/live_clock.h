/* SPDX-License-Identifier: MIT */
/*
 * What time it is for a sender, of which only pages come (trace-cmd 4.4): the
 * page that was under way for the shortest time says best how its clock and
 * ours differ. Clocks drift, so only pages of the last one to two minutes
 * count. Pure functions; all times are ns.
 */
#ifndef TOOLS_FTRACE_LIVE_CLOCK_H
#define TOOLS_FTRACE_LIVE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Clocks that differ by 100 ppm, which is a bad one, drift 6 ms meanwhile. */
#define LIVE_CLOCK_NS (60 * UINT64_C(1000000000))

struct live_clock {
	struct live_clock_part {
		bool is_known;
		int64_t delay; /* our time less the sender's, at least */
	} now, before;
	uint64_t began_ns; /* of the part NOW */
};

/* A page came at ARRIVAL of our clock; its last event was at TIME. */
void live_clock_page(struct live_clock *c, uint64_t arrival, uint64_t time);
/* The sender's time at NOW of our clock, or a little before it. False: nothing
 * came yet, or its clock has not begun. */
bool live_clock_now(const struct live_clock *c, uint64_t now, uint64_t *time);

#endif
