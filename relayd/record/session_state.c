/* SPDX-License-Identifier: MIT */
/* What a session hands to the next process: itself, its traces and streams. */
#include <stdlib.h>
#include <string.h>

#include "common/fds.h"
#include "common/log.h"
#include "common/state.h"
#include "relayd/live/live_objects.h"
#include "relayd/record/old_root.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "relayd/record/trace.h"
#include "relayd/record/udp.h"
#include "relayd/stats/stats.h"
#include "store/chunk.h"
#include "store/session_dir.h"

static const struct state_member optional_members[] = {
	STATE_KEEP(struct relay_optional, is_set),
	STATE_KEEP(struct relay_optional, value),
};
static STATE_TABLE(optional_state, struct relay_optional, optional_members);

static const struct state_member request_members[] = {
	STATE_PATH(struct relay_create_session, session_name),
	STATE_PATH(struct relay_create_session, hostname),
	STATE_PATH(struct relay_create_session, base_path),
	STATE_KEEP(struct relay_create_session, live_timer_us),
	STATE_KEEP(struct relay_create_session, is_snapshot),
	STATE_KEEP(struct relay_create_session, name_has_time),
	STATE_BYTES(struct relay_create_session, uuid),
	STATE_KEEP(struct relay_create_session, has_peer_id),
	STATE_KEEP(struct relay_create_session, peer_session),
	STATE_KEEP(struct relay_create_session, creation_time),
	STATE_STRUCT(struct relay_create_session, chunk, optional_state),
	STATE_KEEP(struct relay_create_session, trace_format),
	STATE_KEEP(struct relay_create_session, may_resume),
	STATE_BYTES(struct relay_create_session, key),
};
static STATE_TABLE(request_state, struct relay_create_session, request_members);

static const struct state_member time_members[] = {
	STATE_KEEP(struct session_time, latest),
	STATE_KEEP(struct session_time, ahead),
};
static STATE_TABLE(time_state, struct session_time, time_members);

static const struct state_member chunks_members[] = {
	STATE_CODE(struct session_chunks, current),
	STATE_CODE(struct session_chunks, pending),
	STATE_KEEP(struct session_chunks, has_rotated),
};
static STATE_TABLE(chunks_state, struct session_chunks, chunks_members);

static const struct state_member round_members[] = {
	STATE_KEEP(struct session_round, number),
	STATE_DROP(struct session_round, n_checked), /* counted again */
};
static STATE_TABLE(round_state, struct session_round, round_members);

static const struct state_member inputs_members[] = {
	STATE_DROP(struct session_inputs, list), /* session_input_again() */
	STATE_KEEP(struct session_inputs, had_any),
};
static STATE_TABLE(inputs_state, struct session_inputs, inputs_members);

static const struct state_member waiting_members[] = {
	STATE_DROP(struct session_waiting, bytes), /* counted again */
	STATE_DROP(struct session_waiting, file_bytes),
	STATE_DROP(struct session_waiting, n_records),
	STATE_KEEP(struct session_waiting, read_max),
	STATE_DROP(struct session_waiting, is_full),
};
static STATE_TABLE(waiting_state, struct session_waiting, waiting_members);

static const struct state_member traces_members[] = {
	STATE_CODE(struct session_traces, unused),
	STATE_DROP(struct session_traces, old), /* only to be freed */
	STATE_DROP(struct session_traces, forget_node),
	STATE_CODE(struct session_traces, keys),
	STATE_DROP(struct session_traces, names_bytes), /* counted again */
};
static STATE_TABLE(traces_state, struct session_traces, traces_members);

static const struct state_member sums_members[] = {
	STATE_KEEP(struct sums, received_bytes),
	STATE_KEEP(struct sums, received_packets),
	STATE_KEEP(struct sums, written_bytes),
	STATE_KEEP(struct sums, written_packets),
	STATE_KEEP(struct sums, index_records),
	STATE_KEEP(struct sums, metadata_bytes),
	STATE_CODE(struct sums, lost),
};
static STATE_TABLE(sums_state, struct sums, sums_members);

static const struct state_member report_members[] = {
	STATE_STRUCT(struct session_report, sums, sums_state),
	STATE_KEEP(struct session_report, began_s),
	STATE_KEEP(struct session_report, began_ns),
	STATE_KEEP(struct session_report, last_loss_ns),
	STATE_KEEP(struct session_report, unreported),
	STATE_MOST(struct session_report, why, WHYS - 1),
	STATE_DROP(struct session_report, is_counted), /* it is, again */
	STATE_KEEP(struct session_report, has_told_end),
};
static STATE_TABLE(report_state, struct session_report, report_members);

