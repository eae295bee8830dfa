/* SPDX-License-Identifier: MIT */
#include "relayd/record/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "proto/data.h"
#include "relayd/live/live_objects.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream_internal.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/trace.h"
#include "relayd/record/udp.h"
#include "relayd/stats/stats.h"
#include "store/chunk.h"
#include "store/folder.h"
#include "store/metadata_log.h"
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
	if (t->place.family == NULL)
		st = chunk_add_stream(t->place.chunk, t->path, t->channel,
		    stream_is_numbered(t), &t->place.family);
	if (st != OK)
		return st;
	/* From now on viewers must not open the file that is replaced. */
	if (replaces && t->log != NULL)
		packet_log_drop_file(
		    t->log, t->place.number, t->place.chunk->serial);
	st = tracefile_create(&t->writer.tf, shard_of(t)->store, t->place.chunk,
	    t->place.family, t->place.number, replaces, index_format(t));
	if (st != OK)
		return st;
	st = stream_log_file(t);
	if (st == OK && !stream_window_opened(t))
		st = E_NOMEM;
	if (st != OK) {
		tracefile_discard(t->writer.tf);
		t->writer.tf = NULL;
	}
	return st;
}

enum status
stream_open_file(struct stream *t, bool replaces)
{
	enum status st = open_file(t, replaces);

	/* Somebody removed the chunk's directory: make it again for new
	 * files. */
	if (st == E_NOENT && chunk_is_gone(t->place.chunk)) {
		st = chunk_restore(t->place.chunk);
		if (st == OK)
			st = open_file(t, replaces);
	}
	return st;
}

static void
leave_chunk(struct stream *t)
{
	if (t->place.family != NULL)
		chunk_stream_left(t->place.chunk, t->place.family);
	t->place.family = NULL;
	chunk_put(t->place.chunk);
	t->place.chunk = NULL;
}

enum status
stream_enter_chunk(struct stream *t, struct chunk *c)
{
	enum status st;

	leave_chunk(t);
	t->place.chunk = c == NULL ? NULL : chunk_get(c);
	t->place.number = 0;
	t->place.has_wrapped = false;
	if (c == NULL)
		return OK;
	trace_enter(t->place.trace, c);
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
	list_del(&t->writer.locked_node);
	list_del(&t->intake.gapped_node);
	stream_window_leave(t);
	stream_drop_debt(t);
	free(t->writer.unnoted);
	t->intake.transport->destroy(t);
	reorder_free(&t->intake.reorder);
	stream_count_records(t);
	stream_end_logs(t);
	chunk_put(t->place.roll_to);
	leave_chunk(t);
	trace_leave(t->session, t->place.trace);
	relpath_free(t->channel);
	free(t);
}

void
stream_lost(struct stream *t, enum loss cause, uint64_t n)
{
	t->writer.lost += n;
	session_lost(t->session, cause, n);
}

struct packet *
stream_wrote(struct stream *t, struct packet *p, unsigned n)
{
	struct sums *sums = &t->session->sums;
	const unsigned all = n;
	uint64_t bytes = 0;

	t->writer.written_packets += n;
	sums->written_packets += n;
	for (; n > 0; n--) {
		bytes += packet_length(p);
		p = p->next;
	}
	t->writer.written_bytes += bytes;
	sums->written_bytes += bytes;
	stream_window_wrote(t, bytes + all * INDEX_RECORD_MAX);
	return p;
}

