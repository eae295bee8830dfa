/* SPDX-License-Identifier: MIT */
#include "relayd/record/session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "relayd/live/live_objects.h"
#include "relayd/record/old_root.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/trace.h"
#include "relayd/record/udp.h"
#include "store/chunk.h"
#include "store/session_dir.h"
#include "store/store.h"

/* Shown in logs while a session has no name. */
#define NO_NAME "-"

#define PEER_MAX 128

static const char *
name_of(const struct relpath *name)
{
	return name == NULL ? "" : name->s;
}

static enum session_state
state_of(const struct session *s)
{
	if (s->is_ended)
		return SESSION_ENDING;
	return s->parked_until_ns != 0 ? SESSION_WAITING : SESSION_ACTIVE;
}

/* The strings are borrowed, PEER holds one of them. */
static struct session_info
describe(const struct session *s, char peer[PEER_MAX])
{
	const char *tag_peer = s->tag + strlen("peer=");
	struct session_info i = {
		.id = s->id,
		.worker = s->shard->config.worker,
		.minor = s->minor,
		.state = state_of(s),
		.why = s->report.why,
		.host = (char *)(uintptr_t)name_of(s->request.hostname),
		.name = (char *)(uintptr_t)name_of(s->request.session_name),
		.path = (char *)(uintptr_t)session_path(s),
		.peer = peer,
		.live_timer_us = s->request.live_timer_us,
		.is_snapshot = s->request.is_snapshot,
		.is_udp = s->udp != NULL,
		.began_s = s->report.began_s,
		.duration_ns = clock_now_ns() - s->report.began_ns,
		.streams = s->n_streams,
		.held_bytes = s->waiting.bytes,
		.sums = s->report.sums,
	};

	snprintf(peer, PEER_MAX, "%.*s", (int)strcspn(tag_peer, " "), tag_peer);
	if (s->live != NULL) {
		i.viewers = (unsigned)published(&s->live->clients);
		i.sent_bytes = published_word(&s->live->sent_bytes);
	}
	return i;
}

static void
report(struct session *s, struct relay_event *n)
{
	char peer[PEER_MAX];
	struct session_info i;

	if (!relay_event_has_listener() || !s->report.is_counted)
		return;
	i = describe(s, peer);
	if (n->kind == RELAY_EVENT_SESSION_ENDED) {
		i.state = SESSION_CLOSED;
		i.ended_s = clock_wall_s();
	}
	n->session = &i;
	relay_event_report(n);
}

void
session_report(struct session *s, enum relay_event_kind kind)
{
	report(s, &(struct relay_event){ .kind = kind });
}

static void
count_active(const struct session *s, uint64_t n)
{
	stats_add(s->shard->stats, STAT_sessions_active, n);
	if (s->request.is_snapshot)
		stats_add(s->shard->stats, STAT_sessions_snapshot, n);
}

/* A session for one snapshot stays open after it, and loses nothing when the
 * relay stops; nor does one whose sender goes on later. */
static enum why_ended
why_stopped(const struct session *s)
{
	if (s->request.is_snapshot)
		return WHY_closed;
	return session_continues_files(s) ? WHY_left : WHY_stop;
}

static void
count_began(struct session *s)
{
	s->report.is_counted = true;
	s->report.began_s = clock_wall_s();
	s->report.began_ns = clock_now_ns();
	stats_add(s->shard->stats, STAT_sessions_began, 1);
	count_active(s, 1);
	session_report(s, RELAY_EVENT_SESSION_BEGAN);
}

bool
session_has_open_stream(const struct session *s)
{
	const struct stream *t;

	list_each (t, &s->streams, struct stream, session_node) {
		if (!t->is_closing)
			return true;
	}
	return false;
}

/* The control connection ends; ABORTED: by an error. The streams are still as
 * the peer left them. */
