/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat, any bytes of it: it is read, and its pages become packets of
 * CTF, each of which keeps the promises of kernel_packet.h.
 */
#include "tests/ftrace/whole.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct kernel_counts counts;

	(void)!whole_convert(p, n, &counts);
	return 0;
}
