/* SPDX-License-Identifier: MIT */
/* What sessions and streams with UDP hand to the next process. */
#include <stdlib.h>

#include "common/state.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "relayd/record/udp.h"

static const struct state_member counts_members[] = {
	STATE_CODE(struct udp_counts, n),
};
static STATE_TABLE(udp_counts_state, struct udp_counts, counts_members);

static void
put_counts(struct state_out *o, const struct udp_counts *c)
{
	state_put(o, &udp_counts_state, c);
	state_put_u32(o, UDP_COUNTS);
	for (size_t i = 0; i < UDP_COUNTS; i++)
		state_put_u64(o, c->n[i]);
}

static enum status
get_counts(struct udp_counts *c, struct state_in *in)
{
	enum status st = state_get(in, &udp_counts_state, c);
	uint32_t n;

	if (st != OK)
		return st;
	n = state_get_u32(in, UDP_COUNTS);
	for (uint32_t i = 0; i < n; i++)
		c->n[i] = state_get_u64(in);
	return state_in_status(in);
}

void
udp_shard_put_state(struct state_out *o, const struct shard *sh)
{
	put_counts(o, &sh->udp);
}

enum status
udp_shard_get_state(struct shard *sh, struct state_in *in)
{
	return get_counts(&sh->udp, in);
}

static const struct state_member session_members[] = {
	STATE_BYTES(struct session_udp, token),
	STATE_STRUCT(struct session_udp, config, arrivals_config_state),
	STATE_KEEP(struct session_udp, window_bytes),
	STATE_KEEP(struct session_udp, max_packet),
	/* Streams note themselves at their next commit. */
	STATE_DROP(struct session_udp, users),
	STATE_DROP(struct session_udp, powers),
	STATE_DROP(struct session_udp, partial_bytes), /* counted again */
	STATE_CODE(struct session_udp, counts),
	STATE_DROP(struct session_udp, last_log),
};
static STATE_TABLE(session_udp_state, struct session_udp, session_members);

void
udp_session_put_state(struct state_out *o, const struct session_udp *u)
{
	state_put_bool(o, u != NULL);
	if (u == NULL)
		return;
	state_put(o, &session_udp_state, u);
	put_counts(o, &u->counts);
}

/* Today's limits hold, except for the size of packets: some may have begun. */
static bool
is_sane(const struct session_udp *u, const struct shard *sh)
{
	return u->config.fragment_size >= UDP_FRAGMENT_MIN &&
	       u->config.fragment_size <= UDP_FRAGMENT_MAX &&
	       u->config.window <= UDP_WINDOW_MAX &&
	       u->config.timeout_ns >= UDP_GAP_MIN_NS &&
	       u->config.timeout_ns <= UDP_GAP_MAX_NS &&
	       u->window_bytes <= UDP_WINDOW_BYTES &&
	       u->max_packet <= udp_packet_max(u->window_bytes) &&
	       sh->config.udp_port != 0;
}

enum status
udp_session_get_state(
    struct session_udp **out, struct state_in *in, const struct shard *sh)
{
	struct session_udp *u;
	enum status st;

	*out = NULL;
	if (!state_get_bool(in))
		return state_in_status(in);
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return E_NOMEM;
	for (unsigned i = 0; i < UDP_POWERS; i++)
		list_init(&u->users[i]);
	st = state_get(in, &session_udp_state, u);
	if (st == OK)
		st = get_counts(&u->counts, in);
	if (st == OK && !is_sane(u, sh))
		st = E_MALFORMED;
	if (st != OK)
		free(u);
	else
		*out = u;
	return st;
}

static const struct state_member stream_members[] = {
	STATE_CODE(struct stream_udp, arrivals),
	STATE_DROP(struct stream_udp, stream),
	STATE_DROP(struct stream_udp, user_node), /* see session_udp->users */
	STATE_DROP(struct stream_udp, power),
	STATE_DROP(struct stream_udp, due_ns), /* found again */
	STATE_DROP(struct stream_udp, due_next),
	STATE_KEEP(struct stream_udp, gaps),
	STATE_KEEP(struct stream_udp, lost),
	STATE_STRUCT(struct stream_udp, last, reorder_loss_state),
};
static STATE_TABLE(stream_udp_state, struct stream_udp, stream_members);

void
udp_stream_put_state(struct state_out *o, const struct stream *t)
{
	const struct stream_udp *u = t->intake.udp;

	state_put(o, &stream_udp_state, u);
	arrivals_put_state(o, &u->arrivals);
}

enum status
udp_stream_get_state(struct stream *t, struct state_in *in)
{
	struct session_udp *su = t->session->udp;
	struct stream_udp *u = t->intake.udp;
	enum status st = state_get(in, &stream_udp_state, u);

	if (st == OK)
		st = arrivals_get_state(&u->arrivals, in, su->max_packet);
	su->partial_bytes += u->arrivals.partial_bytes;
	return st;
}
