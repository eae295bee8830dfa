/* SPDX-License-Identifier: MIT */
/*
 * What relates a recorder's clock to Unix time (trace-cmd 4.4). The clock of a
 * recorder on this machine is measured. Another one's is estimated, from the
 * page that arrived fastest: its delay is not known, but nothing is recorded
 * before the recorder connects, so how wrong the estimate may be is known too.
 * The loop's thread.
 */
#ifndef TOOLS_FTRACE_LIVE_OFFSET_H
#define TOOLS_FTRACE_LIVE_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/ftrace/kernel_trace.h"

/* A recorder here has the clocks of this machine, unless the age of its pages
 * shows that it has others: a tunnel, or another machine of the same name. No
 * page is from the future, or older than this. */
#define LIVE_OFFSET_AGE_MAX_MS 60000

struct live_offset {
	bool is_local;	       /* it connects from an address of this machine */
	uint64_t connected_ns; /* Unix time when it connected; 0: not known */
	uint64_t first_ns;     /* the trace's time of the first event */
	bool has_arrival;      /* ARRIVAL_NS is known */
	int64_t arrival_ns;    /* a minimum of Unix time less the trace's */
};

void live_offset_begin(
    struct live_offset *o, bool is_local, uint64_t connected_ns);
/* A page arrives now; its first event, or its last one, was at NS of the
 * trace. */
void live_offset_first(struct live_offset *o, uint64_t ns);
void live_offset_last(struct live_offset *o, uint64_t ns);
/* Sets the offset, and how wrong it may be. An offset that D states is kept if
 * it was given by hand, or cannot be measured. */
void live_offset_set(const struct live_offset *o, struct kernel_settings *s,
    const struct dat *d);
void live_offset_log(
    const struct kernel_settings *s, const struct dat *d, const char *peer);

#endif
