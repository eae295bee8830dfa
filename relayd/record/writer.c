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
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "ctf/index.h"
#include "proto/relay.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream_internal.h"
#include "relayd/record/stream_window.h"
#include "relayd/stats/stats.h"
#include "store/chunk.h"
#include "store/packet.h"
#include "store/packet_log.h"
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
	shard_of(t)->packets_dropped += t->writer.batch.n;
	stream_lost(t, LOSS_no_chunk, t->writer.batch.n);
	if (!t->writer.has_logged_drop)
		log_peer(LOG_WARN,
		    STREAM_FMT " %u packets dropped: they came after the "
			       "stream's last rotation, to no chunk",
		    STREAM_ARGS(t), t->writer.batch.n);
	t->writer.has_logged_drop = true;
}

static void
free_batch(struct stream *t)
{
	struct packet *next, *p;

	for (p = t->writer.batch.first; p != NULL; p = next) {
		next = p->next;
		(void)stream_release(t, p);
		packet_destroy(&shard_of(t)->store->packets, p);
	}
	t->writer.batch.first = NULL;
	t->writer.batch.end = &t->writer.batch.first;
	t->writer.batch.n = 0;
	t->writer.batch.bytes = 0;
}

/* May P be tried now? An earlier try to open the file may have failed with the
 * old one still there. */
static enum status
get_ready(struct stream *t, const struct packet *p)
{
	if (!store_may_try(shard_of(t)->store, packet_length(p)))
		return E_NOSPC;
	return t->writer.tf == NULL ? stream_open_file(t, t->place.has_wrapped)
				    : OK;
}

/* Append the batch. A packet that cannot be written is lost; those behind it
 * are tried. */
static void
append_batch(struct stream *t)
{
	struct packet *p = t->writer.batch.first;
	unsigned done, left = t->writer.batch.n;
	enum status st = get_ready(t, p);

	if (t->writer.tf == NULL) {
		lose(t, p, left, cause_of(st));
		return;
	}
	stream_window_make_room(
	    t, t->writer.batch.bytes + t->writer.batch.n * INDEX_RECORD_MAX);
	while (p != NULL) {
		done = 0;
		if (st == OK)
			st = tracefile_append(t->writer.tf, p, &done);
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
	if (!t->writer.has_logged_size)
		log_peer(LOG_WARN,
		    STREAM_FMT " the index of packet %" PRIu64 " says %" PRIu64
			       " bits, %" PRIu64 " of them used, "
			       "but the packet has %" PRIu64
			       ": corrected, as all that follow",
		    STREAM_ARGS(t), p->net_seq, rec->packet_size,
		    rec->content_size, bits);
	t->writer.has_logged_size = true;
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

	if (t->writer.batch.n > 0) {
		for (p = t->writer.batch.first; p != NULL; p = p->next) {
			last = p;
			if (!p->has_record)
				continue;
			t->writer.has_packet_seq = true;
			t->writer.packet_seq = p->rec.packet_seq_num;
			correct_record(t, p);
		}
		if (t->place.chunk == NULL)
			drop_without_chunk(t);
		else
			append_batch(t);
		t->writer.has_data = true;
		t->writer.data_seq = last->net_seq;
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
	struct chunk *to = t->place.roll_to;
	enum status st;

	stream_write_batch(t);
	stream_leave_files(t);
	t->place.is_rolling = false;
	t->place.roll_to = NULL;
	st = stream_enter_chunk(t, to);
	chunk_put(to);
	log_debug(STREAM_FMT " rotated to %s", STREAM_ARGS(t),
	    to == NULL ? "no chunk" : "the next chunk");
	return st;
}

enum status
stream_roll_if_due(struct stream *t, bool has_seq, uint64_t next_packet_seq)
{
	if (!t->place.is_rolling || !has_seq ||
	    (int64_t)(next_packet_seq - t->place.roll_at) < 0)
		return OK;
	return roll(t);
}

/* Go to the next file, which is in a ring if their number is limited (streaming
 * 4.4). */
static enum status
next_file(struct stream *t)
{
	uint64_t next = t->place.number + 1;

	if (t->place.tracefile_count != 0)
		next %= t->place.tracefile_count;
	if (next <= t->place.number)
		t->place.has_wrapped = true;
	stream_seal_file(t);
	/* The file that is replaced is not one of them afterwards. */
	if (t->place.has_wrapped)
		stream_limit_sealed(t, t->place.tracefile_count - 1);
	t->place.number = next;
	shard_step_is_long(shard_of(t));
	return stream_open_file(t, t->place.has_wrapped);
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

	if (!stream_is_numbered(t) || t->writer.tf == NULL)
		return OK;
	size = tracefile_size(t->writer.tf) + t->writer.batch.bytes;
	if ((t->place.tracefile_size == 0 ||
		size + p->size <= t->place.tracefile_size) &&
	    !stream_window_is_file_full(t, size, p->size))
		return OK;
	stream_write_batch(t);
	return next_file(t);
}

static void
add_to_batch(struct stream *t, struct packet *p)
{
	/* The packet must be before the roll point of a pending rotation. */
	assert(!t->place.is_rolling || !p->has_record ||
	       (int64_t)(p->rec.packet_seq_num - t->place.roll_at) < 0);
	p->next = NULL;
	*t->writer.batch.end = p;
	t->writer.batch.end = &p->next;
	t->writer.batch.n++;
	t->writer.batch.bytes += packet_length(p);
	if (t->writer.batch.n == BATCH_PACKETS ||
	    t->writer.batch.bytes >= BATCH_BYTES)
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
		while ((p = reorder_pop(&t->intake.reorder)) != NULL) {
			write_packet(t, p);
			if (shard_step_is_late(shard_of(t)))
				return false;
		}
		if (!t->intake.transport->pass_gap(t))
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
	} while (reorder_skip(&t->intake.reorder, &dropped) > 0);
	return true;
}

uint64_t
stream_check_gap(struct stream *t, uint64_t now_ns)
{
	return t->intake.transport->check_gap(t, now_ns);
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
	    !t->intake.transport->may_go_on(t))
		(void)stream_finish(t);
}