void
stream_mark_dirty(struct stream *t)
{
	if (list_empty(&t->dirty_node))
		list_append(&shard_of(t)->dirty, &t->dirty_node);
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
	if (!reorder_is_empty(&t->intake.reorder) ||
	    t->writer.has_record != t->writer.has_data ||
	    (t->writer.has_data &&
		t->writer.record_seq != t->writer.data_seq) ||
	    t->intake.transport->has_pieces(t))
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
	if (t->place.is_rolling)
		return E_EXISTS;
	t->place.is_rolling = true;
	t->place.roll_to = to == NULL ? NULL : chunk_get(to);
	t->place.roll_at = at;
	if (t->is_metadata || !t->session->has_index)
		t->place.roll_at =
		    0; /* packets have no numbers: roll at once */
	if (t->place.roll_at == 0 && !t->writer.has_packet_seq)
		return stream_roll_if_due(t, true, 0);
	return t->writer.has_packet_seq
		   ? stream_roll_if_due(t, true, t->writer.packet_seq + 1)
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
	if (t->writer.has_write_error) {
		t->writer.has_write_error = false;
		return RELAY_PENDING_UNKNOWN;
	}
	return t->intake.transport->pending(t, last_seq);
}

/* No record can come any more: whole packets are written without one. */
static void
begin_closing(struct stream *t)
{
	t->is_closing = true;
	reorder_without_records(&t->intake.reorder);
	stream_commit(t);
}

void
stream_close(struct stream *t, uint64_t last_seq)
{
	if (t->is_metadata && !t->is_closing)
		trace_close_metadata(t->place.trace);
	t->intake.has_last = last_seq != NO_SEQ;
	t->intake.last_seq = last_seq;
	t->intake.transport->closing(t);
	begin_closing(t);
}

