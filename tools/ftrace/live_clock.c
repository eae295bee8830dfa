/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/live_clock.h"

static void
note(struct live_clock_part *part, int64_t delay)
{
	if (!part->is_known || delay < part->delay)
		part->delay = delay;
	part->is_known = true;
}

void
live_clock_page(struct live_clock *c, uint64_t arrival, uint64_t time)
{
	/* A silent sender keeps what is known of it. */
	if (c->now.is_known && arrival - c->began_ns >= LIVE_CLOCK_NS) {
		c->before = c->now;
		c->now.is_known = false;
	}
	if (!c->now.is_known)
		c->began_ns = arrival;
	note(&c->now, (int64_t)(arrival - time));
}

bool
live_clock_now(const struct live_clock *c, uint64_t now, uint64_t *time)
{
	struct live_clock_part best = c->now;

	if (c->before.is_known)
		note(&best, c->before.delay);
	*time = now - (uint64_t)best.delay;
	return best.is_known && (int64_t)*time > 0;
}
