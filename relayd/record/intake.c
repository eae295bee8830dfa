/* SPDX-License-Identifier: MIT */
/*
 * How the packets of a stream become whole: bytes and records come in any order
 * and go to the reorder heap. At the end: the rules of the TCP transport, whose
 * packets come on data connections, whole and nearly in order.
 */
#include <assert.h>
#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "proto/data.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream_internal.h"
#include "relayd/stats/stats.h"
#include "store/packet_log.h"
#include "store/store.h"

void
stream_count_records(struct stream *t)
{
	const uint64_t now = t->intake.reorder.n_records,
		       before = t->intake.counted_records;

	if (now == before)
		return;
	t->session->n_records += now - before;
	t->intake.counted_records = (unsigned)now;
	/* Unsigned arithmetic: a difference below 0 is subtracted. */
	published_add(
	    shard_of(t)->config.memory, (now - before) * RECORD_MEMORY);
}

/* May the session have one more record that waits for its bytes? */
static bool
has_room_for_records(const struct session *s)
{
	if (s->n_records > SESSION_RECORDS_MAX)
		return false;
	return !shard_is_over(s->shard, 1) ||
	       s->n_records * RECORD_MEMORY <= session_little(s);
}

/* What P's part of a file of its own counts as. */
static uint64_t
file_weight(const struct stream *t, const struct packet *p)
{
	const uint64_t n = packet_length(p);

	if (t->place.tracefile_size == 0)
		return 0;
	return n >= t->place.tracefile_size
		   ? FILE_WEIGHT
		   : FILE_WEIGHT * n / t->place.tracefile_size;
}

uint64_t
stream_hold(struct stream *t, const struct packet *p)
{
	const uint64_t file = file_weight(t, p), all = packet_memory(p) + file;

	t->intake.held_bytes += all;
	t->session->file_bytes += file;
	shard_of(t)->file_bytes += file;
	session_hold(t->session, (int64_t)all);
	published_add(shard_of(t)->config.memory, file);
	return all;
}

uint64_t
stream_release(struct stream *t, const struct packet *p)
{
	const uint64_t file = file_weight(t, p), all = packet_memory(p) + file;

	t->intake.held_bytes -= all;
	t->session->file_bytes -= file;
	shard_of(t)->file_bytes -= file;
	session_hold(t->session, -(int64_t)all);
	published_sub(shard_of(t)->config.memory, file);
	return all;
}

/* A whole packet of that many bytes came. */
static void
count_received(struct stream *t, uint64_t bytes)
{
	struct stats *stats = shard_of(t)->stats;
	const bool is_tcp = t->intake.transport->is_connected;

	stats_add(stats,
	    is_tcp ? STAT_received_tcp_bytes : STAT_received_udp_bytes, bytes);
	stats_add(stats,
	    is_tcp ? STAT_received_tcp_packets : STAT_received_udp_packets, 1);
	t->session->sums.received_bytes += bytes;
	t->session->sums.received_packets++;
}

bool
stream_is_connected(const struct stream *t)
{
	return t->intake.transport->is_connected;
}

enum status
stream_begin(struct stream *t, const struct data_header *h)
{
	if (t->is_metadata)
		return E_PROTOCOL;
	return reorder_begin(&t->intake.reorder, h->net_seq);
}

enum status
stream_data(struct stream *t, struct packet *take_p)
{
	enum status st;

	assert(shard_is_mine(shard_of(t)));
	assert(t->writer.batch.n == 0);
	t->intake.reorder.now = clock_now_ns();
	st = reorder_data(&t->intake.reorder, take_p);
	if (st != OK)
		return st;
	count_received(t, packet_length(take_p));
	(void)stream_hold(t, take_p);
	session_heard(t->session);
	stream_count_records(t);
	stream_mark_dirty(t);
	return OK;
}

uint64_t
stream_give_up(struct stream *t, uint64_t since_ns, uint64_t bytes)
{
	uint64_t given_up = 0;
	struct packet *p;

	assert(shard_is_mine(shard_of(t)));
	assert(t->writer.batch.n == 0);
	while (given_up < bytes &&
	       (p = reorder_pop_unrecorded(&t->intake.reorder, since_ns)) !=
		   NULL) {
		given_up += stream_release(t, p);
		packet_destroy(&shard_of(t)->store->packets, p);
		shard_of(t)->packets_dropped++;
		stream_lost(t, LOSS_memory, 1);
	}
	if (given_up == 0)
		return 0;
	t->writer.has_write_error = true; /* the peer is told */
	stream_mark_dirty(t);
	return given_up;
}

static void
fill_record(struct index_record *rec, const struct relay_index *i)
{
	*rec = (struct index_record){
		.packet_size = i->packet_size,
		.content_size = i->content_size,
		.timestamp_begin = i->timestamp_begin,
		.timestamp_end = i->timestamp_end,
		.events_discarded = i->events_discarded,
		.ctf_stream = i->ctf_stream,
		.ctf_instance = i->ctf_instance,
		.packet_seq_num = i->packet_seq_num,
	};
}

