/* SPDX-License-Identifier: MIT */
/*
 * The path of a packet from the reorder heap to its files. Read it from the end
 * of this file backwards: writer_write_ready() takes packets whose turn has
 * come, write_packet() decides which file they belong to,
 * writer_write_batch() writes them, and publish_records() writes their records.
 *
 * Between calls all of this is true, and is asserted where that is cheap (not
 * 3, which depends on the peer's numbers):
 *  1. the batch is empty: packets that left the heap are in the file, or are
 *     counted as lost;
 *  2. a packet is in the data file before its record is in the index file;
 *  3. data_seq and record_seq never decrease;
 *  4. a packet at or after a pending roll point is in the new chunk.
 */
#include "relayd/record/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/log.h"
#include "common/state.h"
#include "ctf/index.h"
#include "proto/relay.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/stream_window.h"
#include "relayd/stats/stats.h"
#include "store/chunk.h"
#include "store/output.h"
#include "store/packet.h"
#include "store/packet_log.h"
#include "store/store.h"
#include "store/tracefile.h"

/* A batch is written when it has this many bytes or packets, or before. */
#define BATCH_BYTES (4 * 1024 * 1024)
#define BATCH_PACKETS 512

/* How often a stream notes its losses while the disk is full now and then. */
#define NOTE_NS (1 * NS_PER_S)

void
writer_init(struct writer *w)
{
	list_init(&w->locked_node);
	list_init(&w->pending_node);
	w->batch.end = &w->batch.first;
}

void
writer_free(struct stream *t)
{
	struct writer *w = &t->writer;

	assert(writer_is_idle(w) && w->tf == NULL);
	list_del(&w->locked_node);
	writer_drop_pending(t);
	free(w->unnoted);
}

void
writer_lost(struct stream *t, enum loss cause, uint64_t n)
{
	t->writer.lost += n;
	session_lost(t->session, cause, n);
}

void
writer_describe(const struct writer *w, struct stream_info *to)
{
	to->written_bytes = w->written_bytes;
	to->written_packets = w->written_packets;
	to->lost_packets = w->lost;
}

/* Escape the two characters that JSON does not allow. No name has other special
 * characters. */
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
writer_note_loss(
    struct stream *t, const struct reorder_loss *loss, const char *why)
{
	char line[1024], name[2 * RELAY_CHANNEL_MAX], when[32];
	const time_t now = (time_t)clock_wall_s();
	enum status st;
	struct tm tm;
	int n;

	put_name(name, sizeof(name), t->channel->s);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	n = snprintf(line, sizeof(line),
	    "{\"time\":\"%s\",\"stream\":\"%s\",\"first\":%" PRIu64
	    ",\"lost\":%" PRIu64 ",\"announced\":%u,\"why\":\"%s\"}\n",
	    when, name, loss->first, loss->n, loss->records, why);
	st = place_note_loss(t, line, (size_t)n);
	if (st != OK && log_ratelimit(&shard_of(t)->logs.last_loss, NS_PER_S))
		log_errno(
		    LOG_ERROR, STREAM_FMT " " CHUNK_LOSSES, STREAM_ARGS(t));
	return st;
}

/* Remember the loss until there is space for its line. Without memory it is
 * only counted. */
static void
remember(struct writer *w, const struct reorder_loss *more)
{
	struct reorder_loss *loss;

	if (w->unnoted == NULL)
		w->unnoted = calloc(1, sizeof(*w->unnoted));
	if (w->unnoted == NULL)
		return;
	loss = &w->unnoted->loss;
	if (loss->n == 0 || more->first < loss->first)
		loss->first = more->first;
	loss->n += more->n;
	loss->records += more->records;
	if (more->records > 0)
		loss->last = more->last;
}

/*
 * These packets are lost: they cannot be written (LOSS_write), there is no
 * space (LOSS_disk_full), or their file was removed (LOSS_removed). The peer
 * learns of it unless the session continues. A removed file is not the peer's
 * fault, and LTTng's consumer daemon would end its connection for good.
 */
