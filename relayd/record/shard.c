/* SPDX-License-Identifier: MIT */
#include "relayd/record/shard.h"

#include <assert.h>
#include <stdlib.h>

#include "relayd/stats/stats.h"
#include "store/store.h"

/* Reading the clock costs a tenth of the shortest step. */
#define STEPS_PER_CHECK 8

enum status
shard_create(struct shard **out, const struct shard_config *config,
    const struct store_config *store_config)
{
	struct shard *sh = calloc(1, sizeof(*sh));
	enum status st;

	*out = NULL;
	if (sh == NULL)
		return E_NOMEM;
	shard_take_over(sh);
	sh->config = *config;
	sh->slice.end = UINT64_MAX;
	sh->stats = stats_worker(config->worker);
	list_init(&sh->sessions);
	list_init(&sh->siblings);
	list_init(&sh->old_roots);
	list_init(&sh->work.dirty);
	list_init(&sh->work.locked);
	list_init(&sh->work.pending);
	list_init(&sh->work.gapped);
	list_init(&sh->work.ending);
	list_init(&sh->work.doomed);
	list_init(&sh->work.beacons);
	list_init(&sh->traces.forgetting);
	list_init(&sh->traces.old);
	list_init(&sh->work.orphans);
	list_init(&sh->work.replaced);
	list_init(&sh->work.parked);
	st = store_create(&sh->store, store_config);
	if (st != OK) {
		shard_destroy(sh);
		return st;
	}
	*out = sh;
	return OK;
}

void
shard_take_over(struct shard *sh)
{
	sh->owner = pthread_self();
}

void
shard_begin_slice(struct shard *sh)
{
	uint64_t now;

	if (!sh->slice.is_limited)
		return;
	now = clock_now_ns();
	if (sh->slice.cycle_began == 0)
		sh->slice.cycle_began = now;
	sh->slice.end = now + (now - sh->slice.cycle_began < 2 * SHARD_SLICE_NS
				      ? SHARD_SLICE_NS
				      : SHARD_SLICE_SHORT_NS);
}

bool
shard_may_begin_session(struct shard *sh)
{
	return !sh->slice.is_limited ||
	       ++sh->slice.n_sessions <= SHARD_SESSIONS_A_CYCLE;
}

void
shard_begin_slice_until(struct shard *sh, uint64_t until_ns)
{
	if (sh->slice.is_limited)
		sh->slice.end = until_ns;
}

void
shard_end_slice(struct shard *sh)
{
	sh->slice.end = UINT64_MAX;
}

void
shard_end_slices(struct shard *sh)
{
	shard_end_slice(sh);
	sh->slice.is_limited = false;
}

void
shard_limit_slices(struct shard *sh)
{
	sh->slice.is_limited = true;
	sh->slice.takes_all = false;
}

bool
shard_is_late(const struct shard *sh)
{
	return sh->slice.end != UINT64_MAX && clock_now_ns() >= sh->slice.end;
}

bool
shard_part_is_late(const struct shard *sh)
{
	return !sh->slice.takes_all && shard_is_late(sh);
}

bool
shard_step_is_late(struct shard *sh)
{
	/* A step that waits for the disk takes much longer than reading the
	 * clock. */
	if (!store_syncs_packets(sh->store) &&
	    ++sh->slice.n_steps % STEPS_PER_CHECK != 0)
		return false;
	return shard_part_is_late(sh);
}

void
shard_step_is_long(struct shard *sh)
{
	sh->slice.n_steps = STEPS_PER_CHECK - 1;
}

void
shard_destroy(struct shard *sh)
{
	if (sh == NULL)
		return;
	assert(shard_is_mine(sh));
	assert(list_empty(&sh->sessions) && list_empty(&sh->siblings));
	assert(list_empty(&sh->work.doomed));
	assert(
	    list_empty(&sh->traces.forgetting) && list_empty(&sh->traces.old));
	assert(list_empty(&sh->work.dirty) && list_empty(&sh->work.ending));
	assert(list_empty(&sh->work.locked) && list_empty(&sh->work.gapped));
	assert(list_empty(&sh->work.pending) && list_empty(&sh->old_roots));
	assert(list_empty(&sh->work.parked) && list_empty(&sh->work.replaced));
	assert(sh->n_streams == 0 && sh->file_bytes == 0);
	idmap_free(&sh->streams);
	store_destroy(sh->store);
	free(sh);
}
