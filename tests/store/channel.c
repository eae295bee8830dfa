/* SPDX-License-Identifier: MIT */
#include "tests/store/channel.h"

#include <stdlib.h>

#include "tests/lib/unit.h"

#define SMALL 4096
#define FRAGMENT_MAX 65000
#define STARTS 4093 /* packets with bytes of their own; prime */

static uint8_t text[STARTS + FRAGMENT_MAX * CHANNEL_PIECES];

uint64_t
channel_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

const uint8_t *
channel_bytes(uint64_t seq)
{
	uint64_t state = 1;

	if (text[0] == 0)
		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (uint8_t)(channel_random(&state) | (i == 0));
	return text + seq * 31 % STARTS;
}

uint32_t
channel_pieces(const struct channel *c, uint64_t seq)
{
	const uint32_t size = c->size[seq];

	return size == 0 ? 1 : (size - 1) / c->rules.fragment + 1;
}

static bool
chance(uint64_t *state, unsigned of_a_thousand)
{
	return channel_random(state) % 1000 < of_a_thousand;
}

/* Most are small; some have all the pieces that they may. */
static uint32_t
some_size(const struct channel *c, uint64_t *state)
{
	const uint32_t most = c->rules.fragment * CHANNEL_PIECES;
	const uint32_t limit = chance(state, 8) || most < SMALL ? most : SMALL;

	return (uint32_t)(channel_random(state) % (limit + 1));
}

static void
deliver(struct channel *c, uint64_t *state, uint64_t sent, uint32_t seq,
    uint32_t piece)
{
	const uint64_t late = channel_random(state) % c->rules.depth;

	/* What comes at the same place comes in any order. */
	c->deliveries[c->n++] = (struct delivery){
		(sent + late) * 1000 + channel_random(state) % 1000, seq, piece
	};
}

static int
by_place(const void *a, const void *b)
{
	const struct delivery *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

struct channel *
channel_create(const struct channel_rules *rules, uint64_t *state)
{
	const size_t most = (size_t)CHANNEL_PACKETS * CHANNEL_PIECES * 2;
	struct channel *c = calloc(1, sizeof(*c));
	uint64_t sent = 0;

	MUST(c != NULL);
	c->rules = *rules;
	c->deliveries = malloc(most * sizeof(*c->deliveries));
	MUST(c->deliveries != NULL);
	for (uint32_t seq = 0; seq < CHANNEL_PACKETS; seq++) {
		c->size[seq] = some_size(c, state);
		for (uint32_t i = 0; i < channel_pieces(c, seq); i++, sent++) {
			if (chance(state, rules->drop)) {
				c->dropped[seq] = true;
				continue;
			}
			deliver(c, state, sent, seq, i);
			if (chance(state, rules->repeat))
				deliver(c, state, sent, seq, i);
		}
	}
	qsort(c->deliveries, c->n, sizeof(*c->deliveries), by_place);
	return c;
}

void
channel_destroy(struct channel *c)
{
	free(c->deliveries);
	free(c);
}
