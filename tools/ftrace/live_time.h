/* SPDX-License-Identifier: MIT */
/*
 * The time of a sender, of which only pages come (trace-cmd 4.4). The page with
 * the shortest delay says best how its clock and ours differ. Clocks drift, so
 * only the pages of the last one to two minutes count. Pure functions; all
 * times are ns.
 */
#ifndef TOOLS_FTRACE_LIVE_TIME_H
#define TOOLS_FTRACE_LIVE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* Clocks that differ by 100 ppm, which is much, drift by 6 ms in this time. */
#define LIVE_CLOCK_NS (60 * UINT64_C(1000000000))

struct live_clock {
	struct live_clock_part {
		bool is_known;
		int64_t delay; /* our time less the sender's: the minimum */
	} now, before;
	uint64_t began_ns; /* when NOW began */
};

/* A page arrived at ARRIVAL of our clock; its last event was at TIME. */
void live_clock_page(struct live_clock *c, uint64_t arrival, uint64_t time);
/* The sender's time at NOW of our clock, or a little less. False: no page has
 * come, or its clock is below 0. */
bool live_clock_now(const struct live_clock *c, uint64_t now, uint64_t *time);

/*
 * How long to wait for the page of a silent CPU before stating that nothing
 * older follows. Unless somebody flushes, a page may be of any age. With
 * flushes, pages that are not half full come all the time, and none is older
 * than the interval: then the hold time is the greatest age in the last minute
 * and a quarter more. A page that takes longer is late once, and changes the
 * hold time.
 */

/* struct live_hold: adapt to the pages. */
#define LIVE_HOLD_AUTO UINT64_MAX
/* Without flushes. */
#define LIVE_HOLD_MS 10000
/* With flushes, at least: two intervals of flush. */
#define LIVE_HOLD_FLUSHED_MS 400
/* This many pages that are not half full show that somebody flushes. */
#define LIVE_HOLD_PAGES 3
/* Only fuller pages for this time show that nobody flushes any more. */
#define LIVE_HOLD_FULL_MS 5000
/* The pages of the last 30 s to 60 s count. */
#define LIVE_HOLD_PART_NS (30 * UINT64_C(1000000000))

struct live_hold {
	uint64_t fixed_ns; /* unless LIVE_HOLD_AUTO: the hold time */
	unsigned partial;  /* pages not half full, up to LIVE_HOLD_PAGES */
	uint64_t
	    full_ns; /* time of the first fuller page after them; 0: none */
	uint64_t began_ns; /* when NOW_AGE began */
	uint64_t now_age, before_age;
};

/* A page arrived at ARRIVAL of our clock; its first event is AGE old. */
void live_hold_page(
    struct live_hold *h, uint64_t arrival, uint64_t age, bool is_partial);
uint64_t live_hold_ns(const struct live_hold *h);

#endif
