/* SPDX-License-Identifier: MIT */
/*
 * What the files of a stream share: stream*.c, and its two transports,
 * tcp_stream.c and udp_stream.c. Nobody else includes it.
 */
#ifndef RELAYD_RECORD_STREAM_INTERNAL_H
#define RELAYD_RECORD_STREAM_INTERNAL_H

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"

struct index_record;

#define NO_SEQ UINT64_MAX /* "none was ever sent", on the wire */

/*
 * The way of a stream's packets to the relay. Each transport has all of these
 * functions; the rest of a stream does not know which one it is.
 */
struct transport_ops {
	/* Its packets come on data connections. */
	bool is_connected;
	/* The stream goes: what the transport keeps for it is freed. */
	void (*destroy)(struct stream *t);
	/* Packet SEQ's record, to the heap; outcomes as reorder_record(). */
	enum status (*record)(struct stream *t, uint64_t seq,
	    const struct index_record *rec) MUST_CHECK;
	/* Are parts of packets here that are not in the heap yet? */
	bool (*has_pieces)(const struct stream *t);
	/* What stream_pending() answers when nothing failed. */
	uint32_t (*pending)(struct stream *t, uint64_t last_seq);
	/* No record will come: has_last and last_seq say what bytes may. */
	void (*closing)(struct stream *t);
	/* Of a stream that is closing: may anything still become whole? */
	bool (*may_go_on)(const struct stream *t);
	/* No bytes will come: write what is whole, give all gaps up. */
	void (*finish)(struct stream *t);
	/* The next packet is missing. False: wait. True: it was given up. */
	bool (*pass_gap)(struct stream *t);
	/* As stream_check_gap(). */
	uint64_t (*check_gap)(struct stream *t, uint64_t now_ns);
};

extern const struct transport_ops tcp_transport; /* tcp_stream.c */

/* stream.c */
void stream_free(struct stream *t);
enum status stream_open_file(struct stream *t, bool replaces) MUST_CHECK;
enum status stream_enter_chunk(struct stream *t, struct chunk *c) MUST_CHECK;
void stream_mark_dirty(struct stream *t);
/* N more, or less, bytes of memory wait for their record or turn. */
void stream_hold(struct stream *t, int64_t n);
/* The number of records that wait for their bytes has changed. */
void stream_count_records(struct stream *t);

/* stream_commit.c */
void stream_seal_file(struct stream *t);
void stream_leave_sealed(struct stream *t);
/* What may leave the heap now goes to the file, with its records; gaps that
 * need not be waited for are given up. */
void stream_write_ready(struct stream *t);
/* Only what has left the heap: for a transport that gives packets up. */
void stream_write_batch(struct stream *t);
enum status stream_roll_if_due(
    struct stream *t, bool has_seq, uint64_t next_packet_seq) MUST_CHECK;
/* What is whole goes to the file, whatever is missing before it. */
void stream_write_rest(struct stream *t);

/* stream_live.c */
enum status stream_make_logs(struct stream *t) MUST_CHECK;
enum status stream_log_file(struct stream *t) MUST_CHECK;
void stream_end_logs(struct stream *t);
void stream_wake(struct stream *t);

static inline struct shard *
shard_of(const struct stream *t)
{
	return t->session->shard;
}

#endif
