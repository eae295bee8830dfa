/* SPDX-License-Identifier: MIT */
/*
 * A seeded channel: what happens to the pieces of packets in a network that
 * drops, repeats and delays them. The bytes of a packet follow from its number.
 */
#ifndef TESTS_STORE_CHANNEL_H
#define TESTS_STORE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_PACKETS 5000
#define CHANNEL_PIECES 8 /* of a packet, at most */

struct channel_rules {
	uint32_t fragment; /* bytes of a piece */
	uint32_t depth;	   /* at most so many overtake a piece; > 0 */
	unsigned drop;	   /* pieces lost, of a thousand */
	unsigned repeat;   /* delivered twice, of a thousand */
};

struct delivery {
	uint64_t at; /* place in the schedule */
	uint32_t seq, piece;
};

struct channel {
	struct channel_rules rules;
	uint32_t size[CHANNEL_PACKETS];
	bool dropped[CHANNEL_PACKETS]; /* at least one piece never comes */
	struct delivery *deliveries;   /* in order */
	size_t n;
};

/* A random number below 2^53. *STATE is not 0. */
uint64_t channel_random(uint64_t *state);

/* The same rules and *STATE give the same channel. A failure ends the test. */
struct channel *channel_create(
    const struct channel_rules *rules, uint64_t *state);
void channel_destroy(struct channel *c);

/* How many pieces packet SEQ has; an empty packet has one piece without
 * bytes. */
uint32_t channel_pieces(const struct channel *c, uint64_t seq);
/* The bytes of packet SEQ, all of them. */
const uint8_t *channel_bytes(uint64_t seq);

#endif
