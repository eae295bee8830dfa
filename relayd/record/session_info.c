/* SPDX-License-Identifier: MIT */
#include "relayd/record/session_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/live/live_objects.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"

#define PEER_MAX 128

static const char *
name_of(const struct relpath *name)
{
	return name == NULL ? "" : name->s;
}

/* The address in "peer=ADDRESS host=...". */
static void
peer_of(const struct session *s, char peer[PEER_MAX])
{
	const char *from = s->tag + strlen("peer=");

	snprintf(peer, PEER_MAX, "%.*s", (int)strcspn(from, " "), from);
}

/* The strings are borrowed, PEER holds one of them. */
static struct session_info
describe(const struct session *s, char peer[PEER_MAX])
{
	struct session_info i = {
		.id = s->id,
		.worker = s->shard->config.worker,
		.minor = s->minor,
		.state = s->is_ended ? SESSION_ENDING : SESSION_ACTIVE,
		.why = s->why,
		.host = (char *)(uintptr_t)name_of(s->wish.hostname),
		.name = (char *)(uintptr_t)name_of(s->wish.session_name),
		.path = (char *)(uintptr_t)session_path(s),
		.peer = peer,
		.live_timer_us = s->wish.live_timer_us,
		.is_snapshot = s->wish.is_snapshot,
		.is_udp = s->udp != NULL,
		.began_s = s->began_s,
		.duration_ns = clock_now_ns() - s->began_ns,
		.streams = s->n_streams,
		.held_bytes = s->held_bytes,
		.sums = s->sums,
	};

	peer_of(s, peer);
	if (s->live != NULL) {
		i.viewers = (unsigned)published(&s->live->clients);
		i.sent_bytes = published_word(&s->live->sent_bytes);
	}
	return i;
}

static void
tell_news(struct session *s, struct news *n)
{
	char peer[PEER_MAX];
	struct session_info i;

	if (!news_has_listener() || !s->is_counted)
		return;
	i = describe(s, peer);
	if (n->kind == NEWS_SESSION_ENDED) {
		i.state = SESSION_CLOSED;
		i.ended_s = clock_wall_s();
	}
	n->session = &i;
	news_tell(n);
}

void
session_tell(struct session *s, enum news_kind kind)
{
	tell_news(s, &(struct news){ .kind = kind });
}

static void
count_active(const struct session *s, uint64_t n)
{
	stats_add(s->shard->stats, STAT_sessions_active, n);
	if (s->wish.is_snapshot)
		stats_add(s->shard->stats, STAT_sessions_snapshot, n);
}

/* A session that is for one snapshot stays after it, and loses nothing when the
 * relay stops. */
static enum why_ended
why_stopped(const struct session *s)
{
	return s->wish.is_snapshot ? WHY_closed : WHY_stop;
}

void
session_began(struct session *s)
{
	s->is_counted = true;
	s->began_s = clock_wall_s();
	s->began_ns = clock_now_ns();
	stats_add(s->shard->stats, STAT_sessions_began, 1);
	count_active(s, 1);
	session_tell(s, NEWS_SESSION_BEGAN);
}

static bool
has_open_stream(const struct session *s)
{
	const struct stream *t;

	list_each (t, &s->streams, struct stream, session_node) {
		if (!t->is_closing)
			return true;
	}
	return false;
}

void
session_ends(struct session *s, bool aborted)
{
	if (s->shard->is_stopping)
		s->why = why_stopped(s);
	else if (aborted)
		s->why = WHY_error;
	else
		s->why = has_open_stream(s) ? WHY_left : WHY_closed;
	count_active(s, UINT64_MAX);
	stats_add(s->shard->stats, STAT_sessions_ending, 1);
}

void
session_lost(struct session *s, enum loss cause, uint64_t n)
{
	stats_lost(s->shard->stats, cause, n);
	s->sums.lost[cause] += n;
	s->untold += n;
	if (!log_ratelimit(&s->last_loss_ns, NEWS_LOSS_NS))
		return;
	tell_news(
	    s, &(struct news){
		   .kind = NEWS_PACKETS_LOST, .cause = cause, .n = s->untold });
	s->untold = 0;
}

static void
log_end(const struct session *s)
{
	const uint64_t ms = (clock_now_ns() - s->began_ns) / NS_PER_MS;
	const uint64_t lost = sums_lost(&s->sums);

	/* A peer can have as many sessions as it likes. */
	log_peer(lost > 0 ? LOG_WARN : LOG_NOTICE,
	    "%s session ended: packets=%" PRIu64 " bytes=%" PRIu64
	    " seconds=%" PRIu64 ".%03" PRIu64 " lost=%" PRIu64 " why=%s",
	    s->tag, s->sums.written_packets, s->sums.written_bytes, ms / 1000,
	    ms % 1000, lost, why_names[s->why]);
}

void
session_has_ended(struct session *s)
{
	struct stats *stats = s->shard->stats;

	if (!s->is_counted)
		return;
	if (s->is_ended) {
		stats_add(stats, STAT_sessions_ending, UINT64_MAX);
	} else {
		count_active(s, UINT64_MAX);
		s->why = why_stopped(s);
	}
	stats_add(
	    stats, (enum stats_row)(STAT_ended_closed + (unsigned)s->why), 1);
	log_end(s);
	session_tell(s, NEWS_SESSION_ENDED);
	s->is_counted = false;
}

static bool
add_session(struct info *i, const struct session *s)
{
	struct session_info *to = info_add_session(i);
	char peer[PEER_MAX];
	struct session_info from;

	if (to == NULL)
		return false;
	from = describe(s, peer);
	if (session_info_copy(to, &from) == OK)
		return true;
	i->lacks_memory = true;
	i->n_sessions--;
	return false;
}

static void
add_streams(struct info *i, const struct session *s)
{
	char name[2 * RELPATH_MAX];
	struct stream_info *to;
	const struct stream *t;

	list_each (t, &s->streams, struct stream, session_node) {
		to = info_add_stream(i);
		if (to == NULL)
			return;
		snprintf(
		    name, sizeof(name), "%s/%s", t->path->s, t->channel->s);
		to->name = info_text(i, name);
		to->is_metadata = t->is_metadata;
		to->written_bytes = t->written_bytes;
		to->written_packets = t->written_packets;
		to->lost_packets = t->lost;
		to->held_bytes = t->held_bytes;
	}
}

/* Sessions are in the order of their ids: a worker gives them to its own one
 * after the other. */
void
shard_answer(const struct shard *sh, struct info *i)
{
	const struct session *s;

	list_each (s, &sh->sessions, struct session, shard_node) {
		if (i->wish == INFO_SESSION && s->id == i->id) {
			(void)add_session(i, s);
			add_streams(i, s);
			return;
		}
		if (i->wish == INFO_SESSION || s->id <= i->after ||
		    (i->host[0] != '\0' &&
			strcmp(name_of(s->wish.hostname), i->host) != 0))
			continue;
		if (!add_session(i, s))
			return;
	}
}
