/* SPDX-License-Identifier: MIT */
/* Calls functions that are compiled with -finstrument-functions; prints their
 * addresses, by which lttng-ust-cyg-profile calls them. */
#include <stdio.h>

static volatile int sum;

static void
inner(int n)
{
	sum += n;
}

static void
outer(int n)
{
	for (int i = 0; i < n; i++)
		inner(i);
}

int
main(void)
{
	printf("%p %p %p\n", (void *)main, (void *)outer, (void *)inner);
	outer(1);
	outer(3);
	return 0;
}