static void
count_ending(struct session *s, bool aborted)
{
	if (s->shard->is_stopping)
		s->report.why = why_stopped(s);
	else if (aborted)
		s->report.why = WHY_error;
	else
		s->report.why = session_has_open_stream(s) ? WHY_left
							   : WHY_closed;
	count_active(s, UINT64_MAX);
	stats_add(s->shard->stats, STAT_sessions_ending, 1);
}

void
session_lost(struct session *s, enum loss cause, uint64_t n)
{
	stats_lost(s->shard->stats, cause, n);
	s->report.sums.lost[cause] += n;
	s->report.unreported += n;
	if (!log_ratelimit(&s->report.last_loss_ns, RELAY_EVENT_LOSS_NS))
		return;
	report(s, &(struct relay_event){ .kind = RELAY_EVENT_PACKETS_LOST,
		      .cause = cause,
		      .n = s->report.unreported });
	s->report.unreported = 0;
}

static void
log_end(const struct session *s)
{
	const uint64_t ms = (clock_now_ns() - s->report.began_ns) / NS_PER_MS;
	const uint64_t lost = sums_lost(&s->report.sums);

	/* A peer may create any number of sessions. */
	log_peer(lost > 0 ? LOG_WARN : LOG_NOTICE,
	    "%s session ended: packets=%" PRIu64 " bytes=%" PRIu64
	    " seconds=%" PRIu64 ".%03" PRIu64 " lost=%" PRIu64 " why=%s",
	    s->tag, s->report.sums.written_packets,
	    s->report.sums.written_bytes, ms / 1000, ms % 1000, lost,
	    why_names[s->report.why]);
}

/* All of the session is written, and it is about to be freed. */
static void
count_ended(struct session *s)
{
	struct stats *stats = s->shard->stats;

	if (!s->report.is_counted)
		return;
	session_leave_park(s);
	if (s->is_ended) {
		stats_add(stats, STAT_sessions_ending, UINT64_MAX);
	} else {
		count_active(s, UINT64_MAX);
		s->report.why = why_stopped(s);
	}
	stats_add(stats,
	    (enum stats_row)(STAT_ended_closed + (unsigned)s->report.why), 1);
	log_end(s);
	session_report(s, RELAY_EVENT_SESSION_ENDED);
	s->report.is_counted = false;
}

/* In log lines a blank ends a value. */
static void
replace_blanks(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] == ' ')
			text[i] = '_';
}

static enum status
make_tag(struct session *s, const char *peer)
{
	const char *host = s->request.hostname == NULL ? NO_NAME
						       : s->request.hostname->s;
	const char *name = s->request.session_name == NULL
			       ? NO_NAME
			       : s->request.session_name->s;
	char *tag;
	int n = asprintf(&tag, "peer=%s host=%s session=%" PRIu64 "/%s", peer,
	    host, s->id, name);

	if (n < 0)
		return E_NOMEM;
	replace_blanks(tag + strlen("peer=") + strlen(peer) + strlen(" host="),
	    strlen(host));
	replace_blanks(tag + n - strlen(name), strlen(name));
	free(s->tag);
	s->tag = tag;
	return OK;
}

/* Viewers list every session; those with a live timer can be attached to. */
static enum status
show(struct session *s)
{
	struct live_notifier *notifier = s->shard->config.notifier;
	enum status st;

	if (notifier == NULL || s->request.session_name == NULL)
		return OK;
	st = live_session_create(&s->live, notifier->n_workers, s->id,
	    s->request.live_timer_us, s->request.trace_format == 2,
	    s->request.hostname->s, s->request.session_name->s);
	if (st == OK)
		notifier->notify(notifier, LIVE_EVENT_SESSION, s->live);
	return st;
}

/* Called after the events of all its streams. */
static void
report_end_to_viewers(struct session *s)
{
	struct live_notifier *notifier = s->shard->config.notifier;

	if (s->live != NULL && !s->report.has_told_end)
		notifier->notify(notifier, LIVE_EVENT_SESSION_ENDED, s->live);
	s->report.has_told_end = true;
}

