/* SPDX-License-Identifier: MIT */
/*
 * Intake: how the packets of a stream become complete. A packet is whole when
 * all its bytes have arrived, and complete when its index record has, too.
 * Bytes arrive on data connections or in datagrams, records in SEND_INDEX, in
 * any order. Both halves wait in the reorder heap until the packet is complete
 * and next. No other part of a stream reads these fields.
 */
#ifndef RELAYD_RECORD_INTAKE_H
#define RELAYD_RECORD_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "store/reorder.h"

struct data_header;
struct index_record;
struct packet;
struct relay_index;
struct state_in;
struct state_out;
struct stream;
struct stream_udp;

#define NO_SEQ UINT64_MAX /* on the wire: no packet was sent */

/*
 * How the packets of a stream arrive. Except for its own file, no code depends
 * on the transport.
 */
struct transport_ops {
	/* Its packets come on data connections. */
	bool is_connected;
	/* Free what the transport keeps for the stream; NULL: nothing. */
	void (*destroy)(struct stream *t);
	/* Put the record of packet SEQ into the heap; returns as
	 * reorder_record(). */
	enum status (*add_record)(struct stream *t, uint64_t seq,
	    const struct index_record *rec) MUST_CHECK;
	/* Does it have parts of packets that are not in the heap yet? NULL:
	 * never, as they belong to their connection. */
	bool (*has_pieces)(const struct stream *t);
	/* The result of stream_pending() if no write failed. */
	uint32_t (*pending)(struct stream *t, uint64_t last_seq);
	/* No more records will come. has_last and last_seq say up to which
	 * packet bytes may come. NULL: they come without being asked for. */
	void (*closing)(struct stream *t);
	/* The stream is closing: may another packet become complete? */
	bool (*may_go_on)(const struct stream *t);
	/* No bytes will come: write the whole packets and give up all gaps.
	 * False: the time slice has expired, call it again. */
	bool (*finish)(struct stream *t);
	/* True: a gap before the next packet was given up; pop again. False:
	 * there is no gap, or it may still close. */
	bool (*pass_gap)(struct stream *t);
	/* See intake_check_gap(). */
	uint64_t (*check_gap)(struct stream *t, uint64_t now_ns);
	/* What it keeps for the stream, at a restart; when it is read, whole
	 * packets are back. E_MALFORMED, E_NOMEM. NULL: nothing. */
	void (*put_state)(struct state_out *o, const struct stream *t);
	enum status (*get_state)(
	    struct stream *t, struct state_in *in) MUST_CHECK;
};

extern const struct transport_ops tcp_transport; /* intake.c */

struct intake {
	struct list gapped_node; /* shard->work.gapped */
	struct reorder reorder;
	const struct transport_ops *transport;
	struct stream_udp *udp; /* NULL: the transport is TCP */
	unsigned
	    counted_records;	/* of those that wait, in session->n_records */
	bool has_last;		/* is last_seq set? */
	uint64_t last_seq;	/* the last net_seq_num, from CLOSE_STREAM */
	uint64_t waiting_bytes; /* what waiting packets count as */
	uint64_t gap_since_ns;	/* TCP; 0: there is no gap */
};

/* T begins with the TCP transport. */
void intake_init(struct stream *t);
/* The stream is freed: drop what waits. */
void intake_free(struct stream *t);
/* Over TCP: drop what waits; numbers begin at 0 again. */
void intake_begin_again(struct stream *t);

/* Do packets come on data connections (and not over UDP)? */
static inline bool
intake_is_connected(const struct intake *in)
{
	return in->transport->is_connected;
}
/* A header arrived: may the packet's bytes follow? E_PROTOCOL, E_EXISTS. */
enum status intake_begin(
    struct stream *t, const struct data_header *h) MUST_CHECK;
/* All bytes of TAKE_P are present. Takes it over, also on failure. */
enum status intake_add_packet(
    struct stream *t, struct packet *take_p) MUST_CHECK;
/* See stream_add_record(). */
enum status intake_add_record(
    struct stream *t, const struct relay_index *i) MUST_CHECK;
/* Records may have found their bytes or been given up: count those that
 * wait. */
void intake_count_records(struct stream *t);

/* What waits. When it is read, the stream has its place and its transport, and
 * is otherwise as intake_init() left it; on failure nothing waits in it. */
void intake_put_state(struct state_out *o, const struct stream *t);
enum status intake_get_state(struct stream *t, struct state_in *in) MUST_CHECK;
/* Whole packets that wait, in order, linked by packet->next; borrowed. */
static inline struct packet *
intake_chain(const struct intake *in)
{
	return reorder_chain(&in->reorder);
}

/* The next packet, if it is complete and next in order. It still counts as
 * waiting until intake_release(). */
static inline struct packet *
intake_pop(struct intake *in)
{
	return reorder_pop(&in->reorder);
}
/* Give up a gap before the next packet if its transport allows it. False: there
 * is no gap, or it may still close. */
static inline bool
intake_pass_gap(struct stream *t, const struct intake *in)
{
	return in->transport->pass_gap(t);
}
/* Free a packet that intake_pop() returned. Returns what it counted as. */
uint64_t intake_release(struct stream *t, struct packet *take_p);

/*
 * Memory is short: give up packets whose turn it is and whose records have not
 * come since SINCE_NS, until this many bytes of memory are free. They count as
 * dropped, and the peer's next SEND_INDEX gets an error. Returns the bytes.
 */
uint64_t intake_give_up(struct stream *t, uint64_t since_ns, uint64_t bytes);
/* Give up the gap if its time has expired. Returns when to call it again; see
 * cycle_tick(). */
uint64_t intake_check_gap(struct stream *t, uint64_t now_ns);

/* What packets that wait count as, in bytes. */
static inline uint64_t
intake_waiting(const struct intake *in)
{
	return in->waiting_bytes;
}
/* See struct transport_ops. */
static inline uint32_t
intake_pending(struct stream *t, const struct intake *in, uint64_t last_seq)
{
	return in->transport->pending(t, last_seq);
}
static inline bool
intake_may_go_on(const struct stream *t, const struct intake *in)
{
	return in->transport->may_go_on(t);
}
/* Is no part of any packet waiting? */
bool intake_is_empty(const struct stream *t);
/* CLOSE_STREAM: no more records will come, bytes up to packet LAST_SEQ may. */
void intake_close(struct stream *t, uint64_t last_seq);
/* The control connection is gone: the same, up to the last packet that has a
 * record. */
void intake_end_of_control(struct stream *t);
/* No bytes will come; see struct transport_ops. */
bool intake_finish(struct stream *t);
/* Write all whole packets, also those after gaps. False: the time slice has
 * expired. */
bool intake_write_rest(struct stream *t);

#endif
