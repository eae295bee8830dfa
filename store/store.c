/* SPDX-License-Identifier: MIT */
#include "store/store.h"

#include <stdlib.h>

#include "store/journal.h"

enum status
store_create(struct store **out, const struct store_config *config)
{
	struct store *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	s->config = *config;
	list_init(&s->open_files);
	packet_pool_init(&s->packets, config->max_cached, config->memory);
	if (journal_create(&s->journal, config->base_fd) != OK) {
		store_destroy(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

void
store_destroy(struct store *s)
{
	if (s == NULL)
		return;
	journal_destroy(s->journal);
	packet_pool_free(&s->packets);
	buf_free(&s->spare);
	free(s);
}