/* PATH is HOST/SESSION/...; a path of one component has no host. */
static enum status
take_names(struct session *s, const char *path)
{
	const char *slash = strchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	struct span host = { NO_NAME, strlen(NO_NAME) };
	enum status st;

	if (slash != NULL)
		host = (struct span){ path, (size_t)(slash - path) };
	st = relname_parse(&s->request.hostname, host);
	if (st == OK)
		st = relname_parse(&s->request.session_name,
		    (struct span){ name, strcspn(name, "/") });
	return st;
}

enum status
session_set_peer(struct session *s, const char *peer)
{
	return make_tag(s, peer);
}

/* Make the tag again with the names that are known now. */
static enum status
name_tag(struct session *s)
{
	const char *from = s->tag + strlen("peer=");
	char *peer = strndup(from, strcspn(from, " "));
	enum status st = peer == NULL ? E_NOMEM : make_tag(s, peer);

	free(peer);
	return st;
}

void
session_found_place(struct session *s, const struct relpath *path)
{
	enum status st;

	if (s->request.hostname != NULL)
		return;
	st = take_names(s, path->s);
	if (st == OK)
		st = name_tag(s);
	if (st == OK)
		st = show(s);
	if (st != OK)
		log_error(
		    "%s not shown to viewers: %s", s->tag, status_text(st));
	else
		log_info("%s named after its first stream", s->tag);
}

enum status
session_create(struct session **out, struct shard *sh,
    struct relay_create_session *take_request, unsigned minor, const char *peer)
{
	struct session *s;
	enum status st = E_NOENT;

	assert(shard_is_mine(sh));
	*out = NULL;
	if (take_request->may_resume)
		st = session_resume(out, sh, take_request, minor, peer);
	if (st != E_NOENT) {
		relay_create_session_clear(take_request);
		return st;
	}
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		relay_create_session_clear(take_request);
		return E_NOMEM;
	}
	s->shard = sh;
	s->round.number = 1;
	s->waiting.read_max = SESSION_READ_MAX;
	s->minor = minor;
	s->request = *take_request;
	*take_request = (struct relay_create_session){ 0 };
	s->has_index = minor >= 4 && !s->request.is_snapshot;
	if (minor < 11)
		s->request.creation_time = clock_wall_s();
	list_init(&s->shard_node);
	list_init(&s->siblings_node);
	list_init(&s->ending_node);
	list_init(&s->beacons_node);
	list_init(&s->streams);
	list_init(&s->traces.unused);
	list_init(&s->traces.old);
	list_init(&s->traces.forget_node);
	list_init(&s->inputs.list);
	st = siblings_join(&s->siblings, sh, &s->request);
	if (st == OK)
		st = stream_window_begin(s);
	if (st == OK)
		st = session_find_place(s);
	if (st == OK) {
		s->id = published_add(sh->config.session_ids, 1);
		st = make_tag(s, peer);
	}
	if (st == OK)
		st = show(s);
	if (st != OK) {
		session_destroy(s);
		return st;
	}
	list_append(&sh->sessions, &s->shard_node);
	list_append(&s->siblings->sessions, &s->siblings_node);
	sh->figures.sessions_created++;
	count_began(s);
	log_info("%s session created: path=%s minor=%u live=%" PRIu32
		 "us snapshot=%d",
	    s->tag, session_path(s), minor, s->request.live_timer_us,
	    s->request.is_snapshot);
	*out = s;
	return OK;
}

const char *
session_path(const struct session *s)
{
	return s->dir == NULL || s->dir->path == NULL ? "" : s->dir->path->s;
}

