/* SPDX-License-Identifier: MIT */
/*
 * Simulates a bad network: datagrams are lost, repeated, corrupted and
 * reordered. The same seed and the same datagrams give the same result. Single
 * owner; holds at most DEPTH + 2 datagrams.
 */
#ifndef TOOLS_SINK_BADNET_H
#define TOOLS_SINK_BADNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/client/datagrams.h"

#define BADNET_DEPTH_MAX 65536

struct badnet_config {
	uint64_t seed;
	double drop, duplicate, corrupt; /* probabilities */
	uint32_t depth;			 /* datagrams that may be overtaken */
};

struct badnet_stats {
	uint64_t dropped, duplicated, corrupted;
	uint64_t reordered; /* released after one that was put later */
};

struct badnet_item {
	uint8_t *p;
	size_t n;
	uint64_t number;
};

struct badnet {
	struct badnet_config config;
	struct badnet_stats stats;
	uint64_t state;
	struct badnet_item *held; /* in no order */
	uint32_t n, cap;
	uint64_t put, newest; /* numbers: the last put, the highest out */
	bool is_draining;
	int next; /* index in HELD of the next one; -1: none */
};

void badnet_init(struct badnet *b, const struct badnet_config *config);
void badnet_free(struct badnet *b);
/* Does this configuration spoil anything? */
bool badnet_is_bad(const struct badnet_config *config);
/* The channel for client_config.channel. */
struct client_channel badnet_channel(struct badnet *b);

#endif
