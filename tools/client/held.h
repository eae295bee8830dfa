/* SPDX-License-Identifier: MIT */
/*
 * Packets of one stream that were sent and may be asked for again, by number.
 * The library holds their bytes until the relay has them. Single owner.
 */
#ifndef TOOLS_CLIENT_HELD_H
#define TOOLS_CLIENT_HELD_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/packet.h"

struct held_packet {
	struct client_packet packet;
	uint64_t sent_ns; /* when any of it was last sent */
};

struct held {
	struct held_packet *ring;
	unsigned cap;	     /* 0 or a power of two */
	uint64_t first, end; /* numbers: FIRST to END - 1 are held */
	uint64_t bytes;
};

void held_free(struct held *h); /* packets that are left are done */
/* The number of the packet is h->end. */
enum status held_put(struct held *h, const struct client_packet *packet,
    uint64_t now_ns) MUST_CHECK;
/* NULL: packet NET_SEQ is not held. */
struct held_packet *held_find(struct held *h, uint64_t net_seq);
/* The relay does not need packets below NEXT any more. */
void held_release(struct held *h, uint64_t next);

#endif