static void
lose(struct stream *t, enum loss cause, const struct reorder_loss *loss)
{
	struct shard *sh = shard_of(t);
	struct writer *w = &t->writer;

	sh->figures.packets_dropped += loss->n;
	writer_lost(t, cause, loss->n);
	if (cause == LOSS_removed) {
		if (!w->has_logged_drop)
			log_peer(LOG_WARN,
			    STREAM_FMT " packets are dropped: their file or "
				       "its folder was removed",
			    STREAM_ARGS(t));
		w->has_logged_drop = true;
	} else if (cause == LOSS_disk_full && sh->config.loses_when_full) {
		sh->figures.packets_without_space += loss->n;
		remember(w, loss);
		if (log_ratelimit(&sh->logs.last_full, LOG_AGAIN_NS))
			log_error(STREAM_FMT " packets are lost: there is no "
					     "space on the disk (%" PRIu64
					     " since the start)",
			    STREAM_ARGS(t), sh->figures.packets_without_space);
	} else {
		writer_set_error(w);
		if (log_ratelimit(&sh->logs.last_loss, NS_PER_S))
			log_error(STREAM_FMT
			    " packets are lost: they cannot be "
			    "written (%" PRIu64 " since the start)",
			    STREAM_ARGS(t), sh->figures.packets_dropped);
	}
}

/* There is space again: note what was lost, at most once a second, or NOW. */
static void
note_losses(struct stream *t, bool now)
{
	struct unnoted_loss *u = t->writer.unnoted;

	if (u == NULL || u->loss.n == 0 ||
	    (!log_ratelimit(&u->noted_ns, NOTE_NS) && !now))
		return;
	/* There may be space for a packet, but not for the line. */
	if (writer_note_loss(t, &u->loss, "disk full") == E_NOSPC && !now)
		return;
	log_peer(LOG_WARN,
	    STREAM_FMT " %" PRIu64 " packets from number %" PRIu64
		       " on were lost: there was no space on the disk",
	    STREAM_ARGS(t), u->loss.n, u->loss.first);
	u->loss = (struct reorder_loss){ 0 };
}

/* Viewers wait for the next packet of each stream before they show others. If
 * the last packets of this one were lost, let viewers pass their time. */
static void
pass_lost(struct stream *t)
{
	const struct unnoted_loss *u = t->writer.unnoted;

	if (t->log == NULL || u->loss.records == 0 ||
	    !list_empty(&t->writer.locked_node))
		return;
	packet_log_beacon(
	    t->log, u->loss.last.timestamp_end, u->loss.last.ctf_stream);
	stream_wake(t);
}

/* Report an error to the peer if a sync has failed since the count of failures
 * was N_BEFORE. */
static void
check_syncs(struct stream *t, uint64_t n_before)
{
	if (shard_of(t)->store->sync_errors != n_before)
		writer_set_error(&t->writer);
}

static enum loss
cause_of(enum status st)
{
	return st == E_NOENT   ? LOSS_removed
	       : st == E_NOSPC ? LOSS_disk_full
			       : LOSS_write;
}

/* Count the packets in the file whose records cannot be written as lost. */
static void
lose_recorded(
    struct stream *t, enum status st, const struct tracefile_lost *lost)
{
	t->writer.written_packets -= lost->loss.n;
	t->writer.written_bytes -= lost->bytes;
	t->session->report.sums.written_packets -= lost->loss.n;
	t->session->report.sums.written_bytes -= lost->bytes;
	lose(t, cause_of(st), &lost->loss);
}

/* Write the records that wait. E_BUSY: a reader holds the lock of the index
 * file. FORCE: write them without it. */
static enum status
write_records(struct stream *t, bool force)
{
	struct tracefile_lost lost;
	enum status st = OK;

	if (t->writer.tf != NULL)
		st = tracefile_write_records(t->writer.tf, force, &lost);
	if (st != OK && st != E_BUSY)
		lose_recorded(t, st, &lost);
	return st;
}

