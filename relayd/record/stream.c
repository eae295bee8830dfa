/* SPDX-License-Identifier: MIT */
#include "relayd/record/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "proto/data.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream_internal.h"
#include "relayd/record/trace.h"
#include "relayd/stats/stats.h"
#include "store/chunk.h"
#include "store/packet_log.h"
#include "store/store.h"
#include "store/tracefile.h"

static enum tracefile_index
index_format(const struct stream *t)
{
	if (t->is_metadata || !t->session->has_index)
		return TRACEFILE_NO_INDEX;
	return t->session->minor >= 8 ? TRACEFILE_INDEX_1_1
				      : TRACEFILE_INDEX_1_0;
}

static enum status
open_file(struct stream *t, bool replaces)
{
	enum status st = OK;

	/* The folder may be missing: making it may have failed when the stream
	 * entered the chunk. */
	if (t->family == NULL)
		st = chunk_add_stream(t->chunk, t->path, t->channel,
		    stream_is_numbered(t), &t->family);
	if (st != OK)
		return st;
	/* From now on viewers must not open the file that is replaced. */
	if (replaces && t->log != NULL)
		packet_log_drop_file(t->log, t->number, t->chunk->serial);
	st = tracefile_create(&t->tf, shard_of(t)->store, t->chunk, t->family,
	    t->number, replaces, index_format(t));
	if (st != OK)
		return st;
	st = stream_log_file(t);
	if (st == OK && !stream_window_opened(t))
		st = E_NOMEM;
	if (st != OK) {
		tracefile_discard(t->tf);
		t->tf = NULL;
	}
	return st;
}

enum status
stream_open_file(struct stream *t, bool replaces)
{
	enum status st = open_file(t, replaces);

	/* Somebody removed the chunk's directory: make it again for new
	 * files. */
	if (st == E_NOENT && chunk_is_gone(t->chunk)) {
		st = chunk_restore(t->chunk);
		if (st == OK)
			st = open_file(t, replaces);
	}
	return st;
}

static void
leave_chunk(struct stream *t)
{
	if (t->family != NULL)
		chunk_stream_left(t->chunk, t->family);
	t->family = NULL;
	chunk_put(t->chunk);
	t->chunk = NULL;
}

enum status
stream_enter_chunk(struct stream *t, struct chunk *c)
{
	enum status st;

	leave_chunk(t);
	t->chunk = c == NULL ? NULL : chunk_get(c);
	t->number = 0;
	t->has_wrapped = false;
	if (c == NULL)
		return OK;
	trace_enter(t->trace, c);
	/* Peers decide how many streams one request rotates: at the end files
	 * are made for bytes only. */
	if (shard_of(t)->takes_all)
		return OK;
	st = stream_open_file(t, false);
	/* Its next packet tries again. */
	return st == E_NOSPC && stream_loses_when_full(t) ? OK : st;
}

void
stream_free(struct stream *t)
{
	idmap_remove(&shard_of(t)->streams, t->handle);
	if (!list_empty(&t->session_node)) {
		t->session->n_streams--;
		shard_of(t)->n_streams--;
		t->session->n_checked -= t->question == t->session->question;
	}
	list_del(&t->session_node);
	list_del(&t->dirty_node);
	list_del(&t->locked_node);
	list_del(&t->gapped_node);
	stream_window_leave(t);
	stream_drop_debt(t);
	free(t->unnoted);
	t->transport->destroy(t);
	reorder_free(&t->reorder);
	stream_count_records(t);
	stream_end_logs(t);
	chunk_put(t->roll.to);
	leave_chunk(t);
	trace_leave(t->session, t->trace);
	relpath_free(t->channel);
	free(t);
}

void
stream_count_records(struct stream *t)
{
	const uint64_t now = t->reorder.n_records, before = t->counted_records;

	if (now == before)
		return;
	t->session->n_records += now - before;
	t->counted_records = (unsigned)now;
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

	if (t->tracefile_size == 0)
		return 0;
	return n >= t->tracefile_size ? FILE_WEIGHT
				      : FILE_WEIGHT * n / t->tracefile_size;
}

