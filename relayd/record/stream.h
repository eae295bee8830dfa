/* SPDX-License-Identifier: MIT */
/*
 * The writer's side of a stream: it takes halves of packets and writes whole
 * packets to files in order, and it rolls and rotates where the tracer says
 * (streaming 4). It lives on its session's worker, and only that thread uses
 * it.
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
#include "relayd/record/writer.h"

struct chunk;
struct live_stream;
struct metadata_log;
struct packet_log;
struct data_header;
struct session;
struct shard;

/* No part reads the fields of another. */
struct stream {
	struct list session_node, dirty_node;
	struct session *session;
	uint64_t handle;
	const struct relpath *path; /* its folder; the trace's */
	struct relpath *channel;
	bool is_metadata, is_published;
	bool is_closing;	       /* no record can come any more */
	struct live_stream *live;      /* NULL: not shown */
	struct packet_log *log;	       /* of a live session's data stream */
	struct metadata_log *metadata; /* of its metadata stream */
	uint64_t question; /* the last of the session's in which it was asked */

	struct intake intake;
	struct place place;
	struct writer writer;
};

/*
 * ADD_STREAM, decoded: TAKE_Q's names are taken over (also on failure). *HANDLE
 * is set on failure, too; no handle is used twice. E_REFUSED: there is no
 * chunk, or a name is not allowed; E_IO, E_EXISTS: its files cannot be made.
 * The stream belongs to its session.
 */
enum status stream_create(struct session *s, struct relay_add_stream *take_q,
    uint64_t *handle) MUST_CHECK;

/* Do its packets come on data connections (and not over UDP)? */
bool stream_is_connected(const struct stream *t);
/* A packet's header arrived: may the packet come? E_PROTOCOL, E_EXISTS. */
enum status stream_begin(
    struct stream *t, const struct data_header *h) MUST_CHECK;
/* All bytes of TAKE_P are here. It is taken over, also on failure. */
enum status stream_data(struct stream *t, struct packet *take_p) MUST_CHECK;
/*
 * Memory is short: give up packets whose turn it is and whose records have not
 * come since SINCE_NS, until so many bytes of memory are free. They count as
 * dropped, and the peer's next SEND_INDEX gets an error. Returns the bytes.
 */
uint64_t stream_give_up(struct stream *t, uint64_t since_ns, uint64_t bytes);
/*
 * SEND_INDEX for a packet. E_EXISTS: a second record for that number; E_LIMIT:
 * too many records wait; E_IO: an earlier packet could not be written (returned
 * once); E_NOENT: the packet's bytes cannot come any more.
 */
enum status stream_record(
    struct stream *t, const struct relay_index *i) MUST_CHECK;

/* SEND_INDEX without a packet: no later event of the stream is older than the
 * end time in it (streaming 4.3). */
enum status stream_beacon(
    struct stream *t, const struct relay_index *i) MUST_CHECK;

/* SEND_METADATA. E_LATER: the time is over after *DONE bytes; call it again
 * with this, and with the same request. E_NOENT: the stream is in no chunk now.
 * E_IO: nothing of it is in the file, or what came before it was lost. */
enum status stream_metadata(struct stream *t,
    const struct relay_send_metadata *m, uint32_t *done) MUST_CHECK;
/* RESET_METADATA: begin with an empty file again. */
enum status stream_reset_metadata(struct stream *t) MUST_CHECK;

/* ROTATE_STREAMS: packets from packet_seq_num AT on belong to TO (NULL: to no
 * chunk). E_EXISTS: a rotation is pending already. E_LATER: packets before it
 * are not written yet, nothing was done. E_IO. */
enum status stream_rotate(
    struct stream *t, struct chunk *to, uint64_t at) MUST_CHECK;

/* STREAMS_SENT: viewers may see the stream. */
void stream_publish(struct stream *t);
/* The chunk C is cleared: viewers skip its packets that they have not read. */
void stream_forget_chunk(struct stream *t, const struct chunk *c);

/* Somebody asks whether its data is there: session_end_pending(). */
void stream_is_asked(struct stream *t);
/* DATA_PENDING: 0: all up to LAST_SEQ is written; 1: it is not yet;
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
 * False: the time is over (shard_is_late()); it is still there, and dirty. */
bool stream_finish(struct stream *t);
/* The same, however long it takes. */
void stream_close_now(struct stream *t);

/* Commit it at the end of the turn. */
void stream_mark_dirty(struct stream *t);

/* Write what may be written now. A closing stream that waits for nothing more
 * is closed: then it is gone. When the time is over, it is dirty again. */
void stream_commit(struct stream *t);

/* Try again to write metadata that waits for room on the disk. False: it waits;
 * otherwise it is written, or lost. */
bool stream_retry_metadata(struct stream *t);
/* Try again to write records that wait for a lock. */
void stream_retry_records(struct stream *t);
/* The same for files whose streams have gone. FORCE: without the lock. */
void stream_retry_sealed(struct shard *sh, bool force);
/* Give up the gap if its time is over. Returns when to call it again, like
 * turn_tick(). */
uint64_t stream_check_gap(struct stream *t, uint64_t now_ns);

#define STREAM_FMT "%s stream=%s/%s"
#define STREAM_ARGS(t) (t)->session->tag, (t)->path->s, (t)->channel->s

#endif
