/* SPDX-License-Identifier: MIT */
/*
 * Records on their way to index files. A reader's lock may keep a file's
 * records waiting, also when the file is of the past: then those of later files
 * wait behind them.
 */
#include <assert.h>

#include "common/log.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream_internal.h"
#include "relayd/stats/stats.h"
#include "store/packet_log.h"
#include "store/store.h"
#include "store/tracefile.h"

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
	return list_empty(&t->sealed) &&
	       (t->tf == NULL || tracefile_n_waiting(t->tf) == 0);
}

void
stream_note_sync_errors(struct stream *t, uint64_t n_before)
{
	if (shard_of(t)->store->sync_errors != n_before)
		t->has_write_error = true;
}

/* These packets of T do not count as written. */
static void
uncount(struct stream *t, const struct tracefile_lost *lost)
{
	struct sums *sums = &t->session->sums;

	t->written_packets -= lost->loss.n;
	sums->written_packets -= lost->loss.n;
	t->written_bytes -= lost->bytes;
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
	write_sealed(shard_of(t), t, &t->sealed, true);
	if (t->tf != NULL)
		(void)write_file(shard_of(t), t, t->tf, true);
}

void
stream_write_records(struct stream *t)
{
	assert(t->batch.n == 0);
	/* Records of the previous file must be written first, for viewers
	 * too. */
	if (list_empty(&t->sealed) && t->tf != NULL)
		(void)write_file(shard_of(t), t, t->tf, false);
	else if (t->tf != NULL && tracefile_n_waiting(t->tf) >= WAITING_MAX)
		stream_force_records(t);
	if (stream_records_are_written(t)) {
		list_del(&t->locked_node);
		t->has_record = t->has_data;
		t->record_seq = t->data_seq;
	} else if (list_empty(&t->locked_node)) {
		list_append(&shard_of(t)->locked, &t->locked_node);
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

	write_sealed(shard_of(t), t, &t->sealed, false);
	stream_write_records(t);
	stream_note_sync_errors(t, n_before);
	stream_pass_lost(t);
}

void
stream_leave_sealed(struct stream *t)
{
	struct list *n, *tmp;

	if (t->log != NULL && !list_empty(&t->sealed))
		tracefile_end_log(tracefile_of(t->sealed.prev));
	else if (t->log != NULL)
		packet_log_end(t->log);
	list_for_each (n, tmp, &t->sealed) {
		list_del(n);
		list_append(&shard_of(t)->sealed, n);
	}
}

void
stream_limit_sealed(struct stream *t, uint64_t most)
{
	struct list *n, *tmp;
	uint64_t waiting = 0;

	list_for_each (n, tmp, &t->sealed)
		waiting++;
	for (; waiting > most; waiting--)
		(void)finish_file(
		    shard_of(t), t, tracefile_of(t->sealed.next), true);
}

void
stream_seal_file(struct stream *t)
{
	const uint64_t n_before = shard_of(t)->store->sync_errors;
	struct tracefile *tf = t->tf;

	if (tf == NULL)
		return;
	stream_window_sealed(t);
	t->tf = NULL;
	if (tracefile_n_waiting(tf) == 0) {
		tracefile_close(tf);
		stream_note_sync_errors(t, n_before);
		return;
	}
	tracefile_begin_wait(tf);
	list_append(&t->sealed, tracefile_node(tf));
	if (list_empty(&t->locked_node))
		list_append(&shard_of(t)->locked, &t->locked_node);
	stream_limit_sealed(t, SEALED_MAX);
	stream_note_sync_errors(t, n_before);
}