uint64_t
stream_hold(struct stream *t, const struct packet *p)
{
	const uint64_t file = file_weight(t, p), all = packet_memory(p) + file;

	t->held_bytes += all;
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

	t->held_bytes -= all;
	t->session->file_bytes -= file;
	shard_of(t)->file_bytes -= file;
	session_hold(t->session, -(int64_t)all);
	published_sub(shard_of(t)->config.memory, file);
	return all;
}

void
stream_lost(struct stream *t, enum loss cause, uint64_t n)
{
	t->lost += n;
	session_lost(t->session, cause, n);
}

struct packet *
stream_wrote(struct stream *t, struct packet *p, unsigned n)
{
	struct sums *sums = &t->session->sums;
	const unsigned all = n;
	uint64_t bytes = 0;

	t->written_packets += n;
	sums->written_packets += n;
	for (; n > 0; n--) {
		bytes += packet_length(p);
		p = p->next;
	}
	t->written_bytes += bytes;
	sums->written_bytes += bytes;
	stream_window_wrote(t, bytes + all * INDEX_RECORD_MAX);
	return p;
}

/* A whole packet of that many bytes came. */
static void
count_received(struct stream *t, uint64_t bytes)
{
	struct stats *stats = shard_of(t)->stats;
	const bool is_tcp = t->transport->is_connected;

	stats_add(stats,
	    is_tcp ? STAT_received_tcp_bytes : STAT_received_udp_bytes, bytes);
	stats_add(stats,
	    is_tcp ? STAT_received_tcp_packets : STAT_received_udp_packets, 1);
	t->session->sums.received_bytes += bytes;
	t->session->sums.received_packets++;
}

void
stream_mark_dirty(struct stream *t)
{
	if (list_empty(&t->dirty_node))
		list_append(&shard_of(t)->dirty, &t->dirty_node);
}

bool
stream_is_connected(const struct stream *t)
{
	return t->transport->is_connected;
}

enum status
stream_begin(struct stream *t, const struct data_header *h)
{
	if (t->is_metadata)
		return E_PROTOCOL;
	return reorder_begin(&t->reorder, h->net_seq);
}

