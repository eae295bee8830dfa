/* SPDX-License-Identifier: MIT */
/* Counts of what happened to datagrams, per session and per worker. */
#ifndef RELAYD_RECORD_UDP_COUNT_H
#define RELAYD_RECORD_UDP_COUNT_H

#include <stddef.h>
#include <stdint.h>

enum udp_count {
#define UDP_COUNT(name, text) UDP_##name,
#include "relayd/record/udp_count.tbl.h"
#undef UDP_COUNT
	UDP_COUNTS
};

struct udp_counts {
	uint64_t n[UDP_COUNTS];
};

/* " udp_name=n ..." for each count that is not 0; "" if all are 0. Returns OUT.
 * In udp.c. */
const char *udp_counts_text(const struct udp_counts *c, char *out, size_t size);

#endif