/* Write the records, unless they must wait, and let viewers know. */
static void
publish_records(struct stream *t, bool force)
{
	struct writer *w = &t->writer;

	assert(writer_is_idle(w));
	if (write_records(t, force) != E_BUSY) {
		list_del(&w->locked_node);
		w->has_record = w->has_data;
		w->record_seq = w->data_seq;
	} else if (list_empty(&w->locked_node)) {
		list_append(&shard_of(t)->work.locked, &w->locked_node);
	}
	stream_wake(t);
	if (w->unnoted != NULL)
		pass_lost(t);
}

void
writer_retry_records(struct stream *t)
{
	const uint64_t n_before = shard_of(t)->store->sync_errors;

	publish_records(t, false);
	check_syncs(t, n_before);
}

/* Leave the current file. Its records do not wait for a lock any longer. */
static void
close_file(struct stream *t)
{
	const uint64_t n_before = shard_of(t)->store->sync_errors;
	struct writer *w = &t->writer;

	if (w->tf == NULL)
		return;
	stream_window_file_ends(t);
	if (!list_empty(&w->locked_node))
		publish_records(t, true);
	tracefile_close(w->tf);
	w->tf = NULL;
	check_syncs(t, n_before);
}

void
writer_leave_files(struct stream *t)
{
	assert(t->writer.pending == NULL);
	note_losses(t, true);
	close_file(t);
}

/* The file has packets of an earlier session of its sender. */
static void
go_on(struct writer *w)
{
	struct index_record last;
	const uint64_t n = tracefile_records(w->tf, &last);

	if (n == 0)
		return;
	w->written_packets += n;
	w->written_bytes += w->tf->data.length;
	w->has_packet_seq = true;
	w->packet_seq = last.packet_seq_num;
}

enum status
writer_open_file(struct stream *t)
{
	const enum status st = place_make_file(t, &t->writer.tf);

	if (st == OK)
		go_on(&t->writer);
	return st;
}

enum status
writer_enter_chunk(struct stream *t, struct chunk *c)
{
	enum status st;

	assert(t->writer.tf == NULL);
	place_enter(t, c);
	/* Peers decide how many streams one request rotates. When the daemon
	 * stops, files are created only for packets that are present. */
	if (c == NULL || shard_of(t)->slice.takes_all)
		return OK;
	st = writer_open_file(t);
	/* On a full disk the next packet tries again. */
	return st == E_NOSPC && shard_of(t)->config.loses_when_full ? OK : st;
}

/* The N packets of the batch from P on cannot be written. */
static void
lose_packets(
    struct stream *t, const struct packet *p, unsigned n, enum loss cause)
{
	struct reorder_loss loss = { .first = p->net_seq, .n = n };

	for (; n > 0; n--, p = p->next) {
		loss.records += p->has_record;
		if (p->has_record)
			loss.last = p->rec;
	}
	lose(t, cause, &loss);
}

/* Count N packets, from P on, that are in the file. Returns the one after
 * them. */
static struct packet *
count_written(struct stream *t, struct packet *p, unsigned n)
{
	struct sums *sums = &t->session->report.sums;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++, p = p->next)
		bytes += packet_length(p);
	t->writer.written_packets += n;
	t->writer.written_bytes += bytes;
	sums->written_packets += n;
	sums->written_bytes += bytes;
	if (place_has_window(&t->place))
		stream_window_wrote(t, bytes + n * INDEX_RECORD_MAX);
	return p;
}

/* May P be tried now? An earlier attempt to create the file may have failed. */
static enum status
get_ready(struct stream *t, const struct packet *p)
{
	if (!reserve_may_write(
		&shard_of(t)->store->output->reserve, packet_length(p)))
		return E_NOSPC;
	return t->writer.tf == NULL ? writer_open_file(t) : OK;
}

/* Append the batch. A packet that cannot be written is lost, and the ones after
 * it are tried. */
