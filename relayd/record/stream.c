/* SPDX-License-Identifier: MIT */
#include "relayd/record/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/state.h"
#include "proto/data.h"
#include "relayd/live/live_objects.h"
#include "relayd/record/beacons.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
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

static struct live_notifier *
notifier_of(const struct stream *t)
{
	return shard_of(t)->config.notifier;
}

static enum status
make_logs(struct stream *t)
{
	const struct session *s = t->session;

	/* Only a live session can be attached to. */
	if (s->live == NULL || s->request.live_timer_us == 0 || !s->has_index)
		return OK;
	if (t->is_metadata)
		return metadata_log_create(&t->metadata);
	return packet_log_create(&t->log, t->channel->s,
	    place_is_numbered(&t->place), s->minor >= 8 ? 1 : 0);
}

enum status
stream_log_file(struct stream *t, struct tracefile *tf, struct chunk *c,
    struct chunk_family *f)
{
	struct folder *folder;
	enum status st;

	if (t->log != NULL)
		return tracefile_set_log(tf, t->log);
	if (t->metadata == NULL)
		return OK;
	st = chunk_folder(c, f, &folder);
	if (st == OK)
		st = metadata_log_begin(t->metadata, folder);
	if (st == OK && tf->data.length > 0)
		metadata_log_continue(t->metadata, tf->data.length);
	folder_put(folder);
	return st;
}

void
stream_wake(struct stream *t)
{
	struct live_notifier *notifier = notifier_of(t);
	const void *source = t->log != NULL ? (const void *)t->log
					    : t->metadata;
	uint64_t workers = 0;

	if (t->log != NULL)
		workers = waiters_take(&t->log->waiters);
	else if (t->metadata != NULL)
		workers = waiters_take(&t->metadata->waiters);
	if (workers != 0)
		notifier->wake(notifier, workers, source);
}

/* Viewers can see only streams with logs, which live sessions have. */
static void
show(struct stream *t)
{
	struct live_notifier *notifier = notifier_of(t);
	enum status st;

	if (t->log == NULL && t->metadata == NULL)
		return;
	/* Streams of one folder are one CTF trace (live 1.5.4). */
	if (t->trace->live_id == 0)
		t->trace->live_id = published_add(&notifier->trace_ids, 1);
	st = live_stream_create(&t->live, t->session->live,
	    published_add(&notifier->stream_ids, 1), t->trace->live_id,
	    t->path->s, t->channel->s, t->log, t->metadata);
	if (st != OK) {
		log_error(STREAM_FMT " out of memory: not shown to viewers",
		    STREAM_ARGS(t));
		return;
	}
	t->live->time_before = t->session->time.latest;
	notifier->notify(notifier, LIVE_EVENT_STREAM, t->live);
}

void
stream_publish(struct stream *t)
{
	if (t->is_published || t->session->live == NULL)
		return;
	t->is_published = true;
	show(t);
	/* Listings count all streams. Count it after the event, so that a
	 * viewer that sees it counted can be told of it. */
	published_add(&t->session->live->streams, 1);
}

void
stream_forget_chunk(struct stream *t, const struct chunk *c)
{
	if (t->log != NULL)
		packet_log_drop_chunk(t->log, c->serial);
}

static void
end_logs(struct stream *t)
{
	struct live_notifier *notifier = notifier_of(t);

	if (t->log != NULL)
		packet_log_end(t->log);
	if (t->metadata != NULL)
		metadata_log_end(t->metadata);
	stream_wake(t);
	if (t->is_published)
		published_sub(&t->session->live->streams, 1);
	if (t->live != NULL) {
		notifier->notify(notifier, LIVE_EVENT_STREAM_CLOSED, t->live);
		live_put(t->live);
	}
	packet_log_put(t->log);
	metadata_log_put(t->metadata);
}

/* TAKE_Q's channel is taken over. */
static struct stream *
stream_alloc(struct session *s, struct relay_add_stream *take_q)
{
	struct stream *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->session = s;
	t->path = take_q->path;
	t->channel = take_q->channel;
	take_q->channel = NULL;
	t->is_metadata = strcmp(t->channel->s, "metadata") == 0;
	list_init(&t->session_node);
	list_init(&t->dirty_node);
	intake_init(t);
	if (!t->is_metadata)
		place_init(
		    &t->place, take_q->tracefile_size, take_q->tracefile_count);
	writer_init(&t->writer);
	return t;
}

