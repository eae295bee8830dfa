/* SPDX-License-Identifier: MIT */
#include "tools/client/held.h"

#include <stdlib.h>

#define CAP_FIRST 16

static struct held_packet *
at(const struct held *h, uint64_t n)
{
	return &h->ring[n & (h->cap - 1)];
}

void
held_release(struct held *h, uint64_t next)
{
	for (; h->first < h->end && h->first < next; h->first++) {
		const struct client_packet *p = &at(h, h->first)->packet;

		h->bytes -= p->size;
		client_packet_done(p);
	}
}

void
held_free(struct held *h)
{
	held_release(h, UINT64_MAX);
	free(h->ring);
	*h = (struct held){ 0 };
}

static enum status
grow(struct held *h)
{
	struct held wide = *h;

	wide.cap = h->cap == 0 ? CAP_FIRST : 2 * h->cap;
	wide.ring = calloc(wide.cap, sizeof(*wide.ring));
	if (wide.ring == NULL)
		return E_NOMEM;
	for (uint64_t n = h->first; n < h->end; n++)
		*at(&wide, n) = *at(h, n);
	free(h->ring);
	*h = wide;
	return OK;
}

enum status
held_put(struct held *h, const struct client_packet *packet, uint64_t now_ns)
{
	if (h->end - h->first == h->cap && grow(h) != OK)
		return E_NOMEM;
	*at(h, h->end++) = (struct held_packet){ *packet, now_ns };
	h->bytes += packet->size;
	return OK;
}

struct held_packet *
held_find(struct held *h, uint64_t net_seq)
{
	return net_seq >= h->first && net_seq < h->end ? at(h, net_seq) : NULL;
}
