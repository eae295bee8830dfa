/* SPDX-License-Identifier: MIT */
/* The rates of the last minutes, one set per second. */
#ifndef RELAYD_HTTP_HISTORY_H
#define RELAYD_HTTP_HISTORY_H

#include <stdint.h>

/* As long as a line on the status page. */
#define HISTORY_S 300

/* The metrics that rates are told of. */
enum view_rate {
	RATE_received_bytes,
	RATE_received_packets,
	RATE_written_bytes,
	RATE_sent_bytes,
	RATE_lost_packets,
	RATES
};

struct history {
	/* Per second, rounded up, so that what is more than nothing is seen. */
	uint64_t ring[HISTORY_S][RATES];
	unsigned first, n;
};

void history_add(struct history *h, const double rates[RATES]);
/* The I-th that is there, counted from the oldest. */
uint64_t history_at(const struct history *h, unsigned i, enum view_rate rate);
uint64_t history_most(const struct history *h, enum view_rate rate);

#endif
