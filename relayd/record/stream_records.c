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
stream_log_removed(struct stream *t)
{
	if (!t->has_logged_drop)
		log_peer(LOG_WARN,
		    STREAM_FMT " packets are dropped: their file or its "
			       "folder was removed",
		    STREAM_ARGS(t));
	t->has_logged_drop = true;
}

/* Writing records had this result: what was lost is told, unless somebody
 * removed the file. */
static void
note_result(struct stream *t, enum status st)
{
	if (st == E_IO || (st == E_NOSPC && !stream_loses_when_full(t)))
		t->has_write_error = true;
	if (st == E_NOENT)
		stream_log_removed(t);
}

void
stream_note_sync_errors(struct stream *t, uint64_t n_before)
{
	if (shard_of(t)->store->sync_errors != n_before)
		t->has_write_error = true;
}

/* Write the records of one file. A packet whose record is lost is lost. */
static enum status
write_file(struct shard *sh, struct tracefile *tf, bool force)
{
	const unsigned n = tracefile_n_waiting(tf);
	enum status st = tracefile_write_records(tf, force);

	if (st != OK && st != E_BUSY) {
		sh->packets_dropped += n;
		stats_lost(sh->stats,
		    st == E_NOENT   ? LOSS_removed
		    : st == E_NOSPC ? LOSS_disk_full
				    : LOSS_write,
		    n);
	}
	return st;
}

/* A past file; if no record of it waits afterwards, it is closed. */
static enum status
finish_file(struct shard *sh, struct tracefile *tf, bool force)
{
	struct packet_log *log = tracefile_log(tf);
	enum status st = write_file(sh, tf, force);

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
 * written when all before it in its stream are. OK, E_BUSY, or an error when
 * records were lost. */
static enum status
write_sealed(struct shard *sh, struct list *sealed, bool force)
{
	enum status st, result = OK;
	const struct packet_log *log, *busy = NULL;
	struct list *n, *tmp;

	list_for_each (n, tmp, sealed) {
		log = tracefile_log(tracefile_of(n));
		if (log != NULL && log == busy)
			continue;
		st = finish_file(sh, tracefile_of(n), force);
		if (st == E_BUSY)
			busy = log;
		/* That there was no room is told like other errors, by those
		 * who tell it. */
		if (st == E_IO ||
		    (st != OK && result != E_IO && result != E_NOSPC))
			result = st;
	}
	return result;
}

void
stream_force_records(struct stream *t)
{
	note_result(t, write_sealed(shard_of(t), &t->sealed, true));
	if (t->tf != NULL)
		note_result(t, write_file(shard_of(t), t->tf, true));
}

void
stream_write_records(struct stream *t)
{
	assert(t->batch.n == 0);
	/* Records of the previous file must be written first, for viewers
	 * too. */
	if (list_empty(&t->sealed) && t->tf != NULL)
		note_result(t, write_file(shard_of(t), t->tf, false));
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
	(void)write_sealed(sh, &sh->sealed, force);
}

void
stream_retry_records(struct stream *t)
{
	const uint64_t n_before = shard_of(t)->store->sync_errors;

	note_result(t, write_sealed(shard_of(t), &t->sealed, false));
	stream_write_records(t);
	stream_note_sync_errors(t, n_before);
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
		note_result(t, finish_file(shard_of(t),
				   tracefile_of(t->sealed.next), true));
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
