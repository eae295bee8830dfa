/* SPDX-License-Identifier: MIT */
/* The clock of a trace. */
#include "common/clock.h"
#include "tools/send/tsdl.h"

uint64_t
tsdl_ns(const struct tsdl *t, uint64_t cycles)
{
	const struct tsdl_clock *c = &t->clock;
	__int128 ns = ((__int128)cycles + c->offset) * (__int128)NS_PER_S;

	ns = ns / (__int128)c->freq + (__int128)c->offset_s * NS_PER_S;
	if (ns > (__int128)UINT64_MAX)
		return UINT64_MAX;
	return ns < 0 ? 0 : (uint64_t)ns;
}

uint64_t
tsdl_cycles(const struct tsdl *t, uint64_t ns)
{
	const struct tsdl_clock *c = &t->clock;
	__int128 v = (__int128)ns - (__int128)c->offset_s * NS_PER_S;

	v = v * (__int128)c->freq / (__int128)NS_PER_S - c->offset;
	if (v > (__int128)UINT64_MAX)
		return UINT64_MAX;
	return v < 0 ? 0 : (uint64_t)v;
}