static void
stream_free(struct stream *t)
{
	struct session *s = t->session;

	assert(shard_is_mine(s->shard));
	idmap_remove(&s->shard->streams, t->handle);
	if (!list_empty(&t->session_node)) {
		if (t->log != NULL && t->log->has_instance)
			beacons_changed(s);
		s->n_streams--;
		s->shard->n_streams--;
		s->round.n_checked -= t->round == s->round.number;
	}
	list_del(&t->session_node);
	list_del(&t->dirty_node);
	writer_free(t);
	intake_free(t);
	end_logs(t);
	place_free(t);
	trace_leave(s, t->trace);
	relpath_free(t->channel);
	free(t);
}

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
	st = session_old_path(
	    &grouped, &s->request, *path, s->request.creation_time);
	if (st != OK)
		return st;
	relpath_free(*path);
	*path = grouped;
	return OK;
}

/* Enter the stream's trace and create its file. */
static enum status
find_place(struct stream *t, const struct relpath *asked)
{
	struct session *s = t->session;
	enum status st;

	if (s->chunks.current == NULL)
		return E_REFUSED;
	st = trace_join(&t->trace, s, asked, t->channel);
	if (st != OK)
		return st;
	t->path = t->trace->path;
	st = writer_enter_chunk(t, s->chunks.current);
	if (st == E_NOENT && chunk_is_gone(s->chunks.current)) {
		st = chunk_restore(s->chunks.current);
		if (st == OK)
			st = writer_open_file(t);
	}
	if (st == OK)
		trace_added(t->trace, t->is_metadata);
	else
		trace_not_added(t->trace, t->channel);
	return st;
}

/* A stream of S has files of this size (0: one file). One read of a data
 * connection brings at most what fills FILES_READ of them, which limits work
 * and not only bytes. On the wire a packet has a header. */
static void
limit_reads(struct session *s, uint64_t tracefile_size)
{
	const uint64_t each = tracefile_size < s->waiting.read_max
				  ? tracefile_size + DATA_HEADER_LEN
				  : s->waiting.read_max;

	if (tracefile_size != 0 && each * FILES_READ < s->waiting.read_max)
		s->waiting.read_max = each * FILES_READ;
}

/* Memory that is kept for S's closed streams. */
static uint64_t
names_bytes(const struct session *s)
{
	const bool is_base = s->chunks.current != NULL &&
			     s->chunks.current->is_base;

	return s->traces.names_bytes + siblings_names_bytes(s->siblings) +
	       (is_base ? s->chunks.current->names_bytes : 0);
}

/* Why S may have no more streams; NULL: it may. */
static const char *
why_too_many(const struct session *s)
{
	const struct shard *sh = s->shard;
	const unsigned workers = sh->config.n_workers > 0 ? sh->config.n_workers
							  : 1;
	const uint64_t most = sh->config.memory->soft / 2 / workers;
	const uint64_t names = sh->traces.names_bytes + sh->store->names_bytes;
	const uint64_t streams = sh->n_streams * STREAM_MEMORY;
	struct account all;

	account_init(&all, most / 2, most, most / ACCOUNT_FAIR_PART);
	account_add(&all, names + streams);
	if (account_may_take(
		&all, names_bytes(s) + s->n_streams * STREAM_MEMORY, 0))
		return NULL;
	return streams >= names
		   ? "too many streams (--max-memory)"
		   : "too many closed streams in open trace chunks "
		     "(--max-memory): rotate them";
}

/* Make T, which has its handle, a stream of its session. */
static enum status
join_session(struct stream *t, struct relay_add_stream *q)
{
	struct session *s = t->session;
	const char *why = why_too_many(s);
	enum status st = regroup(s, &q->path);

	/* A rotation may just have freed some. */
	if (why != NULL) {
		(void)trace_free_some(s->shard);
		why = why_too_many(s);
	}
	t->path = q->path;
	if (st == OK && why != NULL)
		st = E_LIMIT;
	if (st == OK)
		st = idmap_insert(&s->shard->streams, t->handle, t);
	/* The log has to know whether files are numbered. */
	if (st == OK) {
		stream_window_add(t);
		st = make_logs(t);
	}
	if (st == OK)
		st = udp_stream_create(t);
	if (st == OK)
		st = find_place(t, q->path);
	if (st != OK) {
		if (st != E_LATER)
			log_peer(LOG_WARN, STREAM_FMT " not added: %s",
			    STREAM_ARGS(t),
			    why != NULL ? why
			    : s->chunks.current == NULL
				? "there is no trace chunk"
				: status_text(st));
		return st;
	}
	list_append(&s->streams, &t->session_node);
	s->n_streams++;
	s->shard->n_streams++;
	if (!t->is_metadata)
		limit_reads(s, q->tracefile_size);
	session_found_place(s, t->path);
	log_debug(STREAM_FMT " added: handle=%016" PRIx64 " size=%" PRIu64
			     " count=%" PRIu64,
	    STREAM_ARGS(t), t->handle, q->tracefile_size, q->tracefile_count);
	return OK;
}

