/* SPDX-License-Identifier: MIT */
#include "tests/bench/histogram.h"

/* The first 64 values have a bucket each, then each power of two has 32. */
static unsigned
bucket_of(uint64_t v)
{
	unsigned top;

	if (v < 64)
		return (unsigned)v;
	top = 63 - (unsigned)__builtin_clzll(v);
	return (top - 4) * 32 + (unsigned)(v >> (top - 5) & 31);
}

/* The largest value of a bucket. */
static uint64_t
bucket_end(unsigned i)
{
	if (i < 64)
		return i;
	return ((UINT64_C(33) + i % 32) << (i / 32 - 1)) - 1;
}

void
histogram_add(struct histogram *h, uint64_t ns)
{
	h->buckets[bucket_of(ns)]++;
	h->count++;
	if (ns > h->max)
		h->max = ns;
}

uint64_t
histogram_percentile(const struct histogram *h, double percent)
{
	const double wanted = (double)h->count * percent / 100;
	uint64_t seen = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen > 0 && (double)seen >= wanted)
			return bucket_end(i) < h->max ? bucket_end(i) : h->max;
	}
	return h->max;
}