static void
append_batch(struct stream *t)
{
	struct writer *w = &t->writer;
	struct packet *p = w->batch.first;
	unsigned done, left = w->batch.n;
	enum status st = get_ready(t, p);

	if (w->tf == NULL) {
		lose_packets(t, p, left, cause_of(st));
		return;
	}
	if (place_has_window(&t->place))
		stream_window_make_space(
		    t, w->batch.bytes + w->batch.n * INDEX_RECORD_MAX);
	for (;;) {
		done = 0;
		if (st == OK)
			st = tracefile_append(w->tf, p, &done);
		left -= done;
		p = count_written(t, p, done);
		if (done > 0 && w->unnoted != NULL)
			note_losses(t, false);
		if (st == OK || left == 0)
			break;
		if (st == E_NOMEM && tracefile_n_waiting(w->tf) > 0) {
			/* They use memory. */
			(void)write_records(t, true);
			st = OK;
			continue;
		}
		if (st == E_NOENT) {
			lose_packets(t, p, left, cause_of(st));
			return;
		}
		lose_packets(t, p, 1, cause_of(st));
		p = p->next;
		if (--left == 0)
			break;
		st = get_ready(t, p);
	}
	assert((left == 0) == (p == NULL));
}

static void
drop_without_chunk(struct stream *t)
{
	struct writer *w = &t->writer;

	shard_of(t)->figures.packets_dropped += w->batch.n;
	writer_lost(t, LOSS_no_chunk, w->batch.n);
	if (!w->has_logged_drop)
		log_peer(LOG_WARN,
		    STREAM_FMT
		    " %u packets dropped: they came after a rotation that left "
		    "the stream without a trace chunk",
		    STREAM_ARGS(t), w->batch.n);
	w->has_logged_drop = true;
}

/* An index file must not say that the data file has more than it has. */
static void
correct_record(struct stream *t, struct packet *p)
{
	const uint64_t bits = packet_length(p) * 8;
	struct index_record *rec = &p->rec;

	if (rec->packet_size == bits && rec->content_size <= bits)
		return;
	shard_of(t)->figures.records_corrected++;
	if (!t->writer.has_logged_size)
		log_peer(LOG_WARN,
		    STREAM_FMT " the index of packet %" PRIu64 " says %" PRIu64
			       " bits, %" PRIu64
			       " of them used, but the packet has %" PRIu64
			       " bits: corrected, like later ones",
		    STREAM_ARGS(t), p->net_seq, rec->packet_size,
		    rec->content_size, bits);
	t->writer.has_logged_size = true;
	rec->packet_size = bits;
	if (rec->content_size > bits)
		rec->content_size = bits;
	p->has_record = bits > 0;
}

static void
free_batch(struct stream *t)
{
	struct writer *w = &t->writer;
	struct packet *next, *p;

	for (p = w->batch.first; p != NULL; p = next) {
		next = p->next;
		(void)intake_release(t, p);
	}
	w->batch.first = NULL;
	w->batch.end = &w->batch.first;
	w->batch.n = 0;
	w->batch.bytes = 0;
}

void
writer_write_batch(struct stream *t)
{
	const uint64_t n_before = shard_of(t)->store->sync_errors;
	struct writer *w = &t->writer;
	struct packet *p;

	if (w->batch.n > 0) {
		for (p = w->batch.first; p != NULL; p = p->next) {
			w->data_seq = p->net_seq;
			if (!p->has_record)
				continue;
			w->has_packet_seq = true;
			w->packet_seq = p->rec.packet_seq_num;
			correct_record(t, p);
		}
		w->has_data = true;
		if (place_has_chunk(&t->place))
			append_batch(t);
		else
			drop_without_chunk(t);
		free_batch(t);
	}
	publish_records(t, false);
	check_syncs(t, n_before);
}

