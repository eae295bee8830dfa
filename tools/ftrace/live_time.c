/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/live_time.h"

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
	/* What is known of a silent sender stays. */
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

#define MS UINT64_C(1000000)

static bool
is_flushed(const struct live_hold *h)
{
	return h->partial >= LIVE_HOLD_PAGES;
}

static void
note_fill(struct live_hold *h, uint64_t arrival, bool is_partial)
{
	if (is_partial) {
		h->full_ns = 0;
		h->partial += !is_flushed(h);
	} else if (h->full_ns == 0) {
		h->full_ns = arrival;
	} else if (arrival - h->full_ns >= LIVE_HOLD_FULL_MS * MS) {
		h->partial = 0;
	}
}

void
live_hold_page(
    struct live_hold *h, uint64_t arrival, uint64_t age, bool is_partial)
{
	note_fill(h, arrival, is_partial);
	/* Pages from before the first flush are of any age. */
	if (!is_flushed(h)) {
		h->began_ns = arrival;
		h->now_age = h->before_age = 0;
		return;
	}
	if (arrival - h->began_ns >= LIVE_HOLD_PART_NS) {
		h->began_ns = arrival;
		h->before_age = h->now_age;
		h->now_age = 0;
	}
	if (age > h->now_age)
		h->now_age = age;
}

uint64_t
live_hold_ns(const struct live_hold *h)
{
	uint64_t age = h->now_age > h->before_age ? h->now_age : h->before_age;

	if (h->fixed_ns != LIVE_HOLD_AUTO)
		return h->fixed_ns;
	if (!is_flushed(h) || age > LIVE_HOLD_MS * MS)
		return LIVE_HOLD_MS * MS;
	age += age / 4;
	if (age < LIVE_HOLD_FLUSHED_MS * MS)
		age = LIVE_HOLD_FLUSHED_MS * MS;
	return age < LIVE_HOLD_MS * MS ? age : LIVE_HOLD_MS * MS;
}
