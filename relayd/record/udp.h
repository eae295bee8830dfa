/* SPDX-License-Identifier: MIT */
/*
 * Trace packets over UDP (udp 1 - 4), without sockets. A session whose peer has
 * sent UDP_OPEN takes packets over UDP only, and none from data connections.
 * Everything lives on the session's worker.
 */
#ifndef RELAYD_RECORD_UDP_H
#define RELAYD_RECORD_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "proto/udp.h"
#include "relayd/record/shard.h"
#include "store/arrivals.h"

struct buf;
struct session;
struct session_udp;
struct shard;
struct state_in;
struct state_out;
struct stream;

/* As SESSION_FILES_FAIR, but 64 files: datagrams that are not taken may be
 * lost. */
#define UDP_FILES_FAIR (UINT64_C(4) << 20)

/*
 * Bytes of memory for one session's packets that wait and pieces of packets: as
 * much as for TCP (SESSION_WAITING_MAX), so that an attack over UDP gains
 * nothing. If less than the second is available, UDP is refused.
 */
#define UDP_WINDOW_BYTES (UINT64_C(64) << 20)
#define UDP_WINDOW_BYTES_MIN (UINT64_C(1) << 20)
/* Packets of a stream that may wait while one is missing: window_bytes, if each
 * has 4 KiB. */
#define UDP_WINDOW_MAX 16384
/* Records of a stream that may wait for their bytes. Above it the oldest are
 * given up. One second at 30,000 packets per second. */
#define UDP_RECORDS_MAX 32768
/* How long a gap may last. At most half of the time that an ended session waits
 * for more bytes (LINGER_NS). */
#define UDP_GAP_DEFAULT_NS (1 * NS_PER_S)
#define UDP_GAP_MIN_NS (1 * NS_PER_MS)
#define UDP_GAP_MAX_NS (5 * NS_PER_S)
/* A packet number this far after the next one is false. */
#define UDP_FAR (UINT64_C(1) << 32)
/* Holes of all streams in one UDP_STATUS reply: as many bytes as may wait for a
 * peer that does not read (CONTROL_OUT_MAX). */
#define UDP_STATUS_RANGES_MAX 16384
/* Packet numbers that are checked for one reply: 1 ms. Later holes are reported
 * when the earlier ones are filled. */
#define UDP_STATUS_LOOKS 16384
#define UDP_POWERS 64 /* of two, in a uint64_t */

struct session_udp {
	struct secret token;
	struct arrivals_config config;
	uint64_t window_bytes;
	uint64_t max_packet;
	/* Streams that can give a packet up, by the power of two of the memory
	 * they use. Bit I of POWERS: users[I] may have some. */
	struct list users[UDP_POWERS];
	uint64_t powers;
	uint64_t partial_bytes; /* memory of packets that lack pieces */
	struct udp_counts counts;
	uint64_t last_log;
};

/* The additional part of a stream that uses UDP. */
struct stream_udp {
	struct arrivals arrivals;
	struct stream *stream; /* its owner */
	struct list user_node; /* session->udp->users */
	unsigned power;	       /* its place there */
	uint64_t due_ns;       /* when the gap ends; 0: not known */
	uint64_t due_next;     /* the missing packet that DUE_NS is for */
	uint64_t gaps, lost;
	struct reorder_loss last;
};

/* UDP_OPEN (10001). The code of the reply says whether it succeeded. */
void udp_open(
    struct session *s, const struct udp_open *q, struct udp_open_reply *a);
/* UDP_STATUS (10002): append the whole reply to OUT. */
void udp_status(const struct session *s, uint64_t handle, struct buf *out);
/* The session is destroyed: log its figures. NULL is fine. */
void udp_session_destroy(const char *tag, struct session_udp *u);

/* One datagram of N bytes, from any sender. False: by its stream handle it
 * belongs to another worker (ids_worker()). */
bool udp_input(struct shard *sh, const uint8_t *p, size_t n) MUST_CHECK;

/* If its session uses UDP, the new stream T takes its packets as datagrams,
 * except for metadata. E_NOMEM. */
enum status udp_stream_create(struct stream *t) MUST_CHECK;

/* udp_state.c: the counts of a shard; U, which may be NULL, and *OUT, which the
 * caller owns. A count that an older version does not know is left out.
 * E_MALFORMED, E_NOMEM. */
void udp_shard_put_state(struct state_out *o, const struct shard *sh);
enum status udp_shard_get_state(
    struct shard *sh, struct state_in *in) MUST_CHECK;
void udp_session_put_state(struct state_out *o, const struct session_udp *u);
enum status udp_session_get_state(struct session_udp **out, struct state_in *in,
    const struct shard *sh) MUST_CHECK;
/* For the transport: see struct transport_ops. */
void udp_stream_put_state(struct state_out *o, const struct stream *t);
enum status udp_stream_get_state(
    struct stream *t, struct state_in *in) MUST_CHECK;

/* " udp_name=n ..." for each count that is not 0; "" if all are 0. Returns OUT.
 * */
const char *udp_counts_text(const struct udp_counts *c, char *out, size_t size);

#endif
