/* SPDX-License-Identifier: MIT */
/* What a shard hands to the next process, except for its connections. */
#include <assert.h>

#include "common/idmap.h"
#include "common/log.h"
#include "common/state.h"
#include "relayd/record/old_root.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/udp.h"

static const struct state_member ids_members[] = {
	STATE_DROP(struct id_source, is_sequence),
	STATE_KEEP(struct id_source, next),
};
static STATE_TABLE(ids_state, struct id_source, ids_members);

static const struct state_member figures_members[] = {
	STATE_KEEP(struct shard_figures, gaps),
	STATE_KEEP(struct shard_figures, packets_lost),
	STATE_KEEP(struct shard_figures, packets_dropped),
	STATE_KEEP(struct shard_figures, sessions_created),
	STATE_KEEP(struct shard_figures, records_corrected),
	STATE_KEEP(struct shard_figures, packets_without_space),
};
static STATE_TABLE(figures_state, struct shard_figures, figures_members);

static const struct state_member slice_members[] = {
	STATE_DROP(struct shard_slice, is_limited), /* cycles begin again */
	STATE_DROP(struct shard_slice, cycle_began),
	STATE_DROP(struct shard_slice, end),
	STATE_DROP(struct shard_slice, n_sessions),
	STATE_DROP(struct shard_slice, n_steps),
	STATE_DROP(struct shard_slice, has_waited),
	STATE_DROP(struct shard_slice, takes_all),
};
static STATE_TABLE(slice_state, struct shard_slice, slice_members);

static const struct state_member work_members[] = {
	/* Sessions and streams add themselves. */
	STATE_DROP(struct shard_work, dirty),
	STATE_DROP(struct shard_work, locked), /* empty: cycle_settle() */
	STATE_CODE(struct shard_work, pending),
	STATE_CODE(struct shard_work, gapped),
	STATE_CODE(struct shard_work, ending),
	STATE_CODE(struct shard_work, doomed),
	STATE_DROP(struct shard_work, beacons),
	STATE_DROP(struct shard_work, orphans), /* they are closed */
	STATE_KEEP(struct shard_work, pending_ns),
	STATE_KEEP(struct shard_work, relief_ns),
	STATE_DROP(struct shard_work, replaced), /* they are closed */
	STATE_CODE(struct shard_work, parked),
};
static STATE_TABLE(work_state, struct shard_work, work_members);

static const struct state_member traces_members[] = {
	STATE_DROP(struct shard_traces, names_bytes), /* counted again */
	STATE_DROP(struct shard_traces, forgetting),  /* only to be freed */
	STATE_DROP(struct shard_traces, old),
};
static STATE_TABLE(traces_state, struct shard_traces, traces_members);

static const struct state_member logs_members[] = {
	STATE_KEEP(struct shard_logs, last_loss),
	STATE_KEEP(struct shard_logs, last_full),
	STATE_KEEP(struct shard_logs, last_relief),
	STATE_KEEP(struct shard_logs, last_udp),
};
static STATE_TABLE(logs_state, struct shard_logs, logs_members);

static const struct state_member shard_members[] = {
	STATE_DROP(struct shard, owner),
	STATE_DROP(struct shard, config), /* that of today's options */
	STATE_DROP(struct shard, store),  /* its worker moves it */
	STATE_DROP(struct shard, stats),
	STATE_STRUCT(struct shard, ids, ids_state),
	STATE_CODE(struct shard, streams),
	STATE_CODE(struct shard, sessions),
	STATE_CODE(struct shard, siblings),
	STATE_DROP(struct shard, n_windows), /* counted again */
	STATE_CODE(struct shard, old_roots),
	STATE_DROP(struct shard, is_stopping),
	STATE_DROP(struct shard, n_streams), /* counted again */
	STATE_DROP(struct shard, file_bytes),
	STATE_STRUCT(struct shard, work, work_state),
	STATE_STRUCT(struct shard, traces, traces_state),
	STATE_CODE(struct shard, udp),
	STATE_STRUCT(struct shard, figures, figures_state),
	STATE_STRUCT(struct shard, slice, slice_state),
	STATE_STRUCT(struct shard, logs, logs_state),
};
static STATE_TABLE(shard_state, struct shard, shard_members);

static void
put_siblings(struct state_out *o, const struct siblings *si)
{
	size_t part = state_begin(o);
	const struct session *s;

	siblings_put_state(o, si);
	state_end(o, part);
	list_each (s, &si->sessions, struct session, siblings_node) {
		state_put_bool(o, true);
		state_put_text(o, s->tag);
		part = state_begin(o);
		session_put_state(o, s);
		state_end(o, part);
	}
	state_put_bool(o, false);
	part = state_begin(o);
	stream_window_put_files(o, si);
	state_end(o, part);
}

void
shard_put_state(struct state_out *o, const struct shard *sh)
{
	const struct siblings *si;

	assert(shard_is_mine(sh));
	state_put(o, &shard_state, sh);
	state_put_u64(o, idmap_lasting_seed());
	udp_shard_put_state(o, sh);
	old_roots_put_state(o, sh);
	list_each (si, &sh->siblings, struct siblings, node) {
		state_put_bool(o, true);
		put_siblings(o, si);
	}
	state_put_bool(o, false);
}

/* A session, in a part of its own. SI is NULL if its chunks could not be
 * restored, for the reason WHY. */
static void
get_session(struct state_in *in, struct siblings *si, enum status why)
{
	const uint32_t mark = state_mark(in);
	const char *tag = state_get_text(in);
	struct reader rest = state_part(in);
	enum status st = si == NULL ? why : session_get_state(si, in);

	state_part_end(in, &rest);
	if (st == OK)
		return;
	state_unmake(in, mark);
	log_error("%s session closed: the relay that was here before cannot "
		  "be continued: %s%s",
	    tag == NULL ? "a" : tag, si == NULL ? "its trace chunks: " : "",
	    status_text(st));
}

static void
get_siblings(struct shard *sh, struct state_in *in)
{
	const uint32_t mark = state_mark(in);
	struct reader rest = state_part(in);
	struct siblings *si;
	enum status st = siblings_get_state(&si, in, sh);

	state_part_end(in, &rest);
	if (st != OK)
		state_unmake(in, mark);
	while (state_get_bool(in))
		get_session(in, si, st);
	rest = state_part(in);
	/* A file that is not read stays on the disk. */
	if (si != NULL && stream_window_get_files(si, in) != OK)
		log_warn("some files of a live session stay on the disk, "
			 "as they cannot be found in its window");
	state_part_end(in, &rest);
	if (si != NULL)
		siblings_are_read(si);
}

enum status
shard_get_state(struct shard *sh, struct state_in *in)
{
	enum status st = state_get(in, &shard_state, sh);

	assert(shard_is_mine(sh));
	if (st != OK)
		return st;
	idmap_set_lasting_seed(state_get_u64(in));
	st = udp_shard_get_state(sh, in);
	if (st == OK)
		st = old_roots_get_state(sh, in);
	while (st == OK && state_get_bool(in))
		get_siblings(sh, in);
	old_roots_are_read(sh);
	return st == OK ? state_in_status(in) : st;
}