void
session_destroy(struct session *s)
{
	struct session_input *in, *next_in;
	struct stream *t, *next;

	if (s == NULL)
		return;
	assert(shard_is_mine(s->shard));
	list_each_safe (t, next, &s->streams, struct stream, session_node)
		while (!stream_finish(t))
			;
	assert(s->n_streams == 0 && s->waiting.n_records == 0);
	assert(s->waiting.bytes == 0 && s->waiting.file_bytes == 0);
	count_ended(s);
	trace_forget_all(s);
	udp_session_destroy(s->tag, s->udp);
	report_end_to_viewers(s);
	live_put(s->live);
	/* Data connections stay open until the worker closes them. */
	list_each_safe (
	    in, next_in, &s->inputs.list, struct session_input, node) {
		list_del(&in->node);
		in->ops->session_gone(in);
	}
	list_del(&s->shard_node);
	list_del(&s->siblings_node);
	if (s->siblings != NULL && list_empty(&s->siblings->sessions))
		stream_window_keep(s->siblings, NULL, true);
	list_del(&s->ending_node);
	list_del(&s->beacons_node);
	old_root_leave(s);
	s->is_ended = true;
	chunk_put(s->chunks.current);
	chunk_put(s->chunks.pending);
	if (s->siblings != NULL)
		siblings_let_go(s->siblings, 0);
	session_dir_put(s->dir);
	siblings_leave(s->siblings);
	relay_create_session_clear(&s->request);
	if (s->gone.call != NULL)
		s->gone.call(s->gone.what, s->gone.arg);
	free(s->tag);
	free(s);
}

bool
session_finish(struct session *s)
{
	struct stream *t, *next;

	list_each_safe (t, next, &s->streams, struct stream, session_node)
		if (!stream_finish(t) || shard_step_is_late(s->shard))
			return session_reap(s);
	session_destroy(s);
	return true;
}

bool
session_reap(struct session *s)
{
	if (!s->is_ended || !list_empty(&s->streams))
		return false;
	session_destroy(s);
	return true;
}

static uint64_t
distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

void
session_note_time(struct session *s, uint64_t time)
{
	const bool is_far = s->time.latest != 0 &&
			    distance(time, s->time.latest) > SESSION_JUMP_TICKS;

	if (!is_far) {
		s->time.ahead = 0;
		if (time > s->time.latest)
			s->time.latest = time;
	} else if (time < s->time.latest) {
		s->time.latest = time;
		s->time.ahead = 0;
	} else if (s->time.ahead != 0 &&
		   distance(time, s->time.ahead) <= SESSION_JUMP_TICKS) {
		s->time.latest = time < s->time.ahead ? time : s->time.ahead;
		s->time.ahead = 0;
	} else {
		s->time.ahead = time;
	}
}

void
session_linger(struct session *s)
{
	if (s->is_ended)
		s->linger_until_ns = clock_now_ns() + LINGER_NS;
}

bool
session_is_receiving(const struct session *s)
{
	const struct session_input *in;

	list_each (in, &s->inputs.list, struct session_input, node) {
		if (in->ops->is_mid_message(in))
			return true;
	}
	return false;
}

void
session_end(struct session *s, bool aborted)
{
	assert(shard_is_mine(s->shard));
	log_info("%s control connection ended%s", s->tag,
	    aborted ? " with an error" : "");
	if (!session_park(s))
		session_close(s, aborted);
}

void
session_close(struct session *s, bool aborted)
{
	struct stream *t, *next;

	count_ending(s, aborted);
	s->is_ended = true;
	siblings_let_go(s->siblings, 0);
	/* Also after an error: a record that was accepted gets its bytes if
	 * they still come. */
	list_each_safe (t, next, &s->streams, struct stream, session_node) {
		if (shard_step_is_late(s->shard))
			stream_mark_dirty(t); /* for a later commit */
		else
			stream_end_of_control(t);
	}
	report_end_to_viewers(s);
	if (session_reap(s))
		return;
	session_linger(s);
	list_append(&s->shard->work.ending, &s->ending_node);
}

