/* SPDX-License-Identifier: MIT */
/*
 * From the reorder heap to the file. Between calls all of this is true, and is
 * asserted where that is cheap (not 3, which depends on the peer's numbers):
 *  1. the batch is empty: packets that left the heap are in the file, or are
 *     counted as lost;
 *  2. a packet is in the data file before its record is in the index file;
 *  3. data_seq and record_seq never go back;
 *  4. a packet at or beyond a pending roll point is in the new chunk.
 */
#include <assert.h>
#include <inttypes.h>

#include "common/log.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream_internal.h"
#include "relayd/stats/stats.h"
#include "store/chunk.h"
#include "ctf/index.h"
#include "store/store.h"
#include "store/tracefile.h"

/* A batch is written when it has this many bytes or packets, or before. */
#define BATCH_BYTES (4 * 1024 * 1024)
#define BATCH_PACKETS 512

/* The N packets of the batch from P on cannot be written. */
static void
lose(struct stream *t, const struct packet *p, unsigned n, enum loss cause)
{
	struct reorder_loss loss = { .first = p->net_seq, .n = n };

	for (; n > 0; n--, p = p->next) {
		loss.records += p->has_record;
		if (p->has_record)
			loss.last = p->rec;
	}
	stream_lose(t, cause, &loss);
}

static enum loss
cause_of(enum status st)
{
	return st == E_NOSPC ? LOSS_disk_full : LOSS_write;
}

static void
drop_without_chunk(struct stream *t)
{
	shard_of(t)->packets_dropped += t->batch.n;
	stream_lost(t, LOSS_no_chunk, t->batch.n);
	if (!t->has_logged_drop)
		log_peer(LOG_WARN,
		    STREAM_FMT " %u packets dropped: they came after the "
			       "stream's last rotation, to no chunk",
		    STREAM_ARGS(t), t->batch.n);
	t->has_logged_drop = true;
}

static void
free_batch(struct stream *t)
{
	struct packet *next, *p;

	for (p = t->batch.first; p != NULL; p = next) {
		next = p->next;
		(void)stream_release(t, p);
		packet_destroy(&shard_of(t)->store->packets, p);
	}
	t->batch.first = NULL;
	t->batch.end = &t->batch.first;
	t->batch.n = 0;
	t->batch.bytes = 0;
}

/* May P be tried now? An earlier try to open the file may have failed with the
 * old one still there. */
static enum status
get_ready(struct stream *t, const struct packet *p)
{
	if (!store_may_try(shard_of(t)->store, packet_length(p)))
		return E_NOSPC;
	return t->tf == NULL ? stream_open_file(t, t->has_wrapped) : OK;
}

/* Append the batch. A packet that cannot be written is lost; those behind it
 * are tried. */
static void
append_batch(struct stream *t)
{
	struct packet *p = t->batch.first;
	unsigned done, left = t->batch.n;
	enum status st = get_ready(t, p);

	if (t->tf == NULL) {
		lose(t, p, left, cause_of(st));
		return;
	}
	stream_window_make_room(
	    t, t->batch.bytes + t->batch.n * INDEX_RECORD_MAX);
	while (p != NULL) {
		done = 0;
		if (st == OK)
			st = tracefile_append(t->tf, p, &done);
		left -= done;
		p = stream_wrote(t, p, done);
		if (done > 0)
			stream_note_losses(t, false);
		if (st == OK || p == NULL)
			break;
		if (st == E_NOMEM && !stream_records_are_written(t)) {
			stream_force_records(t); /* they use memory */
			st = OK;
			continue;
		}
		if (st == E_NOENT) {
			lose(t, p, left, LOSS_removed);
			return;
		}
		lose(t, p, 1, cause_of(st));
		left--;
		p = p->next;
		if (p != NULL)
			st = get_ready(t, p);
	}
	assert(left == 0 || p != NULL);
}

/* An index file must not say that the data file has what it has not. */
static void
correct_record(struct stream *t, struct packet *p)
{
	const uint64_t bits = packet_length(p) * 8;
	struct index_record *rec = &p->rec;

	if (rec->packet_size == bits && rec->content_size <= bits)
		return;
	shard_of(t)->records_corrected++;
	if (!t->has_logged_size)
		log_peer(LOG_WARN,
		    STREAM_FMT " the index of packet %" PRIu64 " says %" PRIu64
			       " bits, %" PRIu64 " of them used, "
			       "but the packet has %" PRIu64
			       ": corrected, as all that follow",
		    STREAM_ARGS(t), p->net_seq, rec->packet_size,
		    rec->content_size, bits);
	t->has_logged_size = true;
	rec->packet_size = bits;
	if (rec->content_size > bits)
		rec->content_size = bits;
	p->has_record = bits > 0;
}

void
stream_write_batch(struct stream *t)
{
	const uint64_t n_before = shard_of(t)->store->sync_errors;
	struct packet *p, *last = NULL;

	if (t->batch.n > 0) {
		for (p = t->batch.first; p != NULL; p = p->next) {
			last = p;
			if (!p->has_record)
				continue;
			t->has_packet_seq = true;
			t->packet_seq = p->rec.packet_seq_num;
			correct_record(t, p);
		}
		if (t->chunk == NULL)
			drop_without_chunk(t);
		else
			append_batch(t);
		t->has_data = true;
		t->data_seq = last->net_seq;
		free_batch(t);
	}
	stream_write_records(t);
	stream_note_sync_errors(t, n_before);
	stream_pass_lost(t);
}