static const struct state_member gone_members[] = {
	STATE_DROP(struct session_gone, call), /* session_on_gone(), again */
	STATE_DROP(struct session_gone, what),
	STATE_DROP(struct session_gone, arg),
};
static STATE_TABLE(gone_state, struct session_gone, gone_members);

static const struct state_member session_members[] = {
	STATE_DROP(struct session, shard_node),
	STATE_DROP(struct session, siblings_node),
	STATE_DROP(struct session, ending_node),  /* by is_ended */
	STATE_DROP(struct session, beacons_node), /* the next ones come soon */
	STATE_DROP(struct session, beacons_ns),
	STATE_DROP(struct session, shard),
	STATE_DROP(struct session, siblings), /* it is read after them */
	STATE_KEEP(struct session, id),
	STATE_MOST(struct session, minor, RELAY_MINOR),
	STATE_STRUCT(struct session, request, request_state),
	STATE_TEXT(struct session, tag),
	STATE_CODE(struct session, old_root),
	STATE_CODE(struct session, live),
	STATE_STRUCT(struct session, time, time_state),
	STATE_CODE(struct session, dir),
	STATE_STRUCT(struct session, chunks, chunks_state),
	STATE_CODE(struct session, streams),
	STATE_DROP(struct session, n_streams),
	STATE_KEEP(struct session, has_index),
	STATE_KEEP(struct session, is_ended),
	STATE_STRUCT(struct session, round, round_state),
	STATE_STRUCT(struct session, inputs, inputs_state),
	STATE_CODE(struct session, udp),
	STATE_STRUCT(struct session, waiting, waiting_state),
	STATE_STRUCT(struct session, traces, traces_state),
	STATE_STRUCT(struct session, report, report_state),
	STATE_KEEP(struct session, linger_until_ns),
	STATE_STRUCT(struct session, gone, gone_state),
	STATE_DROP(struct session, control), /* its endpoint, again */
	STATE_KEEP(struct session, parked_until_ns),
};
static STATE_TABLE(session_state, struct session, session_members);

void
session_put_state(struct state_out *o, const struct session *s)
{
	const struct stream *t;

	if (!state_put_object(o, s))
		o->bad = true;
	state_put(o, &session_state, s);
	state_put_u32(o, LOSSES);
	for (unsigned i = 0; i < LOSSES; i++)
		state_put_u64(o, s->report.sums.lost[i]);
	session_dir_put_state(o, s->dir);
	siblings_put_chunk_name(o, s->chunks.current);
	siblings_put_chunk_name(o, s->chunks.pending);
	old_root_put_name(o, s->old_root);
	live_session_put_state(o, s->live);
	udp_session_put_state(o, s->udp);
	trace_put_all(o, s);
	list_each (t, &s->streams, struct stream, session_node) {
		state_put_bool(o, true);
		stream_put_state(o, t);
	}
	state_put_bool(o, false);
}

/* Is it what a request can have made? */
static bool
is_sane(const struct session *s)
{
	const struct relay_create_session *q = &s->request;
	const bool has_names = q->session_name != NULL && q->hostname != NULL;

	return s->tag != NULL &&
	       strncmp(s->tag, "peer=", strlen("peer=")) == 0 && s->minor > 0 &&
	       (has_names || s->minor < 4) &&
	       (q->session_name == NULL) == (q->hostname == NULL) &&
	       s->has_index == (s->minor >= 4 && !q->is_snapshot) &&
	       s->waiting.read_max > 0 &&
	       s->waiting.read_max <= SESSION_READ_MAX;
}

static enum status
get_sums(struct sums *sums, struct state_in *in)
{
	const uint32_t n = state_get_u32(in, LOSSES);

	for (uint32_t i = 0; i < n; i++)
		sums->lost[i] = state_get_u64(in);
	return state_in_status(in);
}

/* What it shares with others. */
static enum status
get_shared(struct session *s, struct state_in *in)
{
	enum status st = session_dir_get_state(&s->dir, in, s->shard->store);

	if (st == OK && s->dir == NULL)
		st = E_MALFORMED;
	if (st == OK)
		st = siblings_get_chunk_name(
		    &s->chunks.current, in, s->siblings);
	if (st == OK)
		st = siblings_get_chunk_name(
		    &s->chunks.pending, in, s->siblings);
	return st == OK ? old_root_get_name(s, in) : st;
}

