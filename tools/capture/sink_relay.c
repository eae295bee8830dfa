/* SPDX-License-Identifier: MIT */
/* A session of a relay, by tools/client. */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/capture/console.h"
#include "tools/capture/options.h"
#include "tools/capture/sink.h"
#include "tools/client/client.h"
#include "tools/client/retry.h"

/* The folder of the trace below the session, as LTTng has ust and kernel. */
#define TRACE_PATH "network"
/* The interval of checks, while a relay hangs or is gone, whether to go on
 * waiting. */
#define WAIT_MS 50
/* The longest time without progress while the session is opened. */
#define RELAY_TIMEOUT_MS 10000
/* CTF packets that the client has taken and the relay has not confirmed: those
 * that wait, and those whose index is not answered. */
#define UNCONFIRMED_MAX (CLIENT_PACKETS + CLIENT_OUTSTANDING)

struct stream_state {
	unsigned number;  /* of the client */
	uint64_t seq;	  /* continues in the next session */
	uint64_t last_ns; /* of what was sent */
	uint64_t lost;	  /* packets of the network, with connections */
};

/* A CTF packet, as sink_count() needs it. */
struct unconfirmed {
	unsigned stream;
	uint32_t packets, n, used;
};

struct sink_relay {
	struct sink sink;		       /* first */
	const struct capture_options *options; /* borrowed */
	struct client_watch watch;
	struct client *client; /* NULL: there is no connection */
	struct stream_state *streams;
	/* In the order in which they were given to the client, which is that of
	 * the answers. */
	struct unconfirmed ring[UNCONFIRMED_MAX];
	uint64_t put, confirmed; /* of this connection */
	struct retry retry;
	uint64_t try_at; /* clock_now_ns(): connect again */
	bool was_open, is_ending;
};

static struct sink_relay *
relay_of(struct sink *sink)
{
	return (struct sink_relay *)sink;
}

/* Count what the relay has confirmed. */
static void
count_confirmed(struct sink_relay *r)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < r->sink.config.n_streams; i++)
		n += client_answered(r->client, r->streams[i].number).packets;
	for (; r->confirmed < n; r->confirmed++) {
		const struct unconfirmed *u =
		    &r->ring[r->confirmed % UNCONFIRMED_MAX];

		sink_count(&r->sink, u->packets, u->n, u->used);
	}
}

/* What the relay has not confirmed is lost, even if it arrived. */
static void
lose_connection(struct sink_relay *r)
{
	for (; r->confirmed < r->put; r->confirmed++) {
		const struct unconfirmed *u =
		    &r->ring[r->confirmed % UNCONFIRMED_MAX];

		r->streams[u->stream].lost += u->packets;
	}
	client_destroy(r->client); /* this releases the batches */
	r->client = NULL;
	r->put = r->confirmed = 0;
	r->try_at = clock_now_ns() + retry_pause(&r->retry);
}

static bool
tries_again(const struct sink_relay *r, enum status st)
{
	return r->options->retry && !r->is_ending &&
	       retry_may_help(st, r->was_open);
}

/* E_BUSY: not now; there may be no connection, then. */
static enum status
check_client(struct sink_relay *r, enum status st)
{
	const char *why = client_error(r->client);
	char text[SINK_ERROR_MAX];

	count_confirmed(r);
	if (st == OK || st == E_BUSY)
		return st;
	if (why[0] == '\0')
		why = status_text(st);
	if (!tries_again(r, st))
		return sink_fail(
		    &r->sink, st, "%s: %s", r->options->relay, why);
	if (r->retry.pause_ns == 0) { /* once */
		snprintf(text, sizeof(text), "%s: %s; trying again",
		    r->options->relay, why);
		console_error(text);
	}
	lose_connection(r);
	return E_BUSY;
}

static enum status
announce(struct sink_relay *r, const struct buf *metadata)
{
	unsigned metadata_number;
	enum status st = OK;

	for (unsigned i = 0; i < r->sink.config.n_streams && st == OK; i++) {
		char name[32];

		snprintf(name, sizeof(name), "stream_%u", i);
		st = client_add_stream(
		    r->client, TRACE_PATH, name, &r->streams[i].number);
	}
	if (st == OK)
		st = client_add_stream(
		    r->client, TRACE_PATH, "metadata", &metadata_number);
	if (st == OK)
		st = client_metadata(r->client, metadata_number,
		    buf_data(metadata), buf_len(metadata));
	return st == OK ? client_streams_sent(r->client) : st;
}

static void
session_is_open(struct sink_relay *r)
{
	char text[SINK_ERROR_MAX];

	if (r->was_open || r->retry.pause_ns != 0) {
		snprintf(text, sizeof(text), "%s: connected, to %s",
		    r->options->relay, client_path(r->client));
		console_error(text);
	}
	r->was_open = true;
	retry_reset(&r->retry);
	client_set_waits(r->client, false);
}

/* E_BUSY: it is tried again. */
static enum status
open_session(struct sink_relay *r)
{
	const struct client_config config = {
		.url = r->options->url,
		.waits = true,
		.session_name = r->options->session,
		.hostname = r->sink.config.trace.hostname,
		.live_timer_us = r->options->live
				     ? (uint32_t)(r->options->flush_ns / 1000)
				     : 0,
		.timeout_ms = RELAY_TIMEOUT_MS,
		.watch = &r->watch,
		.udp = r->options->udp,
		.resend = r->options->udp,
	};
	struct buf metadata = { 0 };
	enum status st = ctf_metadata(&metadata, &r->sink.config.trace);

	if (st == OK)
		st = client_create(&r->client, &config);
	if (st != OK)
		(void)sink_fail(&r->sink, st, "%s", status_text(st));
	if (st == OK)
		st = check_client(r, client_open(r->client));
	if (st == OK)
		st = check_client(r, announce(r, &metadata));
	if (st == OK)
		session_is_open(r);
	buf_free(&metadata);
	return st;
}

