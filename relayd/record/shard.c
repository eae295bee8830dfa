/* SPDX-License-Identifier: MIT */
#include "relayd/record/shard.h"

#include <assert.h>
#include <stdlib.h>

#include "store/store.h"

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
	list_init(&sh->sessions);
	list_init(&sh->siblings);
	list_init(&sh->dirty);
	list_init(&sh->locked);
	list_init(&sh->gapped);
	list_init(&sh->ending);
	list_init(&sh->doomed);
	list_init(&sh->orphans);
	list_init(&sh->sealed);
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
shard_destroy(struct shard *sh)
{
	if (sh == NULL)
		return;
	assert(shard_is_mine(sh));
	assert(list_empty(&sh->sessions) && list_empty(&sh->siblings));
	assert(list_empty(&sh->doomed) && list_empty(&sh->sealed));
	idmap_free(&sh->streams);
	store_destroy(sh->store);
	free(sh);
}