static enum status
get_streams(struct session *s, struct state_in *in)
{
	enum status st = trace_get_all(s, in);

	while (st == OK && state_get_bool(in))
		st = stream_get_state(s, in);
	return st == OK ? state_in_status(in) : st;
}

/* It is counted as one that is there, but not as one that began. */
static void
count_again(struct session *s)
{
	struct stats *stats = s->shard->stats;

	s->report.is_counted = true;
	if (s->is_ended) {
		stats_add(stats, STAT_sessions_ending, 1);
		return;
	}
	stats_add(stats,
	    s->parked_until_ns != 0 ? STAT_sessions_waiting
				    : STAT_sessions_active,
	    1);
	if (s->request.is_snapshot)
		stats_add(stats, STAT_sessions_snapshot, 1);
}

/* Sessions are in the order of their ids. */
static void
join_shard(struct session *s)
{
	struct list *before = s->shard->sessions.prev;

	while (before != &s->shard->sessions &&
	       list_entry(before, struct session, shard_node)->id > s->id)
		before = before->prev;
	list_append(before->next, &s->shard_node);
	list_append(&s->siblings->sessions, &s->siblings_node);
	if (s->is_ended)
		list_append(&s->shard->work.ending, &s->ending_node);
	else if (s->parked_until_ns != 0)
		list_append(&s->shard->work.parked, &s->ending_node);
	count_again(s);
}

/* Viewers list it now; if it cannot go on, they learn that afterwards. */
static void
announce(struct session *s)
{
	struct live_notifier *notifier = s->shard->config.notifier;
	struct stream *t;

	if (s->live == NULL)
		return;
	if (!s->report.has_told_end)
		notifier->notify(notifier, LIVE_EVENT_SESSION, s->live);
	list_each (t, &s->streams, struct stream, session_node)
		stream_announce(t);
}

static struct session *
session_alloc(struct siblings *si)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->shard = si->shard;
	s->siblings = si;
	si->refs++;
	list_init(&s->shard_node);
	list_init(&s->siblings_node);
	list_init(&s->ending_node);
	list_init(&s->beacons_node);
	list_init(&s->streams);
	list_init(&s->traces.unused);
	list_init(&s->traces.old);
	list_init(&s->traces.forget_node);
	list_init(&s->inputs.list);
	return s;
}

static enum status
get_parts(struct session *s, struct state_in *in)
{
	const struct live_notifier *notifier = s->shard->config.notifier;
	enum status st = get_sums(&s->report.sums, in);

	if (st == OK)
		st = get_shared(s, in);
	if (st == OK)
		st = live_session_get_state(&s->live, in, notifier);
	if (st == OK && s->live != NULL && notifier == NULL)
		st = E_MALFORMED;
	if (st == OK)
		st = udp_session_get_state(&s->udp, in, s->shard);
	if (st == OK)
		st = get_streams(s, in);
	announce(s);
	return st;
}

enum status
session_get_state(struct siblings *si, struct state_in *in)
{
	struct session *s;
	uint32_t number;
	enum status st;
	void *known;

	if (state_get_object(in, &session_state, &known, &number))
		return E_MALFORMED;
	s = session_alloc(si);
	if (s == NULL)
		return E_NOMEM;
	st = state_get(in, &session_state, s);
	if (st == OK && !is_sane(s))
		st = E_MALFORMED;
	if (st == OK) {
		join_shard(s);
		st = get_parts(s, in);
	}
	if (st == OK)
		state_made(in, number, &session_state, s);
	else
		session_destroy(s);
	return st;
}

void
session_put_name(struct state_out *o, const struct session *s)
{
	/* It was written with its shard. */
	if (state_put_object(o, s))
		o->bad = true;
}

enum status
session_get_name(struct session **out, struct state_in *in)
{
	uint32_t number;
	void *s;

	*out = NULL;
	if (!state_get_object(in, &session_state, &s, &number))
		return E_MALFORMED;
	*out = s;
	return state_in_status(in);
}

enum status
session_input_again(struct session *s, struct session_input *in)
{
	if (in->is_extra && !fds_take(FDS_EXTRA)) {
		in->is_extra = false;
		return E_LIMIT;
	}
	list_append(&s->inputs.list, &in->node);
	return OK;
}
