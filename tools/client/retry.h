/* SPDX-License-Identifier: MIT */
/* The pause before something that failed is tried again: it doubles each time,
 * up to half a minute. */
#ifndef TOOLS_CLIENT_RETRY_H
#define TOOLS_CLIENT_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/status.h"

#define RETRY_FIRST_NS NS_PER_S
#define RETRY_LAST_NS (30 * NS_PER_S)

struct retry {
	uint64_t pause_ns; /* 0: nothing has failed since a success */
};

/* It has failed: how long to wait. */
static inline uint64_t
retry_pause(struct retry *r)
{
	const uint64_t pause = r->pause_ns == 0 ? RETRY_FIRST_NS : r->pause_ns;

	r->pause_ns = pause * 2 < RETRY_LAST_NS ? pause * 2 : RETRY_LAST_NS;
	return pause;
}

/* May a relay whose client failed with ST be there later? A relay that
 * WAS_THERE may refuse a session while it starts. */
static inline bool
retry_may_help(enum status st, bool was_there)
{
	return st == E_IO || st == E_NOENT || st == E_STOPPED ||
	       (st == E_REFUSED && was_there);
}

/* It has succeeded. */
static inline void
retry_reset(struct retry *r)
{
	r->pause_ns = 0;
}

#endif
