/* SPDX-License-Identifier: MIT */
#include "tools/client/pace.h"

#include "common/clock.h"

#define DEPTH_NS (10 * NS_PER_MS)

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

size_t
pace_allowance(struct pace *p, uint64_t now_ns)
{
	const int64_t most = brought(p->rate, DEPTH_NS) + 1;
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
	return p->tokens > 0 ? (size_t)p->tokens : 0;
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
	if (p->rate == 0 || p->tokens > 0)
		return now_ns;
	return p->at_ns +
	       (uint64_t)((double)(1 - p->tokens) * (double)NS_PER_S /
			  (double)p->rate) +
	       1;
}