enum status
stream_record(struct stream *t, const struct relay_index *i)
{
	unsigned halves = t->intake.reorder.n_records;
	struct index_record rec;
	enum status st;

	assert(shard_is_mine(shard_of(t)));
	assert(t->writer.batch.n == 0);
	if (t->is_metadata || !t->session->has_index)
		return E_PROTOCOL;
	session_note_time(t->session, i->timestamp_end);
	if (t->log != NULL)
		packet_log_no_beacon(t->log, i->ctf_stream);
	fill_record(&rec, i);
	st = t->intake.transport->record(t, i->net_seq, &rec);
	/* The packet was given up, or was written without a record: ignore
	 * it. */
	if (st == E_NOENT)
		return OK;
	stream_count_records(t);
	t->session->sums.index_records += st == OK;
	if (st == OK && t->intake.reorder.n_records > halves &&
	    !has_room_for_records(t->session))
		return E_LIMIT;
	if (st == OK && !session_may_receive(t->session) &&
	    t->intake.reorder.n_records > halves) {
		log_peer(LOG_WARN,
		    STREAM_FMT " an index for packet %" PRIu64
			       ", but its data connection is gone",
		    STREAM_ARGS(t), i->net_seq);
		return E_NOENT;
	}
	if (st != OK)
		return st;
	stream_mark_dirty(t);
	/* The record is kept although this is an error, as the peer may go
	 * on. */
	if (t->writer.has_write_error) {
		t->writer.has_write_error = false;
		return E_IO;
	}
	return OK;
}

/* This transport has no memory of its own. */
static void
destroy(struct stream *t)
{
}

static enum status
record(struct stream *t, uint64_t seq, const struct index_record *rec)
{
	return reorder_record(&t->intake.reorder, seq, rec);
}

/* A packet whose bytes are not all here belongs to its connection. */
static bool
has_pieces(const struct stream *t)
{
	return false;
}

static uint32_t
pending(struct stream *t, uint64_t last_seq)
{
	uint64_t seq = NO_SEQ;

	if (t->intake.reorder.needs_record && t->writer.has_record)
		seq = t->writer.record_seq;
	else if (!t->intake.reorder.needs_record && t->writer.has_data)
		seq = t->writer.data_seq;
	if ((int64_t)(seq - last_seq) >= 0)
		return 0;
	return session_may_receive(t->session) ? 1 : RELAY_PENDING_UNKNOWN;
}

/* Nothing to do: bytes come without a request, or their connection ends. */
static void
closing(struct stream *t)
{
}

static bool
may_go_on(const struct stream *t)
{
	if (!t->intake.has_last || !session_may_receive(t->session))
		return false;
	return !t->writer.has_data ||
	       (int64_t)(t->writer.data_seq - t->intake.last_seq) < 0;
}

/* May the missing number still come on another data connection? */
static bool
gap_may_close(const struct stream *t)
{
	const struct list *inputs = &t->session->inputs;

	return !list_empty(inputs) && inputs->next->next != inputs;
}

static void
give_up_gap(struct stream *t)
{
	unsigned records;
	uint64_t n, from = t->intake.reorder.next;

	n = reorder_skip(&t->intake.reorder, &records);
	stream_count_records(t);
	shard_of(t)->gaps++;
	shard_of(t)->packets_lost += n;
	stream_lost(t, LOSS_gap, n);
	t->intake.gap_since_ns = 0;
	list_del(&t->intake.gapped_node);
	log_peer(LOG_WARN,
	    STREAM_FMT " gap: %" PRIu64 " packets from number %" PRIu64
		       " on never came (%u of them had an index)",
	    STREAM_ARGS(t), n, from, records);
}

static bool
pass_gap(struct stream *t)
{
	if (!reorder_has_gap(&t->intake.reorder))
		return false;
	if (gap_may_close(t)) {
		if (list_empty(&t->intake.gapped_node)) {
			t->intake.gap_since_ns = clock_now_ns();
			list_append(
			    &shard_of(t)->gapped, &t->intake.gapped_node);
		}
		return false;
	}
	give_up_gap(t);
	return true;
}

static uint64_t
check_gap(struct stream *t, uint64_t now_ns)
{
	if (!reorder_has_gap(&t->intake.reorder)) {
		list_del(&t->intake.gapped_node);
		t->intake.gap_since_ns = 0;
	} else if (now_ns - t->intake.gap_since_ns >= GAP_NS ||
		   !gap_may_close(t)) {
		give_up_gap(t);
		stream_mark_dirty(t);
	} else {
		return now_ns + GAP_NS / 10;
	}
	return UINT64_MAX;
}

const struct transport_ops tcp_transport = {
	.is_connected = true,
	.destroy = destroy,
	.record = record,
	.has_pieces = has_pieces,
	.pending = pending,
	.closing = closing,
	.may_go_on = may_go_on,
	.finish = stream_write_rest,
	.pass_gap = pass_gap,
	.check_gap = check_gap,
};