void
stream_end_of_control(struct stream *t)
{
	if (!t->is_closing) {
		(void)stream_write_ready(t);
		t->intake.has_last = reorder_last_record(
		    &t->intake.reorder, &t->intake.last_seq);
		t->intake.transport->closing(t);
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
	if (t->intake.reorder.n_records > 0)
		stream_lost(t, LOSS_unfinished, t->intake.reorder.n_records);
	if (t->intake.reorder.n_records > 0)
		log_peer(LOG_INFO,
		    STREAM_FMT " closed; the bytes of %u packets never "
			       "came",
		    STREAM_ARGS(t), t->intake.reorder.n_records);
	stream_leave_files(t);
	stream_leave_sealed(t);
	stream_free(t);
}

bool
stream_finish(struct stream *t)
{
	reorder_without_records(&t->intake.reorder);
	if (!t->intake.transport->finish(t))
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

/* ADD_STREAM: a stream, its trace and its first file. */

/* Peers before 2.11 send the whole path: group it by session (streaming
 * 5.3). */
static enum status
regroup(const struct session *s, struct relpath **path)
{
	struct relpath *grouped;
	enum status st;

	if (!s->shard->config.group_by_session || s->minor >= 11 ||
	    s->minor < 4)
		return OK;
	st = session_old_path(&grouped, &s->wish, *path, s->wish.creation_time);
	if (st != OK)
		return st;
	relpath_free(*path);
	*path = grouped;
	return OK;
}

/* TAKE_Q's channel is taken over. */
static struct stream *
stream_alloc(struct session *s, struct relay_add_stream *take_q)
{
	struct stream *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->session = s;
	t->intake.transport = &tcp_transport;
	t->path = take_q->path;
	t->channel = take_q->channel;
	take_q->channel = NULL;
	t->is_metadata = strcmp(t->channel->s, "metadata") == 0;
	if (!t->is_metadata) {
		t->place.tracefile_size = take_q->tracefile_size;
		t->place.tracefile_count = take_q->tracefile_count;
	}
	list_init(&t->session_node);
	list_init(&t->dirty_node);
	list_init(&t->writer.locked_node);
	list_init(&t->intake.gapped_node);
	list_init(&t->writer.owing_node);
	list_init(&t->writer.sealed);
	t->writer.batch.end = &t->writer.batch.first;
	reorder_init(&t->intake.reorder, &s->shard->store->packets,
	    s->has_index && !t->is_metadata);
	return t;
}

/* Find the stream's trace and make its file. */
static enum status
find_file(struct stream *t, const struct relpath *asked)
{
	struct session *s = t->session;
	enum status st;

	if (s->current == NULL)
		return E_REFUSED;
	st = trace_join(&t->place.trace, s, asked, t->channel);
	if (st != OK)
		return st;
	t->path = t->place.trace->path;
	st = stream_enter_chunk(t, s->current);
	if (st != OK)
		trace_not_added(t->place.trace, t->channel);
	return st;
}

/* A stream of S has files of this size (0: one file). One read of a data
 * connection brings what fills FILES_READ of them: work is bounded, not only
 * bytes. On the wire a packet has a header. */
static void
limit_reads(struct session *s, uint64_t tracefile_size)
{
	const uint64_t each = tracefile_size < s->read_max
				  ? tracefile_size + DATA_HEADER_LEN
				  : s->read_max;

	if (tracefile_size != 0 && each * FILES_READ < s->read_max)
		s->read_max = each * FILES_READ;
}

/* Memory of what is kept of S's closed streams. */
static uint64_t
names_bytes(const struct session *s)
{
	const bool is_base = s->current != NULL && s->current->is_base;

	return s->names_bytes + siblings_names_bytes(s->siblings) +
	       (is_base ? s->current->names_bytes : 0);
}

/* Why S may have no more streams; NULL: it may. */
static const char *
lack(const struct session *s)
{
	const struct shard *sh = s->shard;
	const unsigned workers = sh->config.n_workers > 0 ? sh->config.n_workers
							  : 1;
	const uint64_t most = sh->config.max_memory / 2 / workers;
	const uint64_t names = sh->names_bytes + sh->store->names_bytes;
	const uint64_t streams = sh->n_streams * STREAM_MEMORY;

	if (names + streams < most / 2 ||
	    (names + streams < most &&
		names_bytes(s) + s->n_streams * STREAM_MEMORY <
		    most / SESSION_LITTLE_PART))
		return NULL;
	return streams >= names
		   ? "too many streams (--max-memory)"
		   : "too many streams were closed in trace chunks "
		     "that go on (--max-memory): rotate them";
}

/* Make T, which has its handle, a stream of its session. */
static enum status
join_session(struct stream *t, struct relpath **asked)
{
	struct session *s = t->session;
	const char *why = lack(s);
	enum status st = regroup(s, asked);

	/* Perhaps a rotation has just made room. */
	if (why != NULL) {
		(void)trace_free_some(s->shard);
		why = lack(s);
	}
	t->path = *asked;
	if (st == OK && why != NULL)
		st = E_LIMIT;
	if (st == OK)
		st = idmap_insert(&s->shard->streams, t->handle, t);
	/* The log has to know whether files are numbered. */
	if (st == OK && !t->is_metadata && t->place.tracefile_count == 0)
		st = stream_window_add(t);
	if (st == OK)
		st = stream_make_logs(t);
	if (st == OK && s->udp != NULL)
		st = udp_stream_create(t);
	if (st == OK)
		st = find_file(t, *asked);
	if (st != OK) {
		if (st != E_LATER)
			log_peer(LOG_WARN, STREAM_FMT " not added: %s",
			    STREAM_ARGS(t),
			    why != NULL		 ? why
			    : s->current == NULL ? "there is no trace chunk"
						 : status_text(st));
		stream_free(t);
		return st;
	}
	list_append(&s->streams, &t->session_node);
	s->n_streams++;
	s->shard->n_streams++;
	stream_window_join(t);
	limit_reads(s, t->place.tracefile_size);
	trace_added(t->place.trace, t->is_metadata);
	session_found_place(s, t->path);
	log_debug(STREAM_FMT " added: handle=%016" PRIx64 " size=%" PRIu64
			     " count=%" PRIu64,
	    STREAM_ARGS(t), t->handle, t->place.tracefile_size,
	    t->place.tracefile_count);
	return OK;
}

enum status
stream_create(
    struct session *s, struct relay_add_stream *take_q, uint64_t *handle)
{
	struct stream *t = stream_alloc(s, take_q);
	struct shard *sh = s->shard;
	enum status st = E_NOMEM;

	assert(shard_is_mine(sh));
	*handle = ids_handle(&sh->ids, sh->config.worker);
	if (t != NULL) {
		t->handle = *handle;
		st = join_session(t, &take_q->path);
	}
	relay_add_stream_clear(take_q);
	return st;
}

/* What viewers see of a stream. */

static struct live_door *
door_of(const struct stream *t)
{
	return t->session->shard->config.door;
}

enum status
stream_make_logs(struct stream *t)
{
	const struct session *s = t->session;

	/* Only a live session can be attached to. */
	if (s->live == NULL || s->wish.live_timer_us == 0 || !s->has_index)
		return OK;
	if (t->is_metadata)
		return metadata_log_create(&t->metadata);
	return packet_log_create(&t->log, t->channel->s, stream_is_numbered(t),
	    s->minor >= 8 ? 1 : 0);
}

enum status
stream_log_file(struct stream *t)
{
	struct folder *folder;
	enum status st;

	if (t->log != NULL)
		return tracefile_set_log(t->writer.tf, t->log);
	if (t->metadata == NULL)
		return OK;
	st = chunk_folder(t->place.chunk, t->place.family, &folder);
	if (st == OK)
		st = metadata_log_begin(t->metadata, folder);
	folder_put(folder);
	return st;
}

/* Streams of one folder are one CTF trace (live 1.5.4). */
static uint64_t
trace_id(const struct stream *t)
{
	if (t->place.trace->live_id == 0)
		t->place.trace->live_id = published_add(
		    &door_of(t)->trace_ids, 1);
	return t->place.trace->live_id;
}

/* Viewers can see a stream only if it has logs, as those of live sessions do;
 * listings count all streams. */
static void
show(struct stream *t)
{
	struct live_door *door = door_of(t);
	enum status st;

	if (t->log == NULL && t->metadata == NULL)
		return;
	st = live_stream_create(&t->live, t->session->live,
	    published_add(&door->stream_ids, 1), trace_id(t), t->path->s,
	    t->channel->s, t->log, t->metadata);
	if (st != OK) {
		log_error(STREAM_FMT " out of memory: not shown to viewers",
		    STREAM_ARGS(t));
		return;
	}
	t->live->time_before = t->session->latest;
	door->tell(door, LIVE_NEWS_STREAM, t->live);
}

void
stream_publish(struct stream *t)
{
	if (t->is_published || t->session->live == NULL)
		return;
	t->is_published = true;
	show(t);
	/* Count it after the news: a viewer that sees it counted can be told of
	 * it. */
	published_add(&t->session->live->streams, 1);
}

void
stream_forget_chunk(struct stream *t, const struct chunk *c)
{
	if (t->log != NULL)
		packet_log_drop_chunk(t->log, c->serial);
}

static void
wake(struct shard *sh, uint64_t bits, const void *source)
{
	if (bits != 0)
		sh->config.door->wake(sh->config.door, bits, source);
}

void
stream_wake_log(struct shard *sh, struct packet_log *log)
{
	wake(sh, packet_log_take_waiters(log), log);
}

void
stream_wake(struct stream *t)
{
	if (t->log != NULL)
		stream_wake_log(shard_of(t), t->log);
	else if (t->metadata != NULL)
		wake(shard_of(t), metadata_log_take_waiters(t->metadata),
		    t->metadata);
}

void
stream_end_logs(struct stream *t)
{
	struct live_door *door = door_of(t);

	if (t->metadata != NULL)
		metadata_log_end(t->metadata);
	stream_wake(t);
	if (t->is_published)
		published_sub(&t->session->live->streams, 1);
	if (t->live != NULL) {
		door->tell(door, LIVE_NEWS_STREAM_CLOSED, t->live);
		live_stream_put(t->live);
	}
	packet_log_put(t->log);
	metadata_log_put(t->metadata);
}
