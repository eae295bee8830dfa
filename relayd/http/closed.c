/* SPDX-License-Identifier: MIT */
#include "relayd/http/closed.h"

#include <stdlib.h>

enum status
closed_init(struct closed *c)
{
	*c = (struct closed){ 0 };
	c->ring = calloc(CLOSED_MAX, sizeof(c->ring[0]));
	return c->ring == NULL ? E_NOMEM : OK;
}

void
closed_free(struct closed *c)
{
	for (unsigned i = 0; i < c->n; i++)
		session_info_clear(&c->ring[(c->first + i) % CLOSED_MAX]);
	free(c->ring);
	*c = (struct closed){ 0 };
}

void
closed_add(struct closed *c, const struct session_info *take_s)
{
	if (c->n == CLOSED_MAX) {
		session_info_clear(&c->ring[c->first]);
		c->first = (c->first + 1) % CLOSED_MAX;
		c->n--;
		c->forgotten++;
	}
	c->ring[(c->first + c->n++) % CLOSED_MAX] = *take_s;
}

const struct session_info *
closed_at(const struct closed *c, unsigned i)
{
	return &c->ring[(c->first + i) % CLOSED_MAX];
}

const struct session_info *
closed_find(const struct closed *c, uint64_t id)
{
	for (unsigned i = 0; i < c->n; i++)
		if (closed_at(c, i)->id == id)
			return closed_at(c, i);
	return NULL;
}