enum status
stream_data(struct stream *t, struct packet *take_p)
{
	enum status st;

	assert(shard_is_mine(shard_of(t)));
	assert(t->batch.n == 0);
	t->reorder.now = clock_now_ns();
	st = reorder_data(&t->reorder, take_p);
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
	assert(t->batch.n == 0);
	while (given_up < bytes &&
	       (p = reorder_pop_unrecorded(&t->reorder, since_ns)) != NULL) {
		given_up += stream_release(t, p);
		packet_destroy(&shard_of(t)->store->packets, p);
		shard_of(t)->packets_dropped++;
		stream_lost(t, LOSS_memory, 1);
	}
	if (given_up == 0)
		return 0;
	t->has_write_error = true; /* the peer is told */
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
	unsigned halves = t->reorder.n_records;
	struct index_record rec;
	enum status st;

	assert(shard_is_mine(shard_of(t)));
	assert(t->batch.n == 0);
	if (t->is_metadata || !t->session->has_index)
		return E_PROTOCOL;
	session_note_time(t->session, i->timestamp_end);
	if (t->log != NULL)
		packet_log_no_beacon(t->log, i->ctf_stream);
	fill_record(&rec, i);
	st = t->transport->record(t, i->net_seq, &rec);
	/* The packet was given up, or was written without a record: ignore
	 * it. */
	if (st == E_NOENT)
		return OK;
	stream_count_records(t);
	t->session->sums.index_records += st == OK;
	if (st == OK && t->reorder.n_records > halves &&
	    !has_room_for_records(t->session))
		return E_LIMIT;
	if (st == OK && !session_may_receive(t->session) &&
	    t->reorder.n_records > halves) {
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
	if (t->has_write_error) {
		t->has_write_error = false;
		return E_IO;
	}
	return OK;
}

enum status
stream_beacon(struct stream *t, const struct relay_index *i)
{
	if (t->is_metadata || !t->session->has_index)
		return E_PROTOCOL;
	session_note_time(t->session, i->timestamp_end);
	stats_add(shard_of(t)->stats, STAT_beacons, 1);
	if (t->log == NULL)
		return OK;
	(void)stream_write_ready(t);
	/* Packets that wait for bytes or for a lock may have older events. */
	if (!reorder_is_empty(&t->reorder) || t->has_record != t->has_data ||
	    (t->has_data && t->record_seq != t->data_seq) ||
	    t->transport->has_pieces(t))
		return OK;
	packet_log_beacon(t->log, i->timestamp_end, i->ctf_stream);
	stream_wake(t);
	return OK;
}

enum status
stream_rotate(struct stream *t, struct chunk *to, uint64_t at)
{
	/* Whole packets were sent before this command: they may end the
	 * previous rotation, or be the last ones before AT. */
	if (!stream_write_ready(t))
		return E_LATER;
	if (t->is_rolling)
		return E_EXISTS;
	t->is_rolling = true;
	t->roll.to = to == NULL ? NULL : chunk_get(to);
	t->roll.at = at;
	if (t->is_metadata || !t->session->has_index)
		t->roll.at = 0; /* packets have no numbers: roll at once */
	if (t->roll.at == 0 && !t->has_packet_seq)
		return stream_roll_if_due(t, true, 0);
	return t->has_packet_seq
		   ? stream_roll_if_due(t, true, t->packet_seq + 1)
		   : OK;
}

void
stream_is_asked(struct stream *t)
{
	struct session *s = t->session;

	s->n_checked += t->question != s->question;
	t->question = s->question;
}

uint32_t
stream_pending(struct stream *t, uint64_t last_seq)
{
	stream_is_asked(t);
	(void)stream_write_ready(t);
	if (t->has_write_error) {
		t->has_write_error = false;
		return RELAY_PENDING_UNKNOWN;
	}
	return t->transport->pending(t, last_seq);
}

/* No record can come any more: whole packets are written without one. */
static void
begin_closing(struct stream *t)
{
	t->is_closing = true;
	reorder_without_records(&t->reorder);
	stream_commit(t);
}

void
stream_close(struct stream *t, uint64_t last_seq)
{
	if (t->is_metadata && !t->is_closing)
		trace_close_metadata(t->trace);
	t->has_last = last_seq != NO_SEQ;
	t->last_seq = last_seq;
	t->transport->closing(t);
	begin_closing(t);
}

void
stream_end_of_control(struct stream *t)
{
	if (!t->is_closing) {
		(void)stream_write_ready(t);
		t->has_last = reorder_last_record(&t->reorder, &t->last_seq);
		t->transport->closing(t);
	}
	begin_closing(t);
}

void
stream_end_of_data(struct stream *t)
{
	/* If it goes on: no gap will be filled now. */
	if (!t->is_closing || shard_step_is_late(shard_of(t)))
		stream_mark_dirty(t);
	else
		(void)stream_finish(t);
}

/* All is written that will be. */
static void
close_stream(struct stream *t)
{
	if (t->reorder.n_records > 0)
		stream_lost(t, LOSS_unfinished, t->reorder.n_records);
	if (t->reorder.n_records > 0)
		log_peer(LOG_INFO,
		    STREAM_FMT " closed; the bytes of %u packets never "
			       "came",
		    STREAM_ARGS(t), t->reorder.n_records);
	stream_leave_files(t);
	stream_leave_sealed(t);
	stream_free(t);
}

bool
stream_finish(struct stream *t)
{
	reorder_without_records(&t->reorder);
	if (!t->transport->finish(t))
		return false;
	close_stream(t);
	return true;
}

void
stream_close_now(struct stream *t)
{
	while (!stream_finish(t))
		;
}
