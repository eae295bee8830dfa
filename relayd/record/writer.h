/* SPDX-License-Identifier: MIT */
/*
 * Writer: takes complete packets in order, writes them to the tracefile, and
 * then writes their index records. It accounts for packets that cannot be
 * written. No other part of a stream reads these fields.
 */
#ifndef RELAYD_RECORD_WRITER_H
#define RELAYD_RECORD_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "relayd/stats/info.h"
#include "store/reorder.h"

struct buf;
struct chunk;
struct packet;
struct relay_written;
struct shard;
struct state_in;
struct state_out;
struct stream;
struct stream_info;
struct tracefile;

/* Packets that were lost on a full disk and are not in .loss.jsonl yet. */
struct unnoted_loss {
	struct reorder_loss loss; /* n 0: none */
	uint64_t noted_ns;	  /* when a line was written */
};

struct writer {
	struct list locked_node; /* shard->work.locked */
	struct tracefile *tf;	 /* the current file; NULL: none */
	struct {
		struct packet *first, **end;
		unsigned n;
		uint64_t bytes;
	} batch; /* packets out of the heap, not yet in the file */

	bool has_write_error; /* not yet reported to the peer */
	bool has_logged_drop, has_logged_size;
	bool has_lost_metadata; /* nothing can be written after it */
	/* has_x: is x_seq set? */
	bool has_data, has_record, has_packet_seq;
	uint64_t data_seq; /* net_seq_num of the last packet written or lost */
	uint64_t
	    record_seq; /* the last packet whose record is written or lost */
	uint64_t packet_seq; /* packet_seq_num of the last packet */

	uint64_t written_bytes, written_packets, lost; /* since it began */
	struct unnoted_loss *unnoted;		       /* NULL: none */

	/* Metadata that waits for space on the disk: each request with its
	 * lengths before it. NULL: none. */
	struct buf *pending;
	struct list pending_node; /* shard->work.pending */
};

void writer_init(struct writer *w);
void writer_free(struct stream *t);

/*
 * Write the packets whose turn has come, and their records. Gaps that cannot
 * close are given up. False: the time slice has expired; the stream is dirty,
 * and the rest is written later.
 */
bool writer_write_ready(struct stream *t);
/* Write only packets that have left the heap, before the transport gives up the
 * packets after them. */
void writer_write_batch(struct stream *t);
/* The packet with this packet_seq_num is lost: roll if that is due after it. */
void writer_pass_packet(struct stream *t, uint64_t packet_seq);
/* Go to the next chunk if the pending rotation is due. */
enum status writer_roll_if_due(struct stream *t) MUST_CHECK;

/* Create the file of the current place. */
enum status writer_open_file(struct stream *t) MUST_CHECK;
/* Go to the chunk C and create a file there. NULL: to no chunk. */
enum status writer_enter_chunk(struct stream *t, struct chunk *c) MUST_CHECK;
/* Go to the next file, which is empty. */
void writer_next_file(struct stream *t);
/* The stream goes to another chunk or ends: note its losses, and close its
 * file. */
void writer_leave_files(struct stream *t);

/* Retry writing records that wait for a lock. */
void writer_retry_records(struct stream *t);

/* See stream_written(). */
void writer_written(const struct stream *t, struct relay_written *out);
/* The numbers of packets begin again; what is written stays. */
void writer_begin_again(struct stream *t);

/* For a restart: records do not wait for a lock any more, packets that wait are
 * behind the end of the file, and the file is closed like an idle one. */
void writer_settle(struct stream *t);
/* After writer_settle(). The place is back when it is read. On failure, or if
 * the rest of the stream cannot be read: writer_drop_file(), writer_free(). */
void writer_put_state(struct state_out *o, const struct stream *t);
enum status writer_get_state(struct stream *t, struct state_in *in) MUST_CHECK;
void writer_drop_file(struct stream *t);

/* N packets are lost, for whatever reason. */
void writer_lost(struct stream *t, enum loss cause, uint64_t n);
/* Append a line to .loss.jsonl. A failure is logged. */
enum status writer_note_loss(
    struct stream *t, const struct reorder_loss *loss, const char *why);

/* Fill in what was written and lost. */
void writer_describe(const struct writer *w, struct stream_info *to);

/* Report an error in the next reply to the peer. */
static inline void
writer_set_error(struct writer *w)
{
	w->has_write_error = true;
}
/* Is an error to be reported to the peer? It is reported once. */
static inline bool
writer_take_error(struct writer *w)
{
	const bool has_error = w->has_write_error;

	w->has_write_error = false;
	return has_error;
}

/* Is every packet that left the heap written or lost? */
static inline bool
writer_is_idle(const struct writer *w)
{
	return w->batch.n == 0;
}
/* Are the records of all packets in the file in the index file, too? */
static inline bool
writer_has_all_records(const struct writer *w)
{
	return w->has_record == w->has_data &&
	       (!w->has_data || w->record_seq == w->data_seq);
}
/* The net_seq_num of the last packet in the file, or of the last one whose
 * record is there too. False: there is none. */
static inline bool
writer_last_data(const struct writer *w, uint64_t *net_seq)
{
	if (w->has_data)
		*net_seq = w->data_seq;
	return w->has_data;
}
static inline bool
writer_last_record(const struct writer *w, uint64_t *net_seq)
{
	if (w->has_record)
		*net_seq = w->record_seq;
	return w->has_record;
}

/* stream_metadata.c: a metadata stream goes to another chunk or ends. Call it
 * before writer_leave_files(): write what waits for space now, or lose it. */
void writer_leave_metadata(struct stream *t);
/* What waits for space will never be written. */
void writer_drop_pending(struct stream *t);
/* Part of writer_get_state(): what waits for space. */
enum status writer_get_pending(
    struct stream *t, struct state_in *in) MUST_CHECK;

#endif