/* Leave this chunk for the next one, or for none. */
static enum status
roll(struct stream *t)
{
	struct chunk *to = t->roll.to;
	enum status st;

	stream_write_batch(t);
	stream_leave_files(t);
	t->is_rolling = false;
	t->roll.to = NULL;
	st = stream_enter_chunk(t, to);
	chunk_put(to);
	log_debug(STREAM_FMT " rotated to %s", STREAM_ARGS(t),
	    to == NULL ? "no chunk" : "the next chunk");
	return st;
}

enum status
stream_roll_if_due(struct stream *t, bool has_seq, uint64_t next_packet_seq)
{
	if (!t->is_rolling || !has_seq ||
	    (int64_t)(next_packet_seq - t->roll.at) < 0)
		return OK;
	return roll(t);
}

/* Go to the next file, which is in a ring if their number is limited (streaming
 * 4.4). */
static enum status
next_file(struct stream *t)
{
	uint64_t next = t->number + 1;

	if (t->tracefile_count != 0)
		next %= t->tracefile_count;
	if (next <= t->number)
		t->has_wrapped = true;
	stream_seal_file(t);
	/* The file that is replaced is not one of them afterwards. */
	if (t->has_wrapped)
		stream_limit_sealed(t, t->tracefile_count - 1);
	t->number = next;
	shard_step_is_long(shard_of(t));
	return stream_open_file(t, t->has_wrapped);
}

void
stream_next_file(struct stream *t)
{
	stream_write_batch(t);
	if (next_file(t) != OK)
		log_peer(LOG_ERROR, STREAM_FMT " no file to go on in",
		    STREAM_ARGS(t));
}

static enum status
next_file_if_full(struct stream *t, const struct packet *p)
{
	uint64_t size;

	if (!stream_is_numbered(t) || t->tf == NULL)
		return OK;
	size = tracefile_size(t->tf) + t->batch.bytes;
	if ((t->tracefile_size == 0 || size + p->size <= t->tracefile_size) &&
	    !stream_window_is_file_full(t, size, p->size))
		return OK;
	stream_write_batch(t);
	return next_file(t);
}

static void
add_to_batch(struct stream *t, struct packet *p)
{
	/* The packet must be before the roll point of a pending rotation. */
	assert(!t->is_rolling || !p->has_record ||
	       (int64_t)(p->rec.packet_seq_num - t->roll.at) < 0);
	p->next = NULL;
	*t->batch.end = p;
	t->batch.end = &p->next;
	t->batch.n++;
	t->batch.bytes += packet_length(p);
	if (t->batch.n == BATCH_PACKETS || t->batch.bytes >= BATCH_BYTES)
		stream_write_batch(t);
}

/* P's turn has come: to the batch, which goes to the file, or first to the next
 * file. */
static void
write_packet(struct stream *t, struct packet *p)
{
	const bool has_seq = p->has_record;
	const uint64_t seq = p->rec.packet_seq_num;

	/* In overwrite mode numbers may jump over the roll point. */
	if (stream_roll_if_due(t, has_seq, seq) != OK ||
	    next_file_if_full(t, p) != OK)
		log_peer(LOG_ERROR, STREAM_FMT " no file to go on in",
		    STREAM_ARGS(t));
	add_to_batch(t, p);
	/* Roll now: if no more packets come, the stream must not keep the old
	 * chunk. */
	if (stream_roll_if_due(t, has_seq, seq + 1) != OK)
		log_peer(LOG_ERROR, STREAM_FMT " no file to go on in",
		    STREAM_ARGS(t));
}

/* Empty the heap as far as it goes now. False: the time is over. */
static bool
drain(struct stream *t)
{
	struct packet *p;

	for (;;) {
		while ((p = reorder_pop(&t->reorder)) != NULL) {
			write_packet(t, p);
			if (shard_step_is_late(shard_of(t)))
				return false;
		}
		if (!t->transport->pass_gap(t))
			return true;
		if (shard_step_is_late(shard_of(t)))
			return false;
	}
}

bool
stream_write_ready(struct stream *t)
{
	const bool is_done = drain(t);

	stream_write_batch(t);
	if (!is_done)
		stream_mark_dirty(t);
	return is_done;
}

bool
stream_write_rest(struct stream *t)
{
	unsigned dropped;

	do {
		if (!stream_write_ready(t))
			return false;
	} while (reorder_skip(&t->reorder, &dropped) > 0);
	return true;
}

uint64_t
stream_check_gap(struct stream *t, uint64_t now_ns)
{
	return t->transport->check_gap(t, now_ns);
}

void
stream_commit(struct stream *t)
{
	assert(shard_is_mine(shard_of(t)));
	list_del(&t->dirty_node);
	if (t->session->is_ended && !t->is_closing) {
		stream_end_of_control(t);
		return;
	}
	if (stream_write_ready(t) && t->is_closing &&
	    !t->transport->may_go_on(t))
		(void)stream_finish(t);
}