/*
 * Records on their way to index files. A reader's lock may keep a file's
 * records waiting, also when the file is of the past: then those of later files
 * wait behind them.
 */

/* Records of a file that may wait behind those of an earlier file: as many as
 * may wait for its own lock. */
#define WAITING_MAX (TRACEFILE_WAITING_MAX / INDEX_RECORD_MAX)

/* Past files whose records may wait for a lock, per stream: a reader that locks
 * one after another gets no more memory from the relay. Above it, the oldest
 * one's records are written without the lock. */
#define SEALED_MAX 64

bool
stream_records_are_written(const struct stream *t)
{
	return list_empty(&t->writer.sealed) &&
	       (t->writer.tf == NULL || tracefile_n_waiting(t->writer.tf) == 0);
}

void
stream_note_sync_errors(struct stream *t, uint64_t n_before)
{
	if (shard_of(t)->store->sync_errors != n_before)
		t->writer.has_write_error = true;
}

/* These packets of T do not count as written. */
static void
uncount(struct stream *t, const struct tracefile_lost *lost)
{
	struct sums *sums = &t->session->sums;

	t->writer.written_packets -= lost->loss.n;
	sums->written_packets -= lost->loss.n;
	t->writer.written_bytes -= lost->bytes;
	sums->written_bytes -= lost->bytes;
}

/* Packets that were in a file are lost, as their records are. T: NULL: their
 * stream has gone. */
static void
lose_recorded(struct shard *sh, struct stream *t, enum status st,
    const struct tracefile_lost *lost)
{
	const enum loss cause = st == E_NOENT	? LOSS_removed
				: st == E_NOSPC ? LOSS_disk_full
						: LOSS_write;

	if (t != NULL) {
		uncount(t, lost);
		stream_lose(t, cause, &lost->loss);
	} else {
		sh->packets_dropped += lost->loss.n;
		stats_lost(sh->stats, cause, lost->loss.n);
	}
}

/* Write the records of one file, of the stream T; NULL: that has gone. A packet
 * whose record is lost is lost. */
static enum status
write_file(struct shard *sh, struct stream *t, struct tracefile *tf, bool force)
{
	struct tracefile_lost lost;
	enum status st = tracefile_write_records(tf, force, &lost);

	if (st != OK && st != E_BUSY)
		lose_recorded(sh, t, st, &lost);
	return st;
}

/* A past file; if no record of it waits afterwards, it is closed. */
static enum status
finish_file(
    struct shard *sh, struct stream *t, struct tracefile *tf, bool force)
{
	struct packet_log *log = tracefile_log(tf);
	enum status st = write_file(sh, t, tf, force);

	if (st == E_BUSY)
		return st;
	if (log != NULL)
		packet_log_get(log);
	list_del(tracefile_node(tf));
	tracefile_close(tf);
	if (log != NULL)
		stream_wake_log(sh, log);
	packet_log_put(log);
	return st;
}

/* Past files of streams, those of one stream together and in order: a record is
 * written when all before it in its stream are. T as in write_file(). */
