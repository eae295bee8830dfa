/* SPDX-License-Identifier: MIT */
#include "tools/client/pace.h"

#include "common/clock.h"

#define DEPTH_NS (10 * NS_PER_MS)
#define DEPTH_LEAST 1024
#define GRAIN_MOST (64 * 1024)

/* This is far beyond any network; sums of it stay within 64 bits. */
#define RATE_MOST (INT64_MAX / 4)

void
pace_init(struct pace *p, uint64_t rate, uint64_t now_ns)
{
	*p = (struct pace){ .rate = rate < RATE_MOST ? rate : RATE_MOST,
		.at_ns = now_ns };
}

static double
brought(const struct pace *p, uint64_t ns)
{
	return (double)p->rate * (double)ns / (double)NS_PER_S;
}

static int64_t
depth(const struct pace *p)
{
	const int64_t n = (int64_t)brought(p, DEPTH_NS);

	return n < DEPTH_LEAST ? DEPTH_LEAST : n;
}

/* The grain. For a slow rate it is what one second brings: a peer waits that
 * long. */
static int64_t
grain(const struct pace *p)
{
	const int64_t n = depth(p);

	if ((uint64_t)n > p->rate)
		return (int64_t)p->rate;
	return n < GRAIN_MOST ? n : GRAIN_MOST;
}

/* Add the tokens that the time brought. A part of a token is counted next
 * time. */
static void
fill(struct pace *p, uint64_t now_ns)
{
	const int64_t most = depth(p);
	const double more = brought(p, now_ns - p->at_ns);

	if (more < 1)
		return;
	if (more >= (double)(most - p->tokens)) {
		p->tokens = most;
		p->at_ns = now_ns;
		return;
	}
	p->tokens += (int64_t)more;
	p->at_ns += (uint64_t)((double)(int64_t)more * (double)NS_PER_S /
			       (double)p->rate);
}

size_t
pace_allowance(struct pace *p, uint64_t now_ns)
{
	if (p->rate == 0)
		return SIZE_MAX;
	fill(p, now_ns);
	return p->tokens >= grain(p) ? (size_t)p->tokens : 0;
}

void
pace_spend(struct pace *p, size_t bytes)
{
	if (p->rate != 0)
		p->tokens -= (int64_t)bytes;
}

uint64_t
pace_ready_ns(const struct pace *p, uint64_t now_ns)
{
	if (p->rate == 0 || p->tokens >= grain(p))
		return now_ns;
	return p->at_ns +
	       (uint64_t)((double)(grain(p) - p->tokens) * (double)NS_PER_S /
			  (double)p->rate) +
	       1;
}
