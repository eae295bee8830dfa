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
#define LAST_LITTLE (64 * 1024)

/* Commit before the end of the turn after so many bytes of packets: more would
 * not fit in the second-level cache. */
#define COMMIT_BYTES (1024 * 1024)

static void
sweep_later(struct desk *d)
{
	const struct timeval second = { .tv_sec = 1 };

	if (d->n_busy > 0 && !evtimer_pending(d->sweep, NULL))
		evtimer_add(d->sweep, &second);
}

/* Close stalled connections. */
static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	const uint64_t now_ns = clock_now_ns();
	struct desk *d = arg;
	struct list *n, *tmp;
	struct conn *c;
	uint64_t limit;

	loop_is_busy(d->loop);
	list_for_each (n, tmp, &d->conns) {
		c = list_entry(n, struct conn, node);
		limit = c->is_closing ? CONN_LAST_WORDS_NS : d->stall_ns;
		if (c->busy_since_ns == 0 || now_ns - c->busy_since_ns < limit)
			continue;
		if (!c->is_closing) {
			stats_refused(conn_port(c), REFUSAL_stalled);
			log_peer(LOG_WARN,
			    "peer=%s closed: %s %" PRIu64 " s ago", c->peer,
			    buf_len(&c->out) > 0
				? "it stopped reading its replies"
				: "it stopped in the middle of a message",
			    (now_ns - c->busy_since_ns) / NS_PER_S);
		}
		conn_destroy(c, !c->is_closing);
	}
	sweep_later(d);
}

enum status
desk_init(struct desk *d, struct loop *loop, struct shard *shard,
    const struct control_config *config, struct account *memory,
    uint64_t stall_ns)
{
	*d = (struct desk){
		.loop = loop,
		.shard = shard,
		.control_config = config,
		.memory = memory,
		.stall_ns = stall_ns != 0 ? stall_ns : CONN_STALL_NS,
	};
	buf_spares_init(&d->spares, DESK_SPARES, DESK_SPARE_BYTES);
	list_init(&d->conns);
	list_init(&d->unsent);
	list_init(&d->held);
	d->sweep = evtimer_new(loop->base, on_sweep, d);
	d->scratch = malloc(CONN_SCRATCH);
	return d->sweep == NULL || d->scratch == NULL ? E_NOMEM : OK;
}

void
desk_destroy(struct desk *d)
{
	d->is_stopping = true;
	while (!list_empty(&d->conns))
		conn_destroy(list_first(&d->conns, struct conn, node), false);
	buf_spares_free(&d->spares);
	if (d->sweep != NULL)
		event_free(d->sweep);
	d->sweep = NULL;
	free(d->scratch);
	d->scratch = NULL;
}

static void
send_all(struct desk *d)
{
	while (!list_empty(&d->unsent))
		(void)conn_send_now(
		    list_first(&d->unsent, struct conn, unsent_node));
}

static void
resume_held(struct desk *d)
{
	struct list *n, *tmp;
	unsigned n_new = 0;
	struct conn *c;

	list_for_each (n, tmp, &d->held) {
		c = list_entry(n, struct conn, held_node);
		if (c->kind == CONN_DATA && ingest_is_held(c->ingest))
			continue;
		/* Other requests for a session wait for a later turn. */
		if (c->kind == CONN_CONTROL && c->control->session == NULL &&
		    ++n_new > SHARD_SESSIONS_A_CYCLE)
			continue;
		list_del(&c->held_node);
		event_add(&c->read_event, NULL);
		event_active(&c->read_event, EV_READ, 0);
	}
}

static void
close_orphans(struct desk *d)
{
	struct ingest *in;

	while ((in = ingest_orphan(d->shard)) != NULL)
		conn_destroy(in->conn, false);
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
	    "peer=%s closed in the middle of a message: packets use more than "
	    "twice --max-memory",
	    c->peer);
	conn_destroy(c, true);
}

static const struct account_owners incomplete = { incomplete_bytes,
	close_incomplete };

/* Replies leave before the packets are written, so that peers can prepare the
 * next ones. DATA_PENDING reports what is written (doc/compat.md). */
static void
commit(struct desk *d)
{
	send_all(d);
	cycle_commit(d->shard);
	d->unwritten = 0;
}

void
desk_commit_early(struct desk *d)
{
	if (d->unwritten >= COMMIT_BYTES)
		commit(d);
}

void
desk_turn_end(struct desk *d)
{
	/* A commit that waits for the disk must not delay replies. */
	if (d->shard != NULL && store_syncs_packets(d->shard->store))
		send_all(d);
	if (d->shard != NULL) {
		commit(d);
		close_orphans(d);
	}
	send_all(d);
	sweep_later(d);
	if (d->shard == NULL)
		return;
	/* A worker whose connections hold less than its part closes none. */
	account_close_largest(d->memory, &d->conns, &incomplete, NULL,
	    d->memory->soft / d->shard->config.n_workers);
	resume_held(d);
}

/* Read the connections of this kind: those with few bytes in their sockets, or
 * the others. */
static void
read_last(struct desk *d, enum conn_kind kind, bool little)
{
	struct list *n, *tmp;
	struct conn *c;

	list_for_each (n, tmp, &d->conns) {
		c = list_entry(n, struct conn, node);
		if (shard_is_late(d->shard))
			return;
		if (c->kind == kind && !c->is_closing &&
		    little == (conn_in_socket(c) <= LAST_LITTLE))
			conn_read_last(c);
	}
}

void
desk_read_all(struct desk *d)
{
	struct list *n, *tmp;

	shard_begin_slice_until(d->shard, clock_now_ns() + LAST_READ_NS);
	for (int little = 1; little >= 0; little--) {
		read_last(d, CONN_DATA, little);
		read_last(d, CONN_CONTROL, little);
	}
	d->shard->slice.takes_all = true;
	shard_begin_slice_until(d->shard, 0);
	list_for_each (n, tmp, &d->conns)
		conn_end_request(list_entry(n, struct conn, node));
	shard_end_slices(d->shard);
	cycle_commit(d->shard);
	list_for_each (n, tmp, &d->conns) {
		conn_take_kept(list_entry(n, struct conn, node));
		cycle_commit(d->shard);
	}
}