/* Let the client work for TIMEOUT_MS, or connect again when it is time. */
static enum status
go_on(struct sink_relay *r, int timeout_ms)
{
	if (r->client != NULL)
		return check_client(r, client_work(r->client, timeout_ms));
	if (clock_now_ns() >= r->try_at)
		return open_session(r);
	if (timeout_ms > 0)
		(void)poll(NULL, 0, timeout_ms);
	return E_BUSY;
}

/* The client has no space, or there is none: wait, as long as the sink may. */
static enum status
wait_for_space(struct sink_relay *r)
{
	const struct sink_config *c = &r->sink.config;
	enum status st;

	if (!c->may_wait(c->arg))
		return sink_fail(&r->sink, E_IO,
		    "%s: the relay accepts no more data; the rest was not sent",
		    r->options->relay);
	st = go_on(r, WAIT_MS);
	return st == E_BUSY ? OK : st;
}

static void
release_batch(void *batch)
{
	batch_done(batch);
}

/* E_BUSY: the client did not take it. */
static enum status
offer(struct sink_relay *r, unsigned stream, struct batch *b)
{
	struct stream_state *s = &r->streams[stream];
	const struct ctf_packet ctf = sink_header(
	    &r->sink, stream, b, s->seq, s->lost);
	const struct client_packet packet = {
		.data = b->mem,
		.size = b->used,
		.index = { .packet_size = ctf.packet_size * 8,
		    .content_size = ctf.content_size * 8,
		    .timestamp_begin = ctf.timestamp_begin,
		    .timestamp_end = ctf.timestamp_end,
		    .events_discarded = ctf.events_discarded,
		    .ctf_stream = CTF_STREAM_CLASS,
		    .ctf_instance = ctf.instance,
		    .packet_seq_num = ctf.packet_seq_num },
		.done = release_batch,
		.arg = b,
	};
	const struct unconfirmed u = { stream, b->packets, b->n, b->used };
	enum status st;

	if (r->client == NULL)
		return E_BUSY;
	st = check_client(r, client_packet(r->client, s->number, &packet));
	if (st != OK)
		return st;
	assert(r->put - r->confirmed < UNCONFIRMED_MAX);
	r->ring[r->put++ % UNCONFIRMED_MAX] = u;
	s->seq++;
	s->last_ns = ctf.timestamp_end;
	return OK;
}

static enum status
put_packet(struct sink *sink, unsigned stream, struct batch *b)
{
	struct sink_relay *r = relay_of(sink);
	enum status st;

	while ((st = offer(r, stream, b)) == E_BUSY) {
		st = wait_for_space(r);
		if (st != OK)
			break;
	}
	if (st != OK)
		batch_done(b);
	return st;
}

/* A beacon that cannot be sent now is dropped: others will follow. */
static enum status
put_beacon(struct sink *sink, unsigned stream, uint64_t ns)
{
	struct sink_relay *r = relay_of(sink);
	struct stream_state *s = &r->streams[stream];
	enum status st;

	if (!r->options->live || ns <= s->last_ns || r->client == NULL)
		return OK;
	st = check_client(
	    r, client_beacon(r->client, s->number, ns, CTF_STREAM_CLASS));
	if (st == OK)
		s->last_ns = ns;
	return st == E_BUSY ? OK : st;
}

static unsigned
pollfds(struct sink *sink, struct pollfd out[SINK_POLLFDS], uint64_t *at_ns)
{
	struct sink_relay *r = relay_of(sink);

	*at_ns = r->try_at;
	return r->client == NULL ? 0 : client_pollfds(r->client, out, at_ns);
}

static enum status
work(struct sink *sink)
{
	const enum status st = go_on(relay_of(sink), 0);

	return st == E_BUSY ? OK : st;
}

static enum status
finish(struct sink *sink)
{
	struct sink_relay *r = relay_of(sink);
	enum status st;

	r->is_ending = true;
	if (r->client == NULL)
		return sink_fail(sink, E_IO,
		    "%s: there is no connection to the relay",
		    r->options->relay);
	while ((st = check_client(r, client_finish(r->client))) == E_BUSY) {
		st = wait_for_space(r);
		if (st != OK)
			return st;
	}
	return st;
}

static void
destroy(struct sink *sink)
{
	struct sink_relay *r = relay_of(sink);

	client_destroy(r->client); /* this also releases packets that wait */
	free(r->streams);
}

static const struct sink_ops ops = {
	.packet = put_packet,
	.beacon = put_beacon,
	.pollfds = pollfds,
	.work = work,
	.finish = finish,
	.destroy = destroy,
};

enum status
sink_relay_create(struct sink **out, const struct sink_config *config,
    const struct capture_options *options, char why[SINK_ERROR_MAX])
{
	struct sink_relay *r = sink_new(sizeof(*r), &ops, config, why);
	enum status st = E_NOMEM;

	if (r == NULL)
		return st;
	r->options = options;
	r->watch = (struct client_watch){ .goes_on = config->may_wait,
		.arg = config->arg };
	r->streams = calloc(config->n_streams, sizeof(*r->streams));
	if (r->streams != NULL)
		st = open_session(r);
	return sink_opened(out, &r->sink, st == E_BUSY ? OK : st, why);
}
