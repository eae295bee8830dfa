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
