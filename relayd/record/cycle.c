/* SPDX-License-Identifier: MIT */
#include "relayd/record/cycle.h"

#include <assert.h>
#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/record/beacons.h"
#include "relayd/record/session.h"
#include "relayd/record/stream_window.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "store/chunk.h"
#include "relayd/record/trace.h"
#include "relayd/stats/stats.h"
#include "store/session_dir.h"
#include "store/store.h"

/* Files and folders deleted per cycle: about 2 ms on a local disk. */
#define DELETE_SLICE 100
/* How long cycle_last() may delete: with the reading before it, the daemon
 * stops within a second. */
#define LAST_DELETE_NS (250 * NS_PER_MS)
/* The same for cycle_settle(): the rest is deleted after the restart. */
#define SETTLE_DELETE_NS (20 * NS_PER_MS)
/* When to retry writing records that wait for a local reader's lock. */
#define LOCK_RETRY_NS (10 * NS_PER_MS)
/* How much later than its packet's bytes a record may come while memory is
 * short: tracers send both within milliseconds. */
#define RECORD_WAIT_NS (1 * NS_PER_S)
/* How often to check memory that is short. */
#define RELIEF_NS (20 * NS_PER_MS)
/* When to retry writing metadata that waits for space on the disk. */
#define PENDING_RETRY_NS (100 * NS_PER_MS)

void
cycle_commit(struct shard *sh)
{
	const bool is_own_slice = sh->slice.end == UINT64_MAX;
	struct session *s;
	struct stream *t;
	uint64_t began;

	assert(shard_is_mine(sh));
	if (list_empty(&sh->work.dirty) || sh->slice.has_waited)
		return;
	began = clock_now_ns();
	if (is_own_slice)
		shard_begin_slice(sh);
	while (!list_empty(&sh->work.dirty)) {
		t = list_first(&sh->work.dirty, struct stream, dirty_node);
		s = t->session;
		stream_commit(t);
		(void)session_reap(s);
		if (shard_is_late(sh)) {
			sh->slice.has_waited = store_syncs_packets(sh->store);
			break;
		}
	}
	if (is_own_slice)
		shard_end_slice(sh);
	histogram_add(&sh->stats->commits, clock_now_ns() - began);
}

bool
cycle_delete_some(struct shard *sh)
{
	const bool has_traces = trace_free_some(sh);
	const bool has_families = chunk_free_some(sh->store);
	unsigned budget = DELETE_SLICE;
	struct chunk *c;

	assert(shard_is_mine(sh));
	while (budget > 0 && !list_empty(&sh->work.doomed)) {
		c = list_first(&sh->work.doomed, struct chunk, doomed_node);
		if (chunk_delete_step(c, &budget)) {
			log_info(CHUNK_FMT " deleted", CHUNK_ARGS(c));
			siblings_finish_chunk(c);
		} else {
			/* Small chunks do not wait for a large one. */
			list_del(&c->doomed_node);
			list_append(&sh->work.doomed, &c->doomed_node);
		}
	}
	return has_traces || has_families || !list_empty(&sh->work.doomed);
}

static uint64_t
end_overdue(struct shard *sh, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	struct session *s, *tmp;

	list_each_safe (s, tmp, &sh->work.ending, struct session, ending_node) {
		/* The worker closes a connection that stops there. */
		if (session_is_receiving(s))
			session_linger(s);
		if (s->linger_until_ns > now_ns) {
			next = clock_earlier(next, s->linger_until_ns);
			continue;
		}
		if (s->linger_until_ns != 0) {
			log_peer(LOG_WARN,
			    "%s gave up waiting for the bytes of announced "
			    "packets",
			    s->tag);
			s->report.why = WHY_waited;
		}
		s->linger_until_ns = 0;
		if (!session_finish(s))
			return now_ns;
	}
	return next;
}

/* Give up gaps whose time is over. Returns when to check again. Packets after a
 * gap that is given up are written at once, and the next gap may follow them.
 */
static uint64_t
end_gaps(struct shard *sh, uint64_t now_ns)
{
	uint64_t next, before;
	struct stream *t, *tmp;

	do {
		next = UINT64_MAX;
		before = sh->figures.gaps;
		list_each_safe (t, tmp, &sh->work.gapped, struct stream,
		    intake.gapped_node) {
			next = clock_earlier(next, intake_check_gap(t, now_ns));
			if (shard_step_is_late(sh))
				return now_ns;
		}
		cycle_commit(sh);
		if (shard_is_late(sh))
			return now_ns;
	} while (sh->figures.gaps != before);
	return next;
}

static struct session *
largest_session(const struct shard *sh)
{
	struct session *s, *found = NULL;

	list_each (s, &sh->sessions, struct session, shard_node) {
		if (found == NULL || s->waiting.bytes > found->waiting.bytes)
			found = s;
	}
	return found;
}

