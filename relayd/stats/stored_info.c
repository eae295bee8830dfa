/* SPDX-License-Identifier: MIT */
#include "relayd/stats/stored_info.h"

#include <stdlib.h>
#include <string.h>

const char *const deleted_names[DELETED_REASONS] = {
#define DELETED(name, text) #name,
#include "relayd/stats/reasons.tbl.h"
};

struct stored_info *
stored_info_create(void)
{
	return calloc(1, sizeof(struct stored_info));
}

static void
clear(struct stored_item *i)
{
	free(i->path);
	free(i->session);
	free(i->host);
}

void
stored_info_destroy(struct stored_info *i)
{
	if (i == NULL)
		return;
	for (unsigned n = 0; n < i->n_items; n++)
		clear(&i->items[n]);
	free(i->items);
	free(i->path);
	free(i->reply);
	if (i->archive != NULL)
		i->drop(i->archive);
	buf_free(&i->data);
	free(i);
}

bool
stored_info_add(struct stored_info *i, const struct stored_item *from)
{
	struct stored_item *to;

	if (i->n_items >= INFO_MAX) {
		i->has_more = true;
		return false;
	}
	to = info_grow(&i->items, &i->n_items, sizeof(*to));
	if (to == NULL) {
		i->st = E_NOMEM;
		return false;
	}
	*to = *from;
	to->path = strdup(from->path);
	to->session = strdup(from->session);
	to->host = strdup(from->host);
	if (to->path != NULL && to->session != NULL && to->host != NULL)
		return true;
	clear(to);
	i->n_items--;
	i->st = E_NOMEM;
	return false;
}
