/* SPDX-License-Identifier: MIT */
/*
 * What time it is for a sender, of which only pages come (trace-cmd 4.4): the
 * page that was under way for the shortest time says best how its clock and
 * ours differ. Clocks drift, so only pages of the last one to two minutes
 * count. Pure functions; all times are ns.
 */
#ifndef TOOLS_FTRACE_LIVE_TIME_H
#define TOOLS_FTRACE_LIVE_TIME_H

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

/*
 * How long a silent CPU is waited for before it is said that nothing older
 * comes. Without flushes its page may be of any age. Who flushes sends pages
 * that are not half full, all the time, and no CPU's page is older than an
 * interval: then as long as pages took in the last minute, and a quarter more.
 * A page that takes longer is late once; it is waited for from then on. Pure
 * functions; all times are ns.
 */

/* For struct live_hold: as the pages show. */
#define LIVE_HOLD_AUTO UINT64_MAX
/* Without flushes. */
#define LIVE_HOLD_MS 10000
/* With them, at least: two intervals of flush. */
#define LIVE_HOLD_FLUSHED_MS 400
/* So many pages that are not half full show that somebody flushes. */
#define LIVE_HOLD_PAGES 3
/* Only fuller ones for so long show that nobody does any more. */
#define LIVE_HOLD_FULL_MS 5000
/* Pages of the last 30 s to 60 s count. */
#define LIVE_HOLD_PART_NS (30 * UINT64_C(1000000000))

struct live_hold {
	uint64_t fixed_ns; /* not LIVE_HOLD_AUTO: it is this */
	unsigned partial;  /* pages not half full, up to LIVE_HOLD_PAGES */
	uint64_t full_ns;  /* when the first other one came since; 0: none */
	uint64_t began_ns; /* of the part whose greatest age is NOW_AGE */
	uint64_t now_age, before_age;
};

/* A page came at ARRIVAL of our clock; its first event was AGE ago. */
void live_hold_page(
    struct live_hold *h, uint64_t arrival, uint64_t age, bool is_partial);
uint64_t live_hold_ns(const struct live_hold *h);

#endif