static void
log_no_file(struct stream *t, enum status st)
{
	if (st != OK)
		log_peer(LOG_ERROR,
		    STREAM_FMT
		    " cannot be recorded: it has no file to continue in",
		    STREAM_ARGS(t));
}

/* Leave this chunk for the next one, or for none. */
static enum status
roll(struct stream *t)
{
	struct chunk *to;
	enum status st;

	writer_write_batch(t);
	writer_leave_files(t);
	to = place_end_roll(&t->place);
	st = writer_enter_chunk(t, to);
	chunk_put(to);
	log_debug(STREAM_FMT " rotated to %s", STREAM_ARGS(t),
	    to == NULL ? "no chunk" : "the next chunk");
	return st;
}

enum status
writer_roll_if_due(struct stream *t)
{
	const struct writer *w = &t->writer;
	const bool is_due = w->has_packet_seq ? place_rolls_before(&t->place,
						    w->packet_seq + 1)
					      : place_rolls_at_once(&t->place);

	return is_due ? roll(t) : OK;
}

void
writer_pass_packet(struct stream *t, uint64_t packet_seq)
{
	struct writer *w = &t->writer;

	if (w->has_packet_seq && (int64_t)(packet_seq - w->packet_seq) <= 0)
		return;
	w->has_packet_seq = true;
	w->packet_seq = packet_seq;
	log_no_file(t, writer_roll_if_due(t));
}

void
writer_next_file(struct stream *t)
{
	writer_write_batch(t);
	close_file(t);
	place_next_file(&t->place);
	shard_step_is_long(shard_of(t));
	log_no_file(t, writer_open_file(t));
}

/* P's turn has come: it goes to the batch, after what must be written before
 * it. */
static void
write_packet(struct stream *t, struct packet *p)
{
	const uint64_t seq = p->rec.packet_seq_num;
	const bool may_roll = p->has_record && place_is_rolling(&t->place);
	struct writer *w = &t->writer;

	/* In overwrite mode numbers may jump over the roll point. */
	if (may_roll && place_rolls_before(&t->place, seq))
		log_no_file(t, roll(t));
	if (place_is_numbered(&t->place) && w->tf != NULL &&
	    place_is_full(t, w->tf->data.length + w->batch.bytes, p->size))
		writer_next_file(t);

	assert(!p->has_record || !place_rolls_before(&t->place, seq));
	p->next = NULL;
	*w->batch.end = p;
	w->batch.end = &p->next;
	w->batch.n++;
	w->batch.bytes += packet_length(p);
	if (w->batch.n == BATCH_PACKETS || w->batch.bytes >= BATCH_BYTES)
		writer_write_batch(t);
	/* Roll now: if no more packets come, the stream must not keep the old
	 * chunk. */
	if (may_roll && place_rolls_before(&t->place, seq + 1))
		log_no_file(t, roll(t));
}

/* Empty the heap as far as possible. False: the time slice has expired. */
static bool
drain(struct stream *t)
{
	struct packet *p;

	for (;;) {
		while ((p = intake_pop(&t->intake)) != NULL) {
			write_packet(t, p);
			if (shard_step_is_late(shard_of(t)))
				return false;
		}
		if (!intake_pass_gap(t, &t->intake))
			return true;
		if (shard_step_is_late(shard_of(t)))
			return false;
	}
}

bool
writer_write_ready(struct stream *t)
{
	const bool is_done = drain(t);

	writer_write_batch(t);
	if (!is_done)
		stream_mark_dirty(t);
	return is_done;
}

void
writer_written(const struct stream *t, struct relay_written *out)
{
	const struct writer *w = &t->writer;

	*out = (struct relay_written){
		.bytes = !t->is_metadata ? w->written_bytes
			 : w->tf != NULL ? w->tf->data.length
					 : 0,
		.packets = w->has_packet_seq ? w->written_packets : 0,
		.packet_seq_num = w->packet_seq,
	};
}

