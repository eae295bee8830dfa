/* SPDX-License-Identifier: MIT */
/*
 * The recording side of a stream (streaming 4). It has three parts: intake (how
 * packets become complete), place (where they go) and writer (how they are
 * written). No part reads the fields of another.
 *
 * A stream lives on its session's worker, and only that thread uses it.
 */
#ifndef RELAYD_RECORD_STREAM_H
#define RELAYD_RECORD_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "proto/relay.h"
#include "relayd/record/intake.h"
#include "relayd/record/place.h"
#include "relayd/record/session.h"
#include "relayd/record/writer.h"

struct chunk;
struct chunk_family;
struct live_stream;
struct metadata_log;
struct packet_log;
struct shard;
struct state_in;
struct state_out;
struct trace;
struct tracefile;

struct stream {
	struct list session_node, dirty_node;
	struct session *session;
	uint64_t handle;
	struct trace *trace;	    /* a reference */
	const struct relpath *path; /* its folder; the trace owns it */
	struct relpath *channel;
	bool is_metadata;
	bool is_closing; /* no record can come any more */
	bool is_published;
	/* The round of DATA_PENDING (session->round) in which the peer last
	 * asked about this stream. */
	uint64_t round;

	/* What viewers see of it, once it is published. */
	struct live_stream *live;      /* NULL: not shown */
	struct packet_log *log;	       /* of a live session's data stream */
	struct metadata_log *metadata; /* of its metadata stream */

	struct intake intake;
	struct place place;
	struct writer writer;
};

static inline struct shard *
shard_of(const struct stream *t)
{
	return t->session->shard;
}

/*
 * ADD_STREAM, decoded: TAKE_Q's names are taken over (also on failure). *HANDLE
 * is set on failure, too; no handle is used twice, except for a stream that is
 * added again to a session that may be resumed. E_REFUSED: there is no chunk, a
 * name is not allowed, or such a session has no rings of files; E_IO, E_EXISTS:
 * its files cannot be created. The stream belongs to its session.
 */
enum status stream_create(struct session *s, struct relay_add_stream *take_q,
    uint64_t *handle) MUST_CHECK;

/*
 * SEND_INDEX for a packet. E_EXISTS: a second record for that number; E_LIMIT:
 * too many records wait; E_IO: an earlier packet could not be written (returned
 * once); E_NOENT: the packet's bytes cannot come any more.
 */
enum status stream_add_record(
    struct stream *t, const struct relay_index *i) MUST_CHECK;
/* SEND_INDEX without a packet: no later event of the stream is older than its
 * end time (streaming 4.3). */
enum status stream_beacon(
    struct stream *t, const struct relay_index *i) MUST_CHECK;

/* SEND_METADATA. E_LATER: the time slice has expired after *DONE bytes; call it
 * again with this, and with the same request. E_NOENT: the stream is in no
 * chunk now. E_IO: nothing of it is in the file, or earlier metadata was
 * lost. */
enum status stream_metadata(struct stream *t,
    const struct relay_send_metadata *m, uint32_t *done) MUST_CHECK;
/* RESET_METADATA: begin with an empty file again. */
enum status stream_reset_metadata(struct stream *t) MUST_CHECK;
/* Retry writing metadata that waits for space on the disk. False: it still
 * waits, after that of other streams; otherwise it is written, or lost. */
bool stream_retry_metadata(struct stream *t);

/* STREAM_WRITTEN: what is in its files, of packets those that have records. */
void stream_written(struct stream *t, struct relay_written *out);
/* The sender of its session goes on: see session_resume(). A stream that was
 * closed, but not complete, is gone on return. E_NOMEM: T is as it was. */
enum status stream_begin_again(struct stream *t) MUST_CHECK;

/* ROTATE_STREAMS: packets from packet_seq_num AT on belong to TO (NULL: to no
 * chunk). E_EXISTS: a rotation is pending already. E_LATER: earlier packets are
 * not written yet, nothing was done. E_IO. */
enum status stream_rotate(
    struct stream *t, struct chunk *to, uint64_t at) MUST_CHECK;

/* STREAMS_SENT: viewers may see the stream. */
void stream_publish(struct stream *t);
/* The chunk C is cleared: viewers skip its packets that they have not read. */
void stream_forget_chunk(struct stream *t, const struct chunk *c);
/* The new tracefile TF, or one that is continued, of the family F in the chunk
 * C, enters the logs that viewers read. */
enum status stream_log_file(struct stream *t, struct tracefile *tf,
    struct chunk *c, struct chunk_family *f) MUST_CHECK;
/* Wake the viewers that wait for this stream. */
void stream_wake(struct stream *t);

/* A peer asks whether its data is present: session_end_pending(). */
void stream_is_asked(struct stream *t);
/* DATA_PENDING: 0: all up to LAST_SEQ is written; 1: not yet;
 * RELAY_PENDING_UNKNOWN: it never will be. */
uint32_t stream_pending(struct stream *t, uint64_t last_seq);

/* CLOSE_STREAM. After this and the next three functions the stream may be
 * gone. */
void stream_close(struct stream *t, uint64_t last_seq);
/* The control connection is gone: neither records nor CLOSE_STREAM will
 * come. */
void stream_end_of_control(struct stream *t);
/* The last data connection is gone: no bytes will come. */
void stream_end_of_data(struct stream *t);
/* No bytes will come: write whole packets, drop the rest, and free the stream.
 * False: the time slice has expired; the stream still exists and is dirty. */
bool stream_finish(struct stream *t);

/* A stream of S, whose traces and chunks are back; on failure nothing of it is
 * left. Viewers are told of it by stream_announce(). E_MALFORMED, E_NOMEM. */
void stream_put_state(struct state_out *o, const struct stream *t);
enum status stream_get_state(struct session *s, struct state_in *in) MUST_CHECK;
void stream_announce(struct stream *t);

/* Commit it at the end of the cycle. */
void stream_mark_dirty(struct stream *t);
/* Write what may be written now. A closing stream that waits for nothing more
 * is closed: then it is gone. If the time slice expires, it is dirty again. */
void stream_commit(struct stream *t);

#define STREAM_FMT "%s stream=%s/%s"
#define STREAM_ARGS(t) (t)->session->tag, (t)->path->s, (t)->channel->s

#endif
