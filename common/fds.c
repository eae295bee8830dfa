/* SPDX-License-Identifier: MIT */
#include "common/fds.h"

#include <sys/resource.h>

struct account fds[FDS_SHARES] = {
	[0 ... FDS_SHARES - 1] = { .hard = UINT64_MAX },
};

static struct {
	struct published promised, lent;
} lending;

/* The limit of promised and lent descriptors together. */
static uint64_t
lend_max(void)
{
	const uint64_t max = fds[FDS_SESSIONS].hard;

	return max == UINT64_MAX ? 0 : max - max / 4;
}

bool
fds_promise(uint64_t n)
{
	const uint64_t lent = published(&lending.lent);

	if (lent > 0 && n + lent > fds[FDS_SESSIONS].hard)
		return false;
	publish(&lending.promised, n);
	return true;
}

bool
fds_lend(unsigned n)
{
	if (published_add(&lending.lent, n) + published(&lending.promised) <=
	    lend_max())
		return true;
	fds_lent_back(n);
	return false;
}

void
fds_lent_back(unsigned n)
{
	published_sub(&lending.lent, n);
}

bool
fds_are_wanted(void)
{
	return published(&lending.lent) + published(&lending.promised) >
	       lend_max();
}

uint64_t
fds_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 256;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}
