/* SPDX-License-Identifier: MIT */
#include "common/fds.h"

#include <assert.h>
#include <errno.h>

#include "common/publish.h"

static struct {
	struct published used;
	uint64_t max; /* 0: no limit */
} shares[FDS_SHARES];

void
fds_limit(enum fds_share s, uint64_t max)
{
	assert(max > 0);
	shares[s].max = max;
}

uint64_t
fds_max(enum fds_share s)
{
	return shares[s].max == 0 ? UINT64_MAX : shares[s].max;
}

static struct {
	struct published promised, lent;
} lending;

/* The limit of promised and lent descriptors together. */
static uint64_t
lend_max(void)
{
	const uint64_t max = shares[FDS_SESSIONS].max;

	return max - max / 4;
}

bool
fds_promise(uint64_t n)
{
	const uint64_t lent = published(&lending.lent);

	if (lent > 0 && n + lent > fds_max(FDS_SESSIONS))
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

bool
fds_take(enum fds_share s)
{
	if (published_add(&shares[s].used, 1) <= fds_max(s))
		return true;
	published_sub(&shares[s].used, 1);
	errno = EMFILE;
	return false;
}

void
fds_give(enum fds_share s)
{
	published_sub(&shares[s].used, 1);
}

uint64_t
fds_used(enum fds_share s)
{
	return published(&shares[s].used);
}

uint64_t
fds_left(enum fds_share s)
{
	const uint64_t used = published(&shares[s].used);

	return used < fds_max(s) ? fds_max(s) - used : 0;
}
