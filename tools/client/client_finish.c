/* SPDX-License-Identifier: MIT */
/* From an open session to a closed one (streaming 8.1). */
#include "common/clock.h"
#include "tools/client/client_internal.h"

#define ASK_DOUBLINGS 7

static void
ask_id(struct client *c, enum relay_cmd cmd, uint64_t id)
{
	relay_request_id(dialog_ask(&c->dialog, cmd, 0), cmd, id);
}

static void
ask_seq(struct client *c, enum relay_cmd cmd, const struct client_stream *s)
{
	relay_request_stream_seq(
	    dialog_ask(&c->dialog, cmd, 0), cmd, s->handle, s->next_seq - 1);
}

static void
ask_stream(struct client *c, const struct client_stream *s)
{
	if (s->is_metadata)
		ask_id(c, RELAY_CMD_quiescent_control, s->handle);
	else
		ask_seq(c, RELAY_CMD_data_pending, s);
}

enum status
client_pending(struct client *c, bool *is_pending)
{
	struct client_round *r = &c->round;
	const unsigned end = c->n_streams + 1;

	for (; r->next <= end; r->next++) {
		if (c->failed != OK || !client_may_ask(c))
			return c->failed != OK ? c->failed : E_BUSY;
		if (r->next == 0)
			ask_id(c, RELAY_CMD_begin_data_pending, c->session_id);
		else if (r->next == end)
			ask_id(c, RELAY_CMD_end_data_pending, c->session_id);
		else
			ask_stream(c, &c->streams[r->next - 1]);
	}
	if (c->failed != OK || !r->is_answered)
		return c->failed != OK ? c->failed : E_BUSY;
	*is_pending = r->is_pending;
	*r = (struct client_round){ 0 };
	return OK;
}

static enum status
flush(struct client *c)
{
	return client_is_idle(c) ? OK : E_BUSY;
}

static enum status
wait_for_disk(struct client *c)
{
	struct client_end *e = &c->end;
	const uint64_t now = clock_now_ns();
	bool is_pending;
	enum status st;

	if (now < e->again_ns)
		return E_BUSY;
	e->again_ns = 0;
	if (e->began_ns == 0)
		e->began_ns = now;
	st = client_pending(c, &is_pending);
	if (st != OK || !is_pending)
		return st;
	if (now - e->began_ns > c->config.timeout_ms * NS_PER_MS)
		return client_fail(c, E_IO, "the relay has not written all");
	e->again_ns = now + (c->config.ask_ms * NS_PER_MS << e->rounds);
	e->rounds += e->rounds < ASK_DOUBLINGS;
	return E_BUSY;
}

/* Ask for losses: what was lost at the end is known only now. */
static enum status
ask_losses(struct client *c)
{
	if (!c->config.udp)
		return OK;
	if (!c->end.has_asked)
		client_udp_ask(c);
	c->end.has_asked = true;
	return flush(c);
}

/* Close metadata streams first, as peers do. */
static enum status
close_streams(struct client *c)
{
	const unsigned n = c->n_streams;
	unsigned *i = &c->end.closing;

	for (; *i < 2 * n; ++*i) {
		const struct client_stream *s = &c->streams[*i % n];

		if (s->is_metadata != (*i < n))
			continue;
		if (!client_may_ask(c))
			return E_BUSY;
		ask_seq(c, RELAY_CMD_close_stream, s);
	}
	return OK;
}

static enum status
close_chunk(struct client *c)
{
	if (!client_may_ask(c))
		return E_BUSY;
	relay_request_close_chunk(
	    dialog_ask(&c->dialog, RELAY_CMD_close_trace_chunk, 0), 0,
	    clock_wall_s(), (struct relay_optional){ 0 });
	return OK;
}

/* Each step begins when the step before is over. */
static enum status (*const steps[])(struct client *c) = {
	flush,
	wait_for_disk,
	ask_losses,
	close_streams,
	close_chunk,
	flush,
};

enum status
client_finish(struct client *c)
{
	enum status st = c->failed;

	while (st == OK && c->end.step < ARRAY_LEN(steps)) {
		st = steps[c->end.step](c);
		if (st == OK)
			c->end.step++;
		else if (st == E_BUSY)
			st = client_wait(c);
	}
	return st;
}
