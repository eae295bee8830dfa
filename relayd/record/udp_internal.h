/* SPDX-License-Identifier: MIT */
/* What the files of the UDP transport share: udp_session.c, udp_ingest.c,
 * udp_stream.c and udp_room.c. Nobody else includes it. */
#ifndef RELAYD_RECORD_UDP_INTERNAL_H
#define RELAYD_RECORD_UDP_INTERNAL_H

#include <stdint.h>

#include "common/clock.h"
#include "common/list.h"
#include "proto/udp.h"
#include "relayd/record/udp.h"
#include "relayd/record/udp_count.h"
#include "store/arrivals.h"

/* As SESSION_FILES_LITTLE, but 64 files: of datagrams that are not taken,
 * packets may be lost. */
#define UDP_FILES_LITTLE (UINT64_C(4) << 20)

/*
 * Memory, in bytes, for one session's packets that wait and pieces of packets:
 * as much as for TCP (SESSION_HELD_MAX), so that an attack over UDP gains
 * nothing. If less than the second is left for it, UDP is refused.
 */
#define UDP_WINDOW_BYTES (UINT64_C(64) << 20)
#define UDP_WINDOW_BYTES_MIN (UINT64_C(1) << 20)
/* Packets of a stream that may wait while one is missing: with 4 KiB each, this
 * is window_bytes. */
#define UDP_WINDOW_MAX 16384
/* Records of a stream that may wait for their bytes; beyond it the oldest are
 * given up. At 30,000 packets per second this is one second. */
#define UDP_RECORDS_MAX 32768
/* How long a gap may last. At most half of the time that an ended session
 * waits for what is under way (LINGER_NS). */
#define UDP_GAP_DEFAULT_NS (1 * NS_PER_S)
#define UDP_GAP_MIN_NS (1 * NS_PER_MS)
#define UDP_GAP_MAX_NS (5 * NS_PER_S)
/* A packet number this far beyond the next one is false. */
#define UDP_FAR (UINT64_C(1) << 32)
/* Holes of all streams in one UDP_STATUS reply: together as many bytes as may
 * wait for a peer that does not read (CONTROL_OUT_MAX). */
#define UDP_STATUS_RANGES_MAX 16384
/* Numbers that are looked at for it: 1 ms. The holes beyond are told when those
 * before are filled. */
#define UDP_STATUS_LOOKS 16384
/* Lines about gaps per second and worker; .loss.jsonl has them all. */
#define UDP_GAP_LINES 20

#define UDP_POWERS 64 /* of two, in a uint64_t */

struct session_udp {
	struct udp_token token;
	struct arrivals_config config;
	uint64_t window_bytes;
	uint64_t max_packet;
	/* Streams that can give a packet up, by the power of two of the memory
	 * they use; bit I of POWERS: users[I] may have some. udp_room.c */
	struct list users[UDP_POWERS];
	uint64_t powers;
	uint64_t partial_bytes; /* memory of packets that lack pieces */
	struct udp_counts counts;
	uint64_t last_log;
};

/* What a stream has in addition when it uses UDP. */
struct stream_udp {
	struct arrivals arrivals;
	struct stream *stream; /* whose it is */
	struct list user_node; /* session->udp->users */
	unsigned power;	       /* its place there */
	uint64_t due_ns;       /* when the gap ends; 0: not known */
	uint64_t due_next;     /* the missing packet of due_ns */
	uint64_t gaps, lost;
	struct reorder_loss last;
};

/* Make the stream a TCP stream again, when UDP could not be set up for all
 * streams of its session; no packet has come yet. A TCP stream does not
 * change. */
void udp_stream_undo(struct stream *t);
/* Take a piece with the right token that fits its packet. */
enum udp_count udp_stream_piece(struct stream *t, const struct udp_header *h);

/* udp_room.c */
void udp_room_init(struct session_udp *u);
/* The stream may use more memory now, or be able to give up a packet. True: it
 * is, all below *TO (arrivals_victim()). */
bool udp_room_note(struct stream *t, uint64_t *to);
/*
 * The stream that uses the most memory, of those that were noted and can give a
 * packet up; none of them uses twice as much. NULL: none can. On average this
 * takes as long with many streams as with few.
 */
struct stream *udp_room_greediest(struct session *s, uint64_t *to);

#endif
