/* SPDX-License-Identifier: MIT */
/* Durations, counted in buckets of 1/32 of their size: any number of them in
 * fixed memory, percentiles to 3 %. */
#ifndef TESTS_BENCH_HISTOGRAM_H
#define TESTS_BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS (60 * 32)

struct histogram {
	uint64_t count, max;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t ns);
/* The value that PERCENT of all are not above; 0 if there is none. */
uint64_t histogram_percentile(const struct histogram *h, double percent);

#endif
