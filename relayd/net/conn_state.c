/* SPDX-License-Identifier: MIT */
/* A connection moves to the next process: its socket, what was read and not
 * used yet, replies that were not sent, and its endpoint. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/state.h"
#include "relayd/net/conn_internal.h"
#include "relayd/record/control.h"
#include "relayd/record/ingest.h"
#include "relayd/record/shard.h"
#include "relayd/stats/stats.h"

static const struct state_member host_members[] = {
	STATE_BYTES(struct peer_host, bytes),
};
static STATE_TABLE(host_state, struct peer_host, host_members);

static const struct state_member members[] = {
	STATE_DROP(struct conn, node),
	STATE_DROP(struct conn, unsent_node), /* by what OUT has */
	STATE_DROP(struct conn, held_node),   /* as it is held then */
	STATE_DROP(struct conn, set),
	STATE_CODE(struct conn, fd),
	STATE_DROP(struct conn, has_share), /* taken again, if there is one */
	STATE_MOST(struct conn, share, FDS_SHARES - 1),
	STATE_CODE(struct conn, kind),
	STATE_CODE(struct conn, control),
	STATE_CODE(struct conn, ingest),
	STATE_BUF(struct conn, in),
	STATE_BUF(struct conn, out),
	STATE_DROP(struct conn, charged), /* by its buffers */
	STATE_DROP(struct conn, read_event),
	STATE_DROP(struct conn, has_events),
	STATE_KEEP(struct conn, is_closing),
	STATE_KEEP(struct conn, is_unread),
	STATE_CODE(struct conn, failure),
	STATE_KEEP(struct conn, busy_since_ns),
	STATE_CODE(struct conn, gone), /* with the placement of its session */
	STATE_CODE(struct conn, peer),
	STATE_STRUCT(struct conn, host, host_state),
	STATE_TAIL(struct conn, write_event),
};
static STATE_TABLE(conn_state, struct conn, members);

static const struct state_member key_members[] = {
	STATE_MOST(struct placement_key, worker, UINT8_MAX),
	STATE_STRUCT(struct placement_key, host, host_state),
	STATE_KEEP(struct placement_key, has_peer_id),
	STATE_BYTES(struct placement_key, uuid),
	STATE_KEEP(struct placement_key, peer_session),
};
STATE_TABLE(placement_key_state, struct placement_key, key_members);

static void
put_conn(struct state_out *o, const struct conn *c)
{
	state_put_bool(o, c->kind == CONN_DATA);
	state_put_text(o, c->peer);
	state_put_fd(o, c->fd);
	state_put(o, &conn_state, c);
	state_put_bool(o, c->failure != OK);
	state_put_bool(o, c->gone != NULL);
	if (c->gone != NULL)
		state_put(o, &placement_key_state, &c->gone->key);
	state_put_bool(o, c->control != NULL || c->ingest != NULL);
	if (c->control != NULL)
		control_put_state(o, c->control);
	else if (c->ingest != NULL)
		ingest_put_state(o, c->ingest);
}

/* C has its socket, and nothing else. */
static enum status
read_contents(struct conn *c, struct conns *set, struct state_in *in)
{
	enum status st = state_get(in, &conn_state, c);
	bool has_endpoint;

	if (st == OK && state_get_bool(in))
		c->failure = E_PROTOCOL;
	if (st == OK && state_get_bool(in)) {
		st = message_create(&c->gone, MESSAGE_SESSION_GONE);
		if (st == OK)
			st = state_get(in, &placement_key_state, &c->gone->key);
		if (st == OK && set->shard == NULL)
			st = E_MALFORMED;
		if (st == OK)
			c->gone->key.worker = set->shard->config.worker;
	}
	has_endpoint = st == OK && state_get_bool(in);
	if (st == OK && has_endpoint && c->kind == CONN_CONTROL) {
		st = control_get_state(
		    &c->control, in, set->control_config, c->peer, set->shard);
		if (c->control != NULL)
			c->control->conn = c;
	} else if (st == OK && has_endpoint)
		st = set->shard == NULL ? E_MALFORMED
					: ingest_get_state(&c->ingest, in,
					      set->shard, c->peer, c);
	return st;
}

/* Let the events of C be served as if all had just happened. */
static enum status
wake(struct conn *c)
{
	if (buf_len(&c->out) > 0 && event_add(c->write_event, NULL) != 0)
		return E_NOMEM;
	if (buf_len(&c->in) > 0 || c->failure != OK)
		event_active(&c->read_event, EV_READ, 0);
	return OK;
}

static enum status
get_conn(struct conns *set, struct state_in *in, struct conn **out)
{
	const enum conn_kind kind = state_get_bool(in) ? CONN_DATA
						       : CONN_CONTROL;
	const char *peer = state_get_text(in);
	const int fd = state_get_fd(in);
	uint64_t busy_since_ns;
	struct conn *c;
	enum status st;

	*out = NULL;
	if (fd < 0 || peer == NULL)
		return E_MALFORMED;
	c = conn_alloc(fd, kind);
	if (c == NULL)
		return E_NOMEM;
	c->peer = strdup(peer);
	st = c->peer == NULL ? E_NOMEM : read_contents(c, set, in);
	busy_since_ns = c->busy_since_ns;
	c->busy_since_ns = 0;
	if (st == OK && !fds_take(c->share))
		st = E_LIMIT;
	if (st == OK)
		conn_set_share(c, c->share);
	if (st == OK)
		st = conn_join(c, set);
	if (st == OK) {
		conn_charge(c);
		conn_set_busy(c, busy_since_ns != 0);
		c->busy_since_ns = busy_since_ns;
		st = wake(c);
	}
	if (st != OK) {
		/* It was not counted. */
		free(c->gone);
		c->gone = NULL;
		conn_destroy(c, true);
		return st;
	}
	*out = c;
	return OK;
}

unsigned
conns_count(const struct conns *set)
{
	const struct conn *c;
	unsigned n = 0;

	list_each (c, &set->conns, struct conn, node)
		n++;
	return n;
}

/* One part for each, so that one that cannot be read harms no other. */
void
conns_put_state(struct state_out *o, const struct conns *set)
{
	const struct conn *c;
	size_t part;

	state_put_u32(o, conns_count(set));
	list_each (c, &set->conns, struct conn, node) {
		part = state_begin(o);
		put_conn(o, c);
		state_end(o, part);
	}
}

enum status
conns_get_state(struct conns *set, struct state_in *in,
    void (*came)(struct conn *c, void *arg), void *arg)
{
	const uint32_t n = state_get_u32(in, UINT32_MAX);
	struct reader rest;
	struct conn *c;
	enum status st;

	for (uint32_t i = 0; i < n && !in->r.bad; i++) {
		rest = state_part(in);
		st = state_in_status(in);
		if (st == OK)
			st = get_conn(set, in, &c);
		if (st != OK)
			log_warn("a connection is closed by the restart: %s",
			    status_text(st));
		else
			came(c, arg);
		state_part_end(in, &rest);
	}
	return state_in_status(in);
}
