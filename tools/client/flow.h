/* SPDX-License-Identifier: MIT */
/*
 * The rate at which packets are sent, and the packets that are kept until the
 * relay has confirmed them. Each of these has one owner; the caller passes the
 * time.
 */
#ifndef TOOLS_CLIENT_FLOW_H
#define TOOLS_CLIENT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/packet.h"

/*
 * How fast bytes may leave: a token bucket. The bucket holds what the rate
 * brings in 10 ms, at least 1 KiB. One message may overdraw it, so that any
 * rate can send any message. When it is empty, nothing leaves before it has a
 * grain again. A grain is the smallest of a full bucket, 64 KiB, and what the
 * rate brings in a second, so that each call sends enough bytes to be worth it.
 * Tokens are bytes.
 */
struct pace {
	uint64_t rate; /* bytes per second; 0: no limit */
	int64_t tokens;
	uint64_t at_ns;
};

void pace_init(struct pace *p, uint64_t rate, uint64_t now_ns);
/* How many bytes may leave now; SIZE_MAX without a limit. */
size_t pace_allowance(struct pace *p, uint64_t now_ns);
void pace_spend(struct pace *p, size_t bytes);
/* When something may leave again; now_ns if it may now. */
uint64_t pace_ready_ns(const struct pace *p, uint64_t now_ns);

/*
 * How many bytes may be in flight: sent after the last udp_status that the
 * relay has answered (doc/udp.md). The window is
 * halved on a loss, once for all bytes in flight then. Otherwise it grows, at
 * first by what was confirmed, then slowly.
 */
#define WINDOW_FIRST (256 * 1024)
#define WINDOW_LEAST (64 * 1024)
/* As much as receive buffers hold: if more arrives at once, bytes are lost when
 * the relay is busy. */
#define WINDOW_MOST (2 * 1024 * 1024)

struct window {
	uint64_t size;	    /* bytes that may be in flight */
	uint64_t threshold; /* below it the growth is fast */
	uint64_t sent;	    /* so far */
	uint64_t asked;	    /* SENT at the last udp_status */
	uint64_t confirmed; /* SENT at the last answered udp_status */
	uint64_t cut;	    /* SENT when it was last halved */
};

void window_init(struct window *w);
size_t window_allowance(const struct window *w);
static inline void
window_spend(struct window *w, size_t bytes)
{
	w->sent += bytes;
}
/* A udp_status is being sent. */
void window_ask(struct window *w);
/* The answer to it: whether packets were lost, and how many bytes the
 * relay misses. Missing bytes may still be in flight, so they are counted as
 * in flight, but at most half of the window: otherwise a lost packet could stop
 * everything. */
void window_answer(struct window *w, bool has_loss, uint64_t missing);
/* Is it time for a udp_status? After a quarter of the window: after a
 * half, the relay would have nothing left to read while its only answer is on
 * its way. */
bool window_is_due(const struct window *w);

/* Packets of one stream that were sent and may be requested again, by number.
 * Their bytes are held until the relay has them. */
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
/* The relay no longer needs packets below NEXT. */
void held_release(struct held *h, uint64_t next);

#endif
