/* SPDX-License-Identifier: MIT */
#include "tools/client/pace.h"

#include "common/clock.h"

#define DEPTH_NS (10 * NS_PER_MS)
#define DEPTH_LEAST 1024
#define GRAIN_MOST (64 * 1024)

void
pace_init(struct pace *p, uint64_t rate, uint64_t now_ns)
{
	*p = (struct pace){ .rate = rate, .at_ns = now_ns };
}

static int64_t
brought(uint64_t rate, uint64_t ns)
{
	return (int64_t)((double)rate * (double)ns / (double)NS_PER_S);
}

static int64_t
depth(const struct pace *p)
{
	const int64_t n = brought(p->rate, DEPTH_NS);

	return n < DEPTH_LEAST ? DEPTH_LEAST : n;
}

static int64_t
grain(const struct pace *p)
{
	const int64_t n = depth(p);

	return n < GRAIN_MOST ? n : GRAIN_MOST;
}

size_t
pace_allowance(struct pace *p, uint64_t now_ns)
{
	const int64_t most = depth(p);
	int64_t more = brought(p->rate, now_ns - p->at_ns);

	if (p->rate == 0)
		return SIZE_MAX;
	/* Less than a whole token stays to be counted. */
	if (more > 0) {
		p->tokens += more;
		p->at_ns = now_ns;
	}
	if (p->tokens > most)
		p->tokens = most;
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
