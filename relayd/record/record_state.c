/* SPDX-License-Identifier: MIT */
/* What a shard hands to the next process, except for what its files write. */
#include "common/state.h"
#include "relayd/record/shard.h"

void
shard_put_state(struct state_out *o, const struct shard *sh)
{
	(void)sh;
	o->bad = true;
}

enum status
shard_get_state(struct shard *sh, struct state_in *in)
{
	(void)sh;
	in->r.bad = true;
	return E_MALFORMED;
}
