/* SPDX-License-Identifier: MIT */
/* What happened to datagrams, counted: of a session, and of a whole worker. */
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

/* "name=n ..." of those that are not 0, "" if none is. udp_session.c */
const char *udp_counts_text(const struct udp_counts *c, char *out, size_t size);

#endif