/* The open stream that was added with these names. NULL: there is none. */
static struct stream *
find_added(const struct session *s, const struct relay_add_stream *q)
{
	struct stream *t;

	list_each (t, &s->streams, struct stream, session_node)
		if (!t->is_closing && relpath_equal(t->channel, q->channel) &&
		    relpath_equal(t->trace->asked, q->path))
			return t;
	return NULL;
}

enum status
stream_create(
    struct session *s, struct relay_add_stream *take_q, uint64_t *handle)
{
	const bool may_resume = s->request.may_resume;
	struct stream *t = may_resume ? find_added(s, take_q) : NULL;
	struct shard *sh = s->shard;
	enum status st = E_NOMEM;

	assert(shard_is_mine(sh));
	*handle = t != NULL ? t->handle
			    : ids_handle(&sh->ids, sh->config.worker);
	if (t != NULL || (may_resume && take_q->tracefile_size != 0)) {
		relay_add_stream_clear(take_q);
		return t != NULL ? OK : E_REFUSED;
	}
	t = stream_alloc(s, take_q);
	if (t != NULL) {
		t->handle = *handle;
		st = join_session(t, take_q);
		if (st != OK)
			stream_free(t);
	}
	relay_add_stream_clear(take_q);
	return st;
}

void
stream_mark_dirty(struct stream *t)
{
	if (list_empty(&t->dirty_node))
		list_append(&shard_of(t)->work.dirty, &t->dirty_node);
}

enum status
stream_add_record(struct stream *t, const struct relay_index *i)
{
	assert(shard_is_mine(shard_of(t)));
	assert(writer_is_idle(&t->writer));
	if (t->is_metadata || !t->session->has_index)
		return E_PROTOCOL;
	session_note_time(t->session, i->timestamp_end);
	if (t->log != NULL)
		packet_log_no_beacon(t->log, i->ctf_stream);
	return intake_add_record(t, i);
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
	(void)writer_write_ready(t);
	/* Packets that wait for bytes or for a lock may have older events. */
	if (!intake_is_empty(t) || !writer_has_all_records(&t->writer))
		return OK;
	packet_log_beacon(t->log, i->timestamp_end, i->ctf_stream);
	if (t->log->has_instance)
		beacons_changed(t->session);
	stream_wake(t);
	return OK;
}

void
stream_written(struct stream *t, struct relay_written *out)
{
	(void)writer_write_ready(t);
	writer_written(t, out);
}

enum status
stream_begin_again(struct stream *t)
{
	struct shard *sh = shard_of(t);
	const uint64_t handle = ids_handle(&sh->ids, sh->config.worker);
	enum status st;

	if (t->is_closing) {
		while (!stream_finish(t))
			;
		return OK;
	}
	st = idmap_insert(&sh->streams, handle, t);
	if (st != OK)
		return st;
	(void)idmap_remove(&sh->streams, t->handle);
	t->handle = handle;
	intake_begin_again(t);
	writer_begin_again(t);
	return OK;
}

enum status
stream_rotate(struct stream *t, struct chunk *to, uint64_t at)
{
	/* Without indexes packets have no numbers: roll at once. */
	const bool has_numbers = !t->is_metadata && t->session->has_index;

	assert(shard_is_mine(shard_of(t)));
	/* Whole packets were sent before this command: they may end the
	 * previous rotation, or be the last ones before AT. */
	if (!writer_write_ready(t))
		return E_LATER;
	if (place_is_rolling(&t->place))
		return E_EXISTS;
	place_begin_roll(&t->place, to, has_numbers ? at : 0);
	if (t->is_metadata)
		writer_leave_metadata(t);
	return writer_roll_if_due(t);
}

void
stream_is_asked(struct stream *t)
{
	struct session *s = t->session;

	s->round.n_checked += t->round != s->round.number;
	t->round = s->round.number;
}

uint32_t
stream_pending(struct stream *t, uint64_t last_seq)
{
	assert(shard_is_mine(shard_of(t)));
	stream_is_asked(t);
	(void)writer_write_ready(t);
	if (writer_take_error(&t->writer))
		return RELAY_PENDING_UNKNOWN;
	return intake_pending(t, &t->intake, last_seq);
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
	if (writer_write_ready(t) && t->is_closing &&
	    !intake_may_go_on(t, &t->intake))
		(void)stream_finish(t);
}

/* No record can come any more: whole packets are written without one. */
void
stream_close(struct stream *t, uint64_t last_seq)
{
	if (t->is_metadata && !t->is_closing)
		trace_close_metadata(t->trace);
	intake_close(t, last_seq);
	t->is_closing = true;
	stream_commit(t);
}

