/* SPDX-License-Identifier: MIT */
#include "tools/sink/badnet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING (-1)

void
badnet_init(struct badnet *b, const struct badnet_config *config)
{
	*b = (struct badnet){
		.config = *config, .state = config->seed, .next = NOTHING
	};
}

void
badnet_free(struct badnet *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		free(b->held[i].p);
	free(b->held);
	b->held = NULL;
	b->n = b->cap = 0;
}

bool
badnet_is_bad(const struct badnet_config *c)
{
	return c->drop > 0 || c->duplicate > 0 || c->corrupt > 0 ||
	       c->depth > 0;
}

/* splitmix64: any seed is good. */
static uint64_t
draw(struct badnet *b)
{
	uint64_t z = b->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Each call draws one number, so that one probability does not change what the
 * others decide. */
static bool
happens(struct badnet *b, double probability)
{
	return (double)(draw(b) >> 11) < probability * 0x1p53;
}

static bool
grow(struct badnet *b)
{
	const uint32_t cap = b->cap == 0 ? 16 : 2 * b->cap;
	void *p = realloc(b->held, cap * sizeof(*b->held));

	if (p == NULL)
		return false;
	b->held = p;
	b->cap = cap;
	return true;
}

/* Without memory the datagram is lost: this network may lose any. */
static void
hold(struct badnet *b, const uint8_t *p, size_t n)
{
	struct badnet_item *i;

	if (b->n == b->cap && !grow(b))
		return;
	i = &b->held[b->n];
	*i = (struct badnet_item){ malloc(n), n, ++b->put };
	if (i->p == NULL)
		return;
	memcpy(i->p, p, n);
	b->n++;
	if (happens(b, b->config.corrupt)) {
		i->p[draw(b) % n] ^= (uint8_t)(1U << draw(b) % 8);
		b->stats.corrupted++;
	}
}

static void
put(void *badnet, const uint8_t *p, size_t n)
{
	struct badnet *b = badnet;
	const bool is_dropped = happens(b, b->config.drop);
	const bool is_double = happens(b, b->config.duplicate);

	b->is_draining = false;
	if (is_dropped) {
		b->stats.dropped++;
		return;
	}
	hold(b, p, n);
	if (is_double) {
		hold(b, p, n);
		b->stats.duplicated++;
	}
}

/* Choose the next datagram: the oldest if none may be overtaken, otherwise any,
 * but only while more than DEPTH are held. */
static int
choose(struct badnet *b)
{
	uint32_t best = 0;

	if (b->n == 0 || (b->n <= b->config.depth && !b->is_draining))
		return NOTHING;
	if (b->config.depth > 0)
		return (int)(draw(b) % b->n);
	for (uint32_t i = 1; i < b->n; i++)
		if (b->held[i].number < b->held[best].number)
			best = i;
	return (int)best;
}

static const uint8_t *
peek(void *badnet, size_t *n)
{
	struct badnet *b = badnet;

	if (b->next == NOTHING)
		b->next = choose(b);
	if (b->next == NOTHING)
		return NULL;
	assert(b->next >= 0 && (uint32_t)b->next < b->n);
	*n = b->held[b->next].n;
	return b->held[b->next].p;
}

static void
pop(void *badnet)
{
	struct badnet *b = badnet;
	struct badnet_item *i = &b->held[b->next];

	assert(b->next != NOTHING);
	if (i->number < b->newest)
		b->stats.reordered++;
	else
		b->newest = i->number;
	free(i->p);
	*i = b->held[--b->n];
	b->next = NOTHING;
}

static void
drain(void *badnet)
{
	((struct badnet *)badnet)->is_draining = true;
}

struct client_channel
badnet_channel(struct badnet *b)
{
	return (struct client_channel){ put, peek, pop, drain, b };
}