static void
write_sealed(
    struct shard *sh, struct stream *t, struct list *sealed, bool force)
{
	const struct packet_log *log, *busy = NULL;
	struct list *n, *tmp;

	list_for_each (n, tmp, sealed) {
		log = tracefile_log(tracefile_of(n));
		if (log != NULL && log == busy)
			continue;
		if (finish_file(sh, t, tracefile_of(n), force) == E_BUSY)
			busy = log;
	}
}

void
stream_force_records(struct stream *t)
{
	write_sealed(shard_of(t), t, &t->writer.sealed, true);
	if (t->writer.tf != NULL)
		(void)write_file(shard_of(t), t, t->writer.tf, true);
}

void
stream_write_records(struct stream *t)
{
	assert(t->writer.batch.n == 0);
	/* Records of the previous file must be written first, for viewers
	 * too. */
	if (list_empty(&t->writer.sealed) && t->writer.tf != NULL)
		(void)write_file(shard_of(t), t, t->writer.tf, false);
	else if (t->writer.tf != NULL &&
		 tracefile_n_waiting(t->writer.tf) >= WAITING_MAX)
		stream_force_records(t);
	if (stream_records_are_written(t)) {
		list_del(&t->writer.locked_node);
		t->writer.has_record = t->writer.has_data;
		t->writer.record_seq = t->writer.data_seq;
	} else if (list_empty(&t->writer.locked_node)) {
		list_append(&shard_of(t)->locked, &t->writer.locked_node);
	}
	stream_wake(t);
}

void
stream_retry_sealed(struct shard *sh, bool force)
{
	write_sealed(sh, NULL, &sh->sealed, force);
}

void
stream_retry_records(struct stream *t)
{
	const uint64_t n_before = shard_of(t)->store->sync_errors;

	write_sealed(shard_of(t), t, &t->writer.sealed, false);
	stream_write_records(t);
	stream_note_sync_errors(t, n_before);
	stream_pass_lost(t);
}

void
stream_leave_sealed(struct stream *t)
{
	struct list *n, *tmp;

	if (t->log != NULL && !list_empty(&t->writer.sealed))
		tracefile_end_log(tracefile_of(t->writer.sealed.prev));
	else if (t->log != NULL)
		packet_log_end(t->log);
	list_for_each (n, tmp, &t->writer.sealed) {
		list_del(n);
		list_append(&shard_of(t)->sealed, n);
	}
}

void
stream_limit_sealed(struct stream *t, uint64_t most)
{
	struct list *n, *tmp;
	uint64_t waiting = 0;

	list_for_each (n, tmp, &t->writer.sealed)
		waiting++;
	for (; waiting > most; waiting--)
		(void)finish_file(
		    shard_of(t), t, tracefile_of(t->writer.sealed.next), true);
}

void
stream_seal_file(struct stream *t)
{
	const uint64_t n_before = shard_of(t)->store->sync_errors;
	struct tracefile *tf = t->writer.tf;

	if (tf == NULL)
		return;
	stream_window_sealed(t);
	t->writer.tf = NULL;
	if (tracefile_n_waiting(tf) == 0) {
		tracefile_close(tf);
		stream_note_sync_errors(t, n_before);
		return;
	}
	tracefile_begin_wait(tf);
	list_append(&t->writer.sealed, tracefile_node(tf));
	if (list_empty(&t->writer.locked_node))
		list_append(&shard_of(t)->locked, &t->writer.locked_node);
	stream_limit_sealed(t, SEALED_MAX);
	stream_note_sync_errors(t, n_before);
}

/* Packets for which there is no room on the disk, and the log of what is lost:
 * .loss.jsonl in the stream's folder. */

/* How often the losses of one stream are noted, where room comes and goes. */
#define NOTE_NS (1 * NS_PER_S)

/* Escape the two characters that JSON does not allow; other special characters
 * are never in a name. */
static void
put_name(char *out, size_t size, const char *name)
{
	size_t at = 0;

	for (; *name != '\0' && at + 3 < size; name++) {
		if (*name == '"' || *name == '\\')
			out[at++] = '\\';
		out[at++] = *name;
	}
	out[at] = '\0';
}

enum status
stream_note_loss(
    struct stream *t, const struct reorder_loss *loss, const char *why)
{
	char line[1024], name[2 * RELAY_CHANNEL_MAX], when[32];
	const time_t now = (time_t)clock_wall_s();
	enum status st;
	struct tm tm;
	int n;