struct stream *
session_stream(const struct session *s, uint64_t handle)
{
	struct stream *t = idmap_find(&s->shard->streams, handle);

	assert(shard_is_mine(s->shard));
	return t != NULL && t->session == s ? t : NULL;
}

enum status
session_input_came(struct session *s, struct session_input *in)
{
	const struct session_input *o;
	unsigned n = 0;

	list_each (o, &s->inputs.list, struct session_input, node)
		n++;
	if (n >= SESSION_INPUTS_MAX || (n > 0 && !fds_take(FDS_EXTRA)))
		return E_LIMIT;
	in->is_extra = n > 0;
	list_append(&s->inputs.list, &in->node);
	s->inputs.had_any = true;
	return OK;
}

void
session_input_done(struct session_input *in)
{
	if (in->is_extra)
		fds_give(FDS_EXTRA);
	in->is_extra = false;
}

void
session_input_gone(struct session *s)
{
	struct stream *t, *next;

	if (!list_empty(&s->inputs.list))
		return;
	list_each_safe (t, next, &s->streams, struct stream, session_node)
		stream_end_of_data(t);
	(void)session_reap(s);
}

void
session_count_waiting(struct session *s, int64_t bytes, int64_t file_bytes)
{
	/* One session must not use up the memory that all sessions share. */
	const uint64_t share = s->shard->config.memory->soft / 4;
	const uint64_t max = share < SESSION_WAITING_MAX ? share
							 : SESSION_WAITING_MAX;

	if (file_bytes != 0) {
		s->waiting.file_bytes += (uint64_t)file_bytes;
		s->shard->file_bytes += (uint64_t)file_bytes;
		account_add(s->shard->config.memory, (uint64_t)file_bytes);
	}
	s->waiting.bytes += (uint64_t)bytes;
	if (!s->waiting.is_full && s->waiting.bytes > max) {
		s->waiting.is_full = true;
		log_info("%s data connections are paused: %" PRIu64
			 " bytes wait for their indexes",
		    s->tag, s->waiting.bytes);
	} else if (s->waiting.is_full && s->waiting.bytes <= max / 2) {
		s->waiting.is_full = false;
	}
}

uint64_t
session_give_up(struct session *s, uint64_t since_ns)
{
	const uint64_t before = s->waiting.bytes,
		       fair = s->shard->config.memory->fair;
	struct stream *t;

	list_each (t, &s->streams, struct stream, session_node) {
		if (s->waiting.bytes < fair)
			break;
		(void)intake_give_up(t, since_ns, s->waiting.bytes - fair);
	}
	return before - s->waiting.bytes;
}

void
session_begin_pending(struct session *s)
{
	s->round.number++;
	s->round.n_checked = 0;
}

bool
session_end_pending(const struct session *s)
{
	return s->round.n_checked < s->n_streams;
}

void
session_publish(struct session *s)
{
	struct list *n = &s->streams;

	if (s->live == NULL)
		return;
	/* Streams that are not published are the last ones in the list. */
	while (n->prev != &s->streams &&
	       !list_entry(n->prev, struct stream, session_node)->is_published)
		n = n->prev;
	for (; n != &s->streams; n = n->next)
		stream_publish(list_entry(n, struct stream, session_node));
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
		writer_describe(&t->writer, to);
		to->held_bytes = intake_waiting(&t->intake);
	}
}

/* Sessions are in the order of their ids: a worker assigns them one after
 * another. */
void
shard_answer(const struct shard *sh, struct info *i)
{
	const struct session *s;

	list_each (s, &sh->sessions, struct session, shard_node) {
		if (i->kind == INFO_SESSION && s->id == i->id) {
			(void)add_session(i, s);
			add_streams(i, s);
			return;
		}
		if (i->kind == INFO_SESSION || s->id <= i->after ||
		    (i->host[0] != '\0' &&
			strcmp(name_of(s->request.hostname), i->host) != 0))
			continue;
		if (!add_session(i, s))
			return;
	}
}
