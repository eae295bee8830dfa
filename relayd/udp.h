/* SPDX-License-Identifier: MIT */
/*
 * Trace packets over UDP (udp 1 - 4): the model and the endpoint, without
 * sockets. A session that has sent UDP_OPEN takes its packets from here, and
 * no data connection. Everything lives on the session's worker.
 */
#ifndef RELAYD_UDP_H
#define RELAYD_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"
#include "proto/relay.h"
#include "proto/udp.h"
#include "relayd/udp_count.h"
#include "store/arrivals.h"

struct buf;
struct session;
struct shard;
struct stream;

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

/* UDP_OPEN (10001). The reply's code says how it went. udp_session.c */
void udp_open(
    struct session *s, const struct udp_open *q, struct udp_open_reply *a);
/* UDP_STATUS (10002): the whole reply. udp_session.c */
void udp_status(const struct session *s, uint64_t handle, struct buf *out);
/* The session goes: figures are logged. NULL is fine. udp_session.c */
void udp_session_destroy(const char *tag, struct session_udp *u);

/*
 * One datagram of N bytes, from anywhere. False: its handle says that it is
 * for another worker (ids_worker()). udp_ingest.c
 */
bool udp_input(struct shard *sh, const uint8_t *p, size_t n) MUST_CHECK;

/* The packets of a stream come as datagrams from now on: its first ones. Of
 * metadata nothing changes. E_NOMEM. udp_stream.c */
enum status udp_stream_create(struct stream *t) MUST_CHECK;
/* As before it, where not all streams of the session could be created. Nothing
 * came yet. A stream of TCP stays one. */
void udp_stream_undo(struct stream *t);
/* A piece that fits, with the right token. */
enum udp_count udp_stream_piece(struct stream *t, const struct udp_header *h);

#endif
