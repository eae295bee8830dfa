/* SPDX-License-Identifier: MIT */
/* The sessions that ended last, oldest first. */
#ifndef RELAYD_HTTP_CLOSED_H
#define RELAYD_HTTP_CLOSED_H

#include <stdint.h>

#include "relayd/stats/info.h"

/* How many are remembered: 1 MiB at most with long names. */
#define CLOSED_MAX 1000

struct closed {
	struct session_info *ring; /* of CLOSED_MAX */
	unsigned first, n;
	uint64_t forgotten;
};

enum status closed_init(struct closed *c) MUST_CHECK;
void closed_free(struct closed *c);
/* TAKE_S's strings are taken over. */
void closed_add(struct closed *c, const struct session_info *take_s);
/* The I-th, counted from the oldest. */
const struct session_info *closed_at(const struct closed *c, unsigned i);
const struct session_info *closed_find(const struct closed *c, uint64_t id);

#endif