	if (t->place.chunk == NULL || t->place.family == NULL)
		return OK;
	put_name(name, sizeof(name), t->channel->s);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	n = snprintf(line, sizeof(line),
	    "{\"time\":\"%s\",\"stream\":\"%s\",\"first\":%" PRIu64
	    ",\"lost\":%" PRIu64 ",\"announced\":%u,\"why\":\"%s\"}\n",
	    when, name, loss->first, loss->n, loss->records, why);
	st = chunk_note_loss(t->place.chunk, t->place.family, line, (size_t)n);
	if (st != OK && log_ratelimit(&shard_of(t)->last_loss_log, NS_PER_S))
		log_errno(
		    LOG_ERROR, STREAM_FMT " " CHUNK_LOSSES, STREAM_ARGS(t));
	return st;
}

bool
stream_loses_when_full(const struct stream *t)
{
	return shard_of(t)->config.loses_when_full;
}

/* Remember the loss until there is room to note it. */
static void
remember(struct stream *t, const struct reorder_loss *more)
{
	struct reorder_loss *loss;

	if (t->writer.unnoted == NULL)
		t->writer.unnoted = calloc(1, sizeof(*t->writer.unnoted));
	if (t->writer.unnoted == NULL)
		return; /* it is counted all the same */
	loss = &t->writer.unnoted->loss;
	if (loss->n == 0 || more->first < loss->first)
		loss->first = more->first;
	loss->n += more->n;
	loss->records += more->records;
	if (more->records > 0)
		loss->last = more->last;
}

static void
lose_for_room(struct stream *t, const struct reorder_loss *loss)
{
	struct shard *sh = shard_of(t);

	sh->packets_without_room += loss->n;
	remember(t, loss);
	if (log_ratelimit(&sh->last_full_log, STREAM_FULL_LOG_NS))
		log_error(STREAM_FMT
		    " packets are lost: there is no room on the disk (%" PRIu64
		    " since the start)",
		    STREAM_ARGS(t), sh->packets_without_room);
}

/* The peer is not told: it did nothing wrong, and lttng's consumer daemon would
 * end its connection for ever. */
static void
lose_removed(struct stream *t)
{
	if (!t->writer.has_logged_drop)
		log_peer(LOG_WARN,
		    STREAM_FMT " packets are dropped: their file or its "
			       "folder was removed",
		    STREAM_ARGS(t));
	t->writer.has_logged_drop = true;
}

void
stream_lose(struct stream *t, enum loss cause, const struct reorder_loss *loss)
{
	struct shard *sh = shard_of(t);

	sh->packets_dropped += loss->n;
	stream_lost(t, cause, loss->n);
	if (cause == LOSS_removed) {
		lose_removed(t);
		return;
	}
	if (cause == LOSS_disk_full && stream_loses_when_full(t)) {
		lose_for_room(t, loss);
		return;
	}
	t->writer.has_write_error = true;
	if (log_ratelimit(&sh->last_loss_log, NS_PER_S))
		log_error(STREAM_FMT " packets are lost: they cannot be "
				     "written (%" PRIu64 " since the start)",
		    STREAM_ARGS(t), sh->packets_dropped);
}

void
stream_note_losses(struct stream *t, bool now)
{
	struct stream_unnoted *u = t->writer.unnoted;

	if (u == NULL || u->loss.n == 0 ||
	    (!log_ratelimit(&u->noted_ns, NOTE_NS) && !now))
		return;
	/* There was room for a packet, but is none for the line. */
	if (stream_note_loss(t, &u->loss, "disk full") == E_NOSPC && !now)
		return;
	log_peer(LOG_WARN,
	    STREAM_FMT " %" PRIu64 " packets from number %" PRIu64
		       " on were lost, there was no room on the disk",
	    STREAM_ARGS(t), u->loss.n, u->loss.first);
	u->loss = (struct reorder_loss){ 0 };
}

/* Viewers wait for the next packet of each stream before they show others':
 * what is lost must not stop them. */
void
stream_pass_lost(struct stream *t)
{
	const struct stream_unnoted *u = t->writer.unnoted;

	if (t->log == NULL || u == NULL || u->loss.records == 0 ||
	    !stream_records_are_written(t))
		return;
	packet_log_beacon(
	    t->log, u->loss.last.timestamp_end, u->loss.last.ctf_stream);
	stream_wake(t);
}

void
stream_leave_files(struct stream *t)
{
	stream_note_losses(t, true);
	if (stream_pay(t) == E_NOSPC)
		log_peer(LOG_ERROR,
		    STREAM_FMT " metadata is lost: there was no room for it "
			       "on the disk",
		    STREAM_ARGS(t));
	stream_drop_debt(t);
	t->writer.has_lost_metadata = false;
	stream_seal_file(t);
}
