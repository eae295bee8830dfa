/* SPDX-License-Identifier: MIT */
/*
 * The packets of all streams in the order in which tracers would have sent
 * them: by the time at which each ended. Times are nanoseconds since the
 * clocks' origin.
 */
#ifndef TOOLS_SEND_SCHEDULE_H
#define TOOLS_SEND_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/heap.h"
#include "common/status.h"
#include "tools/client/packet.h"
#include "tools/send/trace.h"

struct schedule_stream {
	struct trace_stream *stream;
	struct client_packet next;
	bool has_next;
	uint64_t floor;	     /* cycles: end of the last packet or beacon */
	uint64_t ctf_stream; /* of its next packet, or of its last */
	bool is_busy;	     /* had a packet since the last beacons */
};

struct schedule {
	struct schedule_stream *streams;
	unsigned n;
	struct heap heap; /* streams with a next packet, by its end */
	bool has_first;
	uint64_t first_ns; /* when the first packet begins */
	uint64_t last_ns;  /* when the last one ends; 0: there is none */
};

enum status schedule_init(
    struct schedule *s, const struct traces *t) MUST_CHECK;
void schedule_free(struct schedule *s);

bool schedule_is_empty(const struct schedule *s);
/* When is the next packet due? There must be one. */
uint64_t schedule_due_ns(const struct schedule *s);
/* The next packet and its stream; there must be one. E_IO: its file changed. */
enum status schedule_take(struct schedule *s, struct client_packet *packet,
    const struct trace_stream **from) MUST_CHECK;

/*
 * The beacon of stream NUMBER at NOW_NS. False: none is due, because the stream
 * had a packet since the last call, or because the beacon would bring nothing
 * new.
 */
bool schedule_beacon(struct schedule *s, unsigned number, uint64_t now_ns,
    uint64_t *cycles, uint64_t *ctf_stream);

#endif
