/* SPDX-License-Identifier: MIT */
/* Packets for which there is no room on the disk, and the log of what is lost:
 * .loss.jsonl in the stream's folder. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "proto/relay.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream_internal.h"
#include "store/chunk.h"
#include "store/packet.h"
#include "store/packet_log.h"

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

	if (t->chunk == NULL || t->family == NULL)
		return OK;
	put_name(name, sizeof(name), t->channel->s);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	n = snprintf(line, sizeof(line),
	    "{\"time\":\"%s\",\"stream\":\"%s\",\"first\":%" PRIu64
	    ",\"lost\":%" PRIu64 ",\"announced\":%u,\"why\":\"%s\"}\n",
	    when, name, loss->first, loss->n, loss->records, why);
	st = chunk_note_loss(t->chunk, t->family, line, (size_t)n);
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

	if (t->unnoted == NULL)
		t->unnoted = calloc(1, sizeof(*t->unnoted));
	if (t->unnoted == NULL)
		return; /* it is counted all the same */
	loss = &t->unnoted->loss;
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
	if (!t->has_logged_drop)
		log_peer(LOG_WARN,
		    STREAM_FMT " packets are dropped: their file or its "
			       "folder was removed",
		    STREAM_ARGS(t));
	t->has_logged_drop = true;
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
	t->has_write_error = true;
	if (log_ratelimit(&sh->last_loss_log, NS_PER_S))
		log_error(STREAM_FMT " packets are lost: they cannot be "
				     "written (%" PRIu64 " since the start)",
		    STREAM_ARGS(t), sh->packets_dropped);
}

void
stream_note_losses(struct stream *t, bool now)
{
	struct stream_unnoted *u = t->unnoted;

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
	const struct stream_unnoted *u = t->unnoted;

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
	t->has_lost_metadata = false;
	stream_seal_file(t);
}