void
writer_begin_again(struct stream *t)
{
	struct writer *w = &t->writer;

	assert(writer_is_idle(w));
	if (!list_empty(&w->locked_node))
		publish_records(t, true);
	if (w->tf != NULL)
		tracefile_drop_ahead(w->tf);
	writer_drop_pending(t);
	w->has_lost_metadata = w->has_write_error = false;
	w->has_data = w->has_record = false;
}

void
writer_settle(struct stream *t)
{
	struct writer *w = &t->writer;

	assert(writer_is_idle(w));
	if (!list_empty(&w->locked_node))
		publish_records(t, true);
	if (w->tf != NULL)
		tracefile_settle(w->tf, intake_chain(&t->intake));
}

static const struct state_member loss_members[] = {
	STATE_STRUCT(struct unnoted_loss, loss, reorder_loss_state),
	STATE_KEEP(struct unnoted_loss, noted_ns),
};
static STATE_TABLE(unnoted_loss_state, struct unnoted_loss, loss_members);

static const struct state_member writer_members[] = {
	STATE_DROP(struct writer, locked_node), /* settled */
	STATE_CODE(struct writer, tf),
	STATE_DROP(struct writer, batch), /* empty */
	STATE_KEEP(struct writer, has_write_error),
	STATE_KEEP(struct writer, has_logged_drop),
	STATE_KEEP(struct writer, has_logged_size),
	STATE_KEEP(struct writer, has_lost_metadata),
	STATE_KEEP(struct writer, has_data),
	STATE_KEEP(struct writer, has_record),
	STATE_KEEP(struct writer, has_packet_seq),
	STATE_KEEP(struct writer, data_seq),
	STATE_KEEP(struct writer, record_seq),
	STATE_KEEP(struct writer, packet_seq),
	STATE_KEEP(struct writer, written_bytes),
	STATE_KEEP(struct writer, written_packets),
	STATE_KEEP(struct writer, lost), STATE_CODE(struct writer, unnoted),
	STATE_CODE(struct writer, pending),
	STATE_DROP(struct writer, pending_node), /* by PENDING */
};
static STATE_TABLE(writer_state, struct writer, writer_members);

void
writer_put_state(struct state_out *o, const struct stream *t)
{
	const struct writer *w = &t->writer;

	state_put(o, &writer_state, w);
	state_put_bool(o, w->tf != NULL);
	if (w->tf != NULL)
		tracefile_put_state(o, w->tf);
	state_put_bool(o, w->unnoted != NULL);
	if (w->unnoted != NULL)
		state_put(o, &unnoted_loss_state, w->unnoted);
	state_put_bool(o, w->pending != NULL);
	if (w->pending != NULL)
		state_put_bytes(o, buf_data(w->pending), buf_len(w->pending));
}

static enum status
get_file(struct stream *t, struct state_in *in)
{
	const struct place *pl = &t->place;
	struct writer *w = &t->writer;
	enum status st;

	if (!state_get_bool(in))
		return state_in_status(in);
	if (pl->family == NULL)
		return E_MALFORMED;
	st = tracefile_get_state(
	    &w->tf, in, shard_of(t)->store, pl->chunk, pl->family);
	return st == OK && w->tf->log != t->log ? E_MALFORMED : st;
}

static enum status
get_unnoted(struct writer *w, struct state_in *in)
{
	if (!state_get_bool(in))
		return state_in_status(in);
	w->unnoted = calloc(1, sizeof(*w->unnoted));
	return w->unnoted == NULL
		   ? E_NOMEM
		   : state_get(in, &unnoted_loss_state, w->unnoted);
}

enum status
writer_get_state(struct stream *t, struct state_in *in)
{
	enum status st = state_get(in, &writer_state, &t->writer);

	if (st == OK)
		st = get_file(t, in);
	if (st == OK)
		st = get_unnoted(&t->writer, in);
	return st == OK ? writer_get_pending(t, in) : st;
}

void
writer_drop_file(struct stream *t)
{
	tracefile_leave(t->writer.tf);
	t->writer.tf = NULL;
}
