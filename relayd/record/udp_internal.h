/* SPDX-License-Identifier: MIT */
/* What the files of the UDP transport share: udp_session.c, udp_ingest.c and
 * udp_stream.c. Nobody else includes it. */
#ifndef RELAYD_RECORD_UDP_INTERNAL_H
#define RELAYD_RECORD_UDP_INTERNAL_H

#include <stdint.h>

#include "common/clock.h"
#include "proto/udp.h"
#include "relayd/record/udp.h"
#include "relayd/record/udp_count.h"
#include "store/arrivals.h"

/*
 * Limits. A session: packets that wait and pieces of packets, in bytes of
 * memory; as much as TCP may have waiting (SESSION_HELD_MAX), so that neither
 * way is the cheaper attack. Below the second, UDP is refused.
 */
#define UDP_WINDOW_BYTES (UINT64_C(64) << 20)
#define UDP_WINDOW_BYTES_MIN (UINT64_C(1) << 20)
/* A stream: packets that wait while one is missing. At 4 KiB each, what
 * window_bytes hold. */
#define UDP_WINDOW_MAX 16384
/* A stream: records whose bytes are missing; then the oldest are lost. A
 * second's worth at 30,000 packets per second. */
#define UDP_RECORDS_MAX 32768
/* How long a gap may last. At most half of the time that an ended session
 * waits for what is under way (LINGER_NS). */
#define UDP_GAP_DEFAULT_NS (1 * NS_PER_S)
#define UDP_GAP_MIN_NS (1 * NS_PER_MS)
#define UDP_GAP_MAX_NS (5 * NS_PER_S)
/* A number so far beyond the next is no number of a packet. */
#define UDP_FAR (UINT64_C(1) << 32)
/* Holes in one UDP_STATUS reply, of all streams: as many bytes as may wait for
 * a peer that does not read (CONN_OUT_MAX). */
#define UDP_STATUS_RANGES_MAX 16384
/* Lines about gaps per second and worker; .loss.jsonl has them all. */
#define UDP_GAP_LINES 20

struct session_udp {
	struct udp_token token;
	struct arrivals_config config;
	uint64_t window_bytes;
	uint64_t max_packet;
	uint64_t partial_bytes; /* memory of packets that lack pieces */
	struct udp_counts counts;
	uint64_t last_log;
};

/* What UDP adds to a stream. */
struct stream_udp {
	struct arrivals arrivals;
	uint64_t due_ns;   /* of the gap; 0: to be found out */
	uint64_t due_next; /* the missing packet that it is of */
	uint64_t gaps, lost;
	struct reorder_loss last;
};

/* The stream is of TCP again, where not all of its session's could be created.
 * Nothing came yet. One of TCP stays one. */
void udp_stream_undo(struct stream *t);
/* A piece that fits, with the right token. */
enum udp_count udp_stream_piece(struct stream *t, const struct udp_header *h);

#endif
