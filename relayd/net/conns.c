/* SPDX-License-Identifier: MIT */
/* All connections of one thread. */
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/net/conn_internal.h"
#include "relayd/record/control.h"
#include "relayd/record/ingest.h"
#include "relayd/record/shard.h"
#include "relayd/record/cycle.h"
#include "relayd/stats/stats.h"
#include "store/store.h"

/* An ordered shutdown reads for at most this long. */
#define LAST_READ_NS (300 * NS_PER_MS)
/* Connections with so few bytes in their sockets are read first, so that a peer
 * that never stops sending does not use up the time. */
#define LAST_READ_SMALL (64 * 1024)

/* Commit before the end of the cycle after so many bytes of packets: more would
 * not fit in the second-level cache. */
#define COMMIT_BYTES (1024 * 1024)

static void
sweep_later(struct conns *set)
{
	const struct timeval second = { .tv_sec = 1 };

	if (set->n_busy > 0 && !evtimer_pending(set->sweep, NULL))
		evtimer_add(set->sweep, &second);
}

/* Close stalled connections. */
static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	const uint64_t now_ns = clock_now_ns();
	struct conns *set = arg;
	struct list *n, *tmp;
	struct conn *c;
	uint64_t limit;

	loop_mark_busy(set->loop);
	list_for_each (n, tmp, &set->conns) {
		c = list_entry(n, struct conn, node);
		limit = c->is_closing ? CONN_LAST_WORDS_NS : set->stall_ns;
		if (c->busy_since_ns == 0 || now_ns - c->busy_since_ns < limit)
			continue;
		if (!c->is_closing) {
			stats_refused(conn_port(c), REFUSAL_stalled);
			log_peer(LOG_WARN,
			    "peer=%s connection closed: %s %" PRIu64 " s ago",
			    c->peer,
			    buf_len(&c->out) > 0
				? "it stopped reading its replies"
				: "it stopped in the middle of a message",
			    (now_ns - c->busy_since_ns) / NS_PER_S);
		}
		conn_destroy(c, !c->is_closing);
	}
	sweep_later(set);
}

enum status
conns_init(struct conns *set, struct loop *loop, struct shard *shard,
    const struct control_config *config, struct account *memory,
    uint64_t stall_ns)
{
	*set = (struct conns){
		.loop = loop,
		.shard = shard,
		.control_config = config,
		.memory = memory,
		.stall_ns = stall_ns != 0 ? stall_ns : CONN_STALL_NS,
	};
	buf_spares_init(&set->spares, CONN_SPARES, CONN_SPARE_BYTES);
	list_init(&set->conns);
	list_init(&set->unsent);
	list_init(&set->held);
	set->sweep = evtimer_new(loop->base, on_sweep, set);
	set->scratch = malloc(CONN_SCRATCH);
	return set->sweep == NULL || set->scratch == NULL ? E_NOMEM : OK;
}

void
conns_destroy(struct conns *set)
{
	set->is_stopping = true;
	while (!list_empty(&set->conns))
		conn_destroy(list_first(&set->conns, struct conn, node), false);
	buf_spares_free(&set->spares);
	if (set->sweep != NULL)
		event_free(set->sweep);
	set->sweep = NULL;
	free(set->scratch);
	set->scratch = NULL;
}

static void
send_all(struct conns *set)
{
	while (!list_empty(&set->unsent))
		(void)conn_send_now(
		    list_first(&set->unsent, struct conn, unsent_node));
}

static void
resume_held(struct conns *set)
{
	struct list *n, *tmp;
	unsigned n_new = 0;
	struct conn *c;

	list_for_each (n, tmp, &set->held) {
		c = list_entry(n, struct conn, held_node);
		if (c->kind == CONN_DATA && ingest_is_held(c->ingest))
			continue;
		/* Other requests for a session wait for a later cycle. */
		if (c->kind == CONN_CONTROL && c->control->session == NULL &&
		    ++n_new > SHARD_SESSIONS_A_CYCLE)
			continue;
		list_del(&c->held_node);
		event_add(&c->read_event, NULL);
		event_active(&c->read_event, EV_READ, 0);
	}
}

static void
close_orphans(struct conns *set)
{
	struct control *c;
	struct ingest *in;

	while ((in = ingest_orphan(set->shard)) != NULL)
		conn_destroy(in->conn, false);
	while ((c = control_replaced(set->shard)) != NULL)
		conn_destroy(c->conn, false);
}

static uint64_t
incomplete_bytes(const struct list *n)
{
	const struct conn *c = list_entry(n, struct conn, node);

	return c->busy_since_ns == 0 || c->is_closing ? 0 : conn_holds(c);
}

static void
close_incomplete(struct list *n)
{
	struct conn *c = list_entry(n, struct conn, node);

	log_peer(LOG_WARN,
	    "peer=%s connection closed in the middle of a message: packets use "
	    "more than twice --max-memory",
	    c->peer);
	conn_destroy(c, true);
}

static const struct account_owners incomplete = { incomplete_bytes,
	close_incomplete };

/* Replies leave before the packets are written, so that peers can prepare the
 * next ones. DATA_PENDING reports what is written (doc/compat.md). */
static void
commit(struct conns *set)
{
	send_all(set);
	cycle_commit(set->shard);
	set->unwritten = 0;
}

void
conns_commit_early(struct conns *set)
{
	if (set->unwritten >= COMMIT_BYTES)
		commit(set);
}

void
conns_end_cycle(struct conns *set)
{
	/* A commit that waits for the disk must not delay replies. */
	if (set->shard != NULL && store_syncs_packets(set->shard->store))
		send_all(set);
	if (set->shard != NULL) {
		commit(set);
		close_orphans(set);
	}
	send_all(set);
	sweep_later(set);
	if (set->shard == NULL)
		return;
	/* A worker whose connections hold less than its part closes none. */
	account_close_largest(set->memory, &set->conns, &incomplete, NULL,
	    set->memory->soft / set->shard->config.n_workers);
	resume_held(set);
}

/* Read the connections of this kind: those with few bytes in their sockets, or
 * the others. */
static void
read_rest(struct conns *set, enum conn_kind kind, bool is_small)
{
	struct list *n, *tmp;
	struct conn *c;

	list_for_each (n, tmp, &set->conns) {
		c = list_entry(n, struct conn, node);
		if (shard_is_late(set->shard))
			return;
		if (c->kind == kind && !c->is_closing &&
		    is_small == (conn_in_socket(c) <= LAST_READ_SMALL))
			conn_read_rest(c, true);
	}
}

static void
serve_kept(struct conns *set, enum conn_kind kind)
{
	struct list *n, *tmp;
	struct conn *c;

	list_for_each (n, tmp, &set->conns) {
		c = list_entry(n, struct conn, node);
		if (c->kind != kind)
			continue;
		conn_serve_kept(c);
		/* Requests end before the first commit. */
		if (kind == CONN_DATA)
			cycle_commit(set->shard);
	}
}

void
conns_read_all(struct conns *set)
{
	shard_begin_slice_until(set->shard, clock_now_ns() + LAST_READ_NS);
	for (int is_small = 1; is_small >= 0; is_small--) {
		read_rest(set, CONN_DATA, is_small);
		read_rest(set, CONN_CONTROL, is_small);
	}
	set->shard->slice.takes_all = true;
	shard_begin_slice_until(set->shard, 0);
	serve_kept(set, CONN_CONTROL);
	shard_end_slices(set->shard);
	cycle_commit(set->shard);
	serve_kept(set, CONN_DATA);
}
