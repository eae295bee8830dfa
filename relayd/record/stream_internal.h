/* SPDX-License-Identifier: MIT */
/*
 * What the files of a stream share: stream*.c, intake.c and udp.c. No other
 * file includes it.
 */
#ifndef RELAYD_RECORD_STREAM_INTERNAL_H
#define RELAYD_RECORD_STREAM_INTERNAL_H

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"

struct index_record;

/* How often a full disk is logged. */
#define STREAM_FULL_LOG_NS (10 * NS_PER_S)

#define NO_SEQ UINT64_MAX /* on the wire: no packet was sent */

/*
 * How a stream's packets come to the relay. Each transport has all of these
 * functions; the rest of a stream does not know which transport it has.
 */
struct transport_ops {
	/* Its packets come on data connections. */
	bool is_connected;
	/* The stream is freed: free what the transport keeps for it. */
	void (*destroy)(struct stream *t);
	/* Put packet SEQ's record into the heap; returns what reorder_record()
	 * does. */
	enum status (*record)(struct stream *t, uint64_t seq,
	    const struct index_record *rec) MUST_CHECK;
	/* Are parts of packets here that are not in the heap yet? */
	bool (*has_pieces)(const struct stream *t);
	/* The result of stream_pending() when no write failed. */
	uint32_t (*pending)(struct stream *t, uint64_t last_seq);
	/* No record will come any more. has_last and last_seq say up to which
	 * packet bytes may come. */
	void (*closing)(struct stream *t);
	/* The stream is closing: may another packet still become whole? */
	bool (*may_go_on)(const struct stream *t);
	/* No bytes will come: write whole packets and give all gaps up. False:
	 * the time is over, it goes on at the next call. */
	bool (*finish)(struct stream *t);
	/* If the next packet is missing: false: wait for it; true: it was given
	 * up. */
	bool (*pass_gap)(struct stream *t);
	/* See stream_check_gap(). */
	uint64_t (*check_gap)(struct stream *t, uint64_t now_ns);
};

extern const struct transport_ops tcp_transport; /* intake.c */

/* stream.c */
void stream_free(struct stream *t);
enum status stream_open_file(struct stream *t, bool replaces) MUST_CHECK;
enum status stream_enter_chunk(struct stream *t, struct chunk *c) MUST_CHECK;
/*
 * P waits for its record or its turn, or does not wait any more. Returns what
 * it counts as: its memory, and FILE_WEIGHT if it fills a file, or the part
 * that it fills. What waits is limited in bytes (SESSION_HELD_MAX, max_memory),
 * and so it is in work: the daemon can write it all when it is told to end.
 */
uint64_t stream_hold(struct stream *t, const struct packet *p);
uint64_t stream_release(struct stream *t, const struct packet *p);
/* Count N packets, from P on, that are in the file. Returns the one behind
 * them. */
struct packet *stream_wrote(struct stream *t, struct packet *p, unsigned n);
/* Are its files numbered? */
static inline bool
stream_is_numbered(const struct stream *t)
{
	return t->place.tracefile_size != 0 || t->place.window != NULL;
}
/* N packets are lost. */
void stream_lost(struct stream *t, enum loss cause, uint64_t n);
/* Call it when the number of records that wait for their bytes may have
 * changed. */
void stream_count_records(struct stream *t);

/* stream_records.c */
void stream_seal_file(struct stream *t);
void stream_leave_sealed(struct stream *t);
/* Are all records that were accepted in their files? */
bool stream_records_are_written(const struct stream *t);
/* Write what the locks of readers allow; the batch is empty. */
void stream_write_records(struct stream *t);
/* Write all records now. */
void stream_force_records(struct stream *t);
/* Of the past files whose records wait, only the newest MOST go on waiting. */
void stream_limit_sealed(struct stream *t, uint64_t most);
/* The peer is told of what could not be synced since there were N_BEFORE. */
void stream_note_sync_errors(struct stream *t, uint64_t n_before);

/* stream_commit.c */
/* Write packets that may leave the heap now, and their records. Gaps that will
 * not close are given up. False: the time is over (shard_is_late()); the stream
 * is dirty, and the rest is written later. */
bool stream_write_ready(struct stream *t);
/* Go to the next file, which is empty. */
void stream_next_file(struct stream *t);
/* Write only packets that have left the heap: for a transport that gives
 * packets up. */
void stream_write_batch(struct stream *t);
enum status stream_roll_if_due(
    struct stream *t, bool has_seq, uint64_t next_packet_seq) MUST_CHECK;
/* Write all whole packets, also behind gaps. False: the time is over. */
bool stream_write_rest(struct stream *t);

/* stream_loss.c */
/* Losses for lack of room that are not in .loss.jsonl yet. */
struct stream_unnoted {
	struct reorder_loss loss; /* n 0: none */
	uint64_t noted_ns;	  /* when a line was written */
};
/* A line in .loss.jsonl. A failure is logged. */
enum status stream_note_loss(
    struct stream *t, const struct reorder_loss *loss, const char *why);
/* On a full disk packets are lost and the peer goes on (--on-full=lose). */
bool stream_loses_when_full(const struct stream *t);
/* These packets are lost: they cannot be written (LOSS_write), there is no room
 * (LOSS_disk_full), or somebody removed their file (LOSS_removed). The peer is
 * told of it, but if it is to go on. */
void stream_lose(
    struct stream *t, enum loss cause, const struct reorder_loss *loss);
/* There is room: note what was lost, at most once a second, or NOW. */
void stream_note_losses(struct stream *t, bool now);
/* The last packets of the stream were lost: viewers go on to their end. */
void stream_pass_lost(struct stream *t);

/* It goes to another chunk, or ends: all that waited for room is written now,
 * or never. */
void stream_leave_files(struct stream *t);

/* stream_metadata.c */
/* Write metadata for which there was no room. E_NOSPC: there still is none, it
 * waits. Another failure: it is lost, which is logged. */
enum status stream_pay(struct stream *t) MUST_CHECK;
/* What is owed will never be written. */
void stream_drop_debt(struct stream *t);

/* stream_live.c */
enum status stream_make_logs(struct stream *t) MUST_CHECK;
enum status stream_log_file(struct stream *t) MUST_CHECK;
void stream_end_logs(struct stream *t);
void stream_wake(struct stream *t);
void stream_wake_log(struct shard *sh, struct packet_log *log);

static inline struct shard *
shard_of(const struct stream *t)
{
	return t->session->shard;
}

#endif