void
stream_end_of_control(struct stream *t)
{
	if (!t->is_closing) {
		(void)writer_write_ready(t);
		intake_end_of_control(t);
		t->is_closing = true;
	}
	stream_commit(t);
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

bool
stream_finish(struct stream *t)
{
	if (!intake_finish(t))
		return false;
	if (t->is_metadata)
		writer_leave_metadata(t);
	writer_leave_files(t);
	stream_free(t);
	return true;
}

static const struct state_member stream_members[] = {
	STATE_DROP(struct stream, session_node),
	STATE_DROP(struct stream, dirty_node), /* see intake_get_state() */
	STATE_DROP(struct stream, session),
	STATE_KEEP(struct stream, handle),
	STATE_CODE(struct stream, trace),
	STATE_DROP(struct stream, path), /* that of the trace */
	STATE_PATH(struct stream, channel),
	STATE_KEEP(struct stream, is_metadata),
	STATE_KEEP(struct stream, is_closing),
	STATE_KEEP(struct stream, is_published),
	STATE_KEEP(struct stream, round),
	STATE_CODE(struct stream, live),
	STATE_CODE(struct stream, log),
	STATE_CODE(struct stream, metadata),
	STATE_CODE(struct stream, intake),
	STATE_CODE(struct stream, place),
	STATE_CODE(struct stream, writer),
};
static STATE_TABLE(stream_state, struct stream, stream_members);

void
stream_put_state(struct state_out *o, const struct stream *t)
{
	state_put(o, &stream_state, t);
	trace_put_name(o, t->trace);
	packet_log_put_state(o, t->log);
	metadata_log_put_state(o, t->metadata);
	live_stream_put_state(o, t->live);
	state_put_bool(o, intake_is_connected(&t->intake));
	place_put_state(o, t);
	writer_put_state(o, t);
	intake_put_state(o, t);
}

static enum status
get_logs(struct stream *t, struct state_in *in)
{
	const struct live_notifier *notifier = notifier_of(t);
	enum status st = packet_log_get_state(&t->log, in);

	if (st == OK)
		st = metadata_log_get_state(&t->metadata, in);
	if (st == OK)
		st = live_stream_get_state(&t->live, in, notifier);
	if (st == OK &&
	    ((t->session->live == NULL && (t->is_published || t->live)) ||
		(notifier == NULL && (t->log || t->metadata)) ||
		(t->live != NULL && t->live->session != t->session->live)))
		st = E_MALFORMED;
	return st;
}

static enum status
get_transport(struct stream *t, struct state_in *in)
{
	const bool is_connected = state_get_bool(in);
	enum status st = is_connected ? OK : udp_stream_create(t);

	if (st == OK && intake_is_connected(&t->intake) != is_connected)
		st = E_MALFORMED;
	return st;
}

static enum status
get_parts(struct stream *t, struct state_in *in)
{
	struct shard *sh = shard_of(t);
	enum status st;

	if (t->channel == NULL || ids_worker(t->handle) != sh->config.worker)
		return E_MALFORMED;
	st = trace_get_name(&t->trace, in, t->session);
	if (st != OK)
		return st;
	t->path = t->trace->path;
	st = get_logs(t, in);
	if (st == OK)
		st = get_transport(t, in);
	if (st == OK)
		st = place_get_state(t, in);
	if (st == OK)
		st = writer_get_state(t, in);
	return st == OK ? intake_get_state(t, in) : st;
}

enum status
stream_get_state(struct session *s, struct state_in *in)
{
	struct stream *t = calloc(1, sizeof(*t));
	enum status st;

	if (t == NULL)
		return E_NOMEM;
	t->session = s;
	list_init(&t->session_node);
	list_init(&t->dirty_node);
	writer_init(&t->writer);
	st = state_get(in, &stream_state, t);
	intake_init(t);
	if (st == OK)
		st = idmap_insert(&s->shard->streams, t->handle, t);
	if (st != OK)
		t->handle = 0; /* it may be that of another stream */
	else
		st = get_parts(t, in);
	if (st != OK) {
		writer_drop_file(t);
		t->is_published = t->is_published && s->live != NULL;
		live_put(t->live);
		t->live = NULL; /* no viewer is told of it */
		stream_free(t);
		return st == E_EXISTS ? E_MALFORMED : st;
	}
	list_append(&s->streams, &t->session_node);
	s->n_streams++;
	s->shard->n_streams++;
	s->round.n_checked += t->round == s->round.number;
	return OK;
}

void
stream_announce(struct stream *t)
{
	struct live_notifier *notifier = notifier_of(t);

	if (t->live != NULL)
		notifier->notify(notifier, LIVE_EVENT_STREAM, t->live);
}