/*
 * If packets use more memory than they may, the session that holds most gives
 * up packets without records: those that have waited long, or, at twice the
 * limit, all. A session that holds no more than its fair share loses nothing.
 * Returns when to check again.
 */
static uint64_t
free_memory(struct shard *sh, uint64_t now_ns)
{
	const struct account *memory = sh->config.memory;
	const uint64_t since = account_is_exhausted(memory)
				   ? now_ns
				   : now_ns - RECORD_WAIT_NS;
	const uint64_t before = sh->figures.packets_dropped;
	struct session *s;
	uint64_t bytes;

	if (!account_is_short(memory))
		return UINT64_MAX;
	if (now_ns < sh->work.relief_ns)
		return sh->work.relief_ns;
	sh->work.relief_ns = now_ns + RELIEF_NS;
	s = largest_session(sh);
	if (s == NULL)
		return sh->work.relief_ns;
	bytes = session_give_up(s, since);
	if (bytes > 0 && log_ratelimit(&sh->logs.last_relief, NS_PER_S))
		log_warn("%s %" PRIu64 " packets (%" PRIu64
			 " bytes of memory) are dropped: memory is short, and "
			 "their indexes have not arrived",
		    s->tag, sh->figures.packets_dropped - before, bytes);
	cycle_commit(sh);
	return sh->work.relief_ns;
}

/* Retry writing metadata that waits for space. If there is none for one stream,
 * the others are tried later. Returns when. */
static uint64_t
retry_pending(struct shard *sh, uint64_t now_ns)
{
	struct stream *t;

	if (now_ns < sh->work.pending_ns && !list_empty(&sh->work.pending))
		return sh->work.pending_ns;
	while (!list_empty(&sh->work.pending)) {
		t = list_first(
		    &sh->work.pending, struct stream, writer.pending_node);
		if (!stream_retry_metadata(t)) {
			sh->work.pending_ns = now_ns + PENDING_RETRY_NS;
			return sh->work.pending_ns;
		}
		if (shard_step_is_late(sh))
			return now_ns;
	}
	return UINT64_MAX;
}

uint64_t
cycle_tick(struct shard *sh, uint64_t now_ns)
{
	struct stream *t, *tmp;
	uint64_t next, gaps;

	assert(shard_is_mine(sh));
	shard_begin_slice(sh);
	list_each_safe (
	    t, tmp, &sh->work.locked, struct stream, writer.locked_node)
		writer_retry_records(t);
	gaps = end_gaps(sh, now_ns);
	next = end_overdue(sh, now_ns);
	next = clock_earlier(next, session_end_parked(sh, now_ns));
	next = clock_earlier(next, retry_pending(sh, now_ns));
	next = clock_earlier(next, stream_window_tick(sh, now_ns));
	next = clock_earlier(next, free_memory(sh, now_ns));
	next = clock_earlier(next, beacons_tick(sh, now_ns));
	shard_end_slice(sh);
	if (!list_empty(&sh->work.dirty))
		return now_ns;
	if (!list_empty(&sh->work.locked))
		next = clock_earlier(next, now_ns + LOCK_RETRY_NS);
	return clock_earlier(next, gaps);
}

void
cycle_settle(struct shard *sh)
{
	const uint64_t until = clock_now_ns() + SETTLE_DELETE_NS;
	const struct shard_slice slice = sh->slice;
	struct session *s;
	struct siblings *si;
	struct stream *t;

	assert(shard_is_mine(sh));
	shard_end_slices(sh);
	shard_begin_cycle(sh);
	while (!list_empty(&sh->work.dirty))
		cycle_commit(sh);
	list_each (s, &sh->sessions, struct session, shard_node)
		list_each (t, &s->streams, struct stream, session_node)
			writer_settle(t);
	list_each (si, &sh->siblings, struct siblings, node)
		siblings_settle(si);
	while (clock_now_ns() < until && cycle_delete_some(sh))
		;
	sh->slice = slice;
}

static void
delete_in_time(struct shard *sh)
{
	const uint64_t until = clock_now_ns() + LAST_DELETE_NS;
	struct chunk *c;

	while (cycle_delete_some(sh) && clock_now_ns() < until)
		;
	while (!list_empty(&sh->work.doomed)) {
		c = list_first(&sh->work.doomed, struct chunk, doomed_node);
		log_warn(CHUNK_FMT
		    " is not fully deleted: the relay is stopping",
		    CHUNK_ARGS(c));
		siblings_finish_chunk(c);
	}
}

void
cycle_last(struct shard *sh)
{
	struct session *s, *tmp;

	if (sh == NULL)
		return;
	assert(shard_is_mine(sh));
	shard_end_slices(sh);
	list_each_safe (s, tmp, &sh->sessions, struct session, shard_node)
		session_destroy(s);
	while (trace_free_some(sh))
		;
	delete_in_time(sh);
}
