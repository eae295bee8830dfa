/* SPDX-License-Identifier: MIT */
/* ADD_STREAM: a stream, its trace and its first file. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "proto/data.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream_internal.h"
#include "relayd/record/trace.h"
#include "relayd/record/udp.h"
#include "store/chunk.h"
#include "store/store.h"

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
	t->transport = &tcp_transport;
	t->path = take_q->path;
	t->channel = take_q->channel;
	take_q->channel = NULL;
	t->is_metadata = strcmp(t->channel->s, "metadata") == 0;
	if (!t->is_metadata) {
		t->tracefile_size = take_q->tracefile_size;
		t->tracefile_count = take_q->tracefile_count;
	}
	list_init(&t->session_node);
	list_init(&t->dirty_node);
	list_init(&t->locked_node);
	list_init(&t->gapped_node);
	list_init(&t->owing_node);
	list_init(&t->sealed);
	t->batch.end = &t->batch.first;
	reorder_init(&t->reorder, &s->shard->store->packets,
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
	st = trace_join(&t->trace, s, asked, t->channel);
	if (st != OK)
		return st;
	t->path = t->trace->path;
	st = stream_enter_chunk(t, s->current);
	if (st != OK)
		trace_not_added(t->trace, t->channel);
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
	if (st == OK && !t->is_metadata && t->tracefile_count == 0)
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
	limit_reads(s, t->tracefile_size);
	trace_added(t->trace, t->is_metadata);
	session_found_place(s, t->path);
	log_debug(STREAM_FMT " added: handle=%016" PRIx64 " size=%" PRIu64
			     " count=%" PRIu64,
	    STREAM_ARGS(t), t->handle, t->tracefile_size, t->tracefile_count);
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
