/* SPDX-License-Identifier: MIT */
/* splitmix64: numbers that look random and are the same in every run. */
#ifndef TESTS_BENCH_MIX_H
#define TESTS_BENCH_MIX_H

#include <stdint.h>

static inline uint64_t
mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

#endif
