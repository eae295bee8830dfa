/* SPDX-License-Identifier: MIT */
/*
 * The writer's side of a stream: halves of packets go in, whole packets reach
 * the file in order, rolled and rotated where the tracer says (streaming 4).
 * Lives on its session's worker; that thread only.
 */
#ifndef RELAYD_RECORD_STREAM_H
#define RELAYD_RECORD_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "proto/relay.h"
#include "store/reorder.h"

struct chunk;
struct chunk_family;
struct live_stream;
struct metadata_log;
struct packet_log;
struct data_header;
struct session;
struct stream_udp;
struct trace;
struct tracefile;
struct transport_ops;

struct stream {
	struct list session_node, dirty_node, locked_node, gapped_node;
	struct session *session;
	uint64_t handle;
	struct trace *trace;	    /* a reference */
	const struct relpath *path; /* its folder */
	struct relpath *channel;
	bool is_metadata;
	bool is_published;
	struct live_stream *live;      /* NULL: not to be shown */
	struct packet_log *log;	       /* of a live session's data stream */
	struct metadata_log *metadata; /* of its metadata stream */
	bool is_checked;	       /* in DATA_PENDING's frame */

	uint64_t tracefile_size, tracefile_count; /* 0: no limit */
	uint64_t number;			  /* of the current tracefile */
	bool has_wrapped;
	struct chunk *chunk; /* NULL: no chunk, no file */
	struct chunk_family *family;
	struct tracefile *tf;
	struct list sealed; /* closed to packets; records wait for a lock */

	struct reorder reorder;
	unsigned counted_records; /* of reorder, in the session's n_records */
	uint64_t gap_since_ns;	  /* 0: no gap */
	struct {
		struct packet *first, **end;
		unsigned n;
		uint64_t bytes;
	} batch; /* popped, not yet in the file */

	/* Sequence numbers; has_x: was there any. */
	bool has_data, has_record, has_packet_seq, has_last;
	uint64_t data_seq;   /* net_seq of the last packet in the file */
	uint64_t record_seq; /* ... whose record is in the file, too */
	uint64_t packet_seq; /* the tracer's number of that one */
	uint64_t last_seq;   /* as CLOSE_STREAM said */

	struct {
		bool is_pending;
		struct chunk *to; /* NULL: to no chunk */
		uint64_t at;	  /* packet_seq_num */
	} roll;

	const struct transport_ops *transport;
	struct stream_udp *udp; /* of the UDP transport; else NULL */
	uint64_t held_bytes;	/* memory of packets that wait */

	bool is_closing;      /* no record can come any more */
	bool has_write_error; /* not yet told to the peer */
	bool has_logged_drop;
};

/*
 * ADD_STREAM, decoded: TAKE_Q's names move in (also on failure). *HANDLE is
 * the number given out, or burnt. E_REFUSED, E_IO, E_EXISTS: no chunk, or its
 * files cannot be made. The stream belongs to its session.
 */
enum status stream_create(struct session *s, struct relay_add_stream *take_q,
    uint64_t *handle) MUST_CHECK;

/* May its packets come on a data connection? */
bool stream_is_connected(const struct stream *t);
/* A packet's header arrived: may it come? E_PROTOCOL, E_EXISTS. */
enum status stream_begin(
    struct stream *t, const struct data_header *h) MUST_CHECK;
/* All its bytes are here. TAKE_P is gone afterwards, also on failure. */
enum status stream_data(struct stream *t, struct packet *take_p) MUST_CHECK;
/*
 * SEND_INDEX with a packet. E_EXISTS: a second record for that number;
 * E_LIMIT; E_IO: an earlier packet could not be written (said once);
 * E_NOENT: its bytes cannot come any more.
 */
enum status stream_record(
    struct stream *t, const struct relay_index *i) MUST_CHECK;

/* SEND_INDEX without a packet: nothing of the stream is older than its end
 * time (streaming 4.3). */
enum status stream_beacon(
    struct stream *t, const struct relay_index *i) MUST_CHECK;

/* SEND_METADATA. E_NOENT: no file at the moment. E_IO. */
enum status stream_metadata(
    struct stream *t, const struct relay_send_metadata *m) MUST_CHECK;
/* RESET_METADATA: an empty file again. */
enum status stream_reset_metadata(struct stream *t) MUST_CHECK;

/* ROTATE_STREAMS: packets from packet_seq_num AT on belong to TO (NULL: to no
 * chunk). E_EXISTS: a rotation is pending already. E_IO. */
enum status stream_rotate(
    struct stream *t, struct chunk *to, uint64_t at) MUST_CHECK;

/* STREAMS_SENT: viewers may see it. */
void stream_publish(struct stream *t);
/* The chunk C is cleared: viewers skip what they have not read of it. */
void stream_forget_chunk(struct stream *t, const struct chunk *c);

/* DATA_PENDING: 0, 1, or RELAY_PENDING_UNKNOWN when it will never be there. */
uint32_t stream_pending(struct stream *t, uint64_t last_seq);

/* CLOSE_STREAM. The stream may be gone on return, in the three below too. */
void stream_close(struct stream *t, uint64_t last_seq);
/* The control connection is gone: no record, no CLOSE_STREAM will come. */
void stream_end_of_control(struct stream *t);
/* The last data connection is gone: no bytes will come. */
void stream_end_of_data(struct stream *t);
/* Write what is whole, drop the rest, free. */
void stream_close_now(struct stream *t);

/* Write what may be written now. Closes the stream if it was only waiting for
 * that: then it is gone. */
void stream_commit(struct stream *t);

/* Records that waited for a lock: try again. */
void stream_retry_records(struct stream *t);
/* The same for files whose streams have gone. FORCE: without the lock. */
void stream_retry_sealed(struct list *sealed, bool force);
/* Give the gap up if it has lasted; when to come again, as turn_tick(). */
uint64_t stream_check_gap(struct stream *t, uint64_t now_ns);

#define STREAM_FMT "%s stream=%s/%s"
#define STREAM_ARGS(t) (t)->session->tag, (t)->path->s, (t)->channel->s

#endif
