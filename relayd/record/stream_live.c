/* SPDX-License-Identifier: MIT */
/* What viewers see of a stream. */
#include "common/log.h"
#include "relayd/live/live_objects.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream_internal.h"
#include "relayd/record/trace.h"
#include "store/chunk.h"
#include "store/folder.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"
#include "store/tracefile.h"

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
		return tracefile_set_log(t->tf, t->log);
	if (t->metadata == NULL)
		return OK;
	st = chunk_folder(t->chunk, t->family, &folder);
	if (st == OK)
		st = metadata_log_begin(t->metadata, folder);
	folder_put(folder);
	return st;
}

/* Streams of one folder are one CTF trace (live 1.5.4). */
static uint64_t
trace_id(const struct stream *t)
{
	if (t->trace->live_id == 0)
		t->trace->live_id = published_add(&door_of(t)->trace_ids, 1);
	return t->trace->live_id;
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
