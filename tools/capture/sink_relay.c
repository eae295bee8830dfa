/* SPDX-License-Identifier: MIT */
/* A session of a relay, by tools/client. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/capture/sink.h"
#include "tools/client/client.h"

/* The folder of the trace below the session, as LTTng has ust and kernel. */
#define TRACE_PATH "network"
/* The interval of checks, while a relay hangs, whether to go on waiting. */
#define WAIT_MS 50
/* The longest time without progress while the session is opened. */
#define RELAY_TIMEOUT_MS 10000

struct stream_state {
	unsigned number; /* of the client */
	uint64_t seq;
	uint64_t last_ns; /* of what was sent */
};

struct sink_relay {
	struct sink sink; /* first */
	struct client *client;
	const char *name;
	bool is_live;
	struct stream_state *streams;
};

static struct sink_relay *
relay_of(struct sink *sink)
{
	return (struct sink_relay *)sink;
}

static enum status
check_client(struct sink_relay *r, enum status st)
{
	if (st == OK || st == E_BUSY)
		return st;
	return sink_fail(&r->sink, st, "%s: %s", r->name,
	    client_error(r->client)[0] != '\0' ? client_error(r->client)
					       : status_text(st));
}

/* The client has no space: let it work, as long as the sink may wait. */
static enum status
wait_for_space(struct sink_relay *r)
{
	const struct sink_config *c = &r->sink.config;

	if (!c->may_wait(c->arg))
		return sink_fail(&r->sink, E_IO,
		    "%s: the relay accepts no more data; the rest was not sent",
		    r->name);
	return check_client(r, client_work(r->client, WAIT_MS));
}

static void
release_batch(void *batch)
{
	batch_done(batch);
}

static enum status
put_packet(struct sink *sink, unsigned stream, struct batch *b)
{
	struct sink_relay *r = relay_of(sink);
	struct stream_state *s = &r->streams[stream];
	const struct ctf_packet ctf = sink_header(sink, stream, b, s->seq++);
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
	const uint64_t end_ns = b->end_ns;
	enum status st;

	sink_count(sink, b);
	while ((st = check_client(r,
		    client_packet(r->client, s->number, &packet))) == E_BUSY) {
		st = wait_for_space(r);
		if (st != OK)
			break;
	}
	if (st != OK)
		batch_done(b); /* the client did not take it */
	else
		s->last_ns = end_ns;
	return st;
}

/* A beacon that cannot be sent now is dropped: others will follow. */
static enum status
put_beacon(struct sink *sink, unsigned stream, uint64_t ns)
{
	struct sink_relay *r = relay_of(sink);
	struct stream_state *s = &r->streams[stream];
	enum status st;

	if (!r->is_live || ns <= s->last_ns)
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
	return client_pollfds(relay_of(sink)->client, out, at_ns);
}

static enum status
work(struct sink *sink)
{
	struct sink_relay *r = relay_of(sink);
	const enum status st = check_client(r, client_work(r->client, 0));

	return st == E_BUSY ? OK : st;
}

static enum status
finish(struct sink *sink)
{
	struct sink_relay *r = relay_of(sink);
	enum status st;

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

static enum status
open_session(struct sink_relay *r, const struct sink_relay_config *relay)
{
	const struct client_config config = {
		.url = *relay->url,
		.waits = true,
		.session_name = relay->session_name,
		.hostname = r->sink.config.trace.hostname,
		.live_timer_us = relay->live_timer_us,
		.timeout_ms = RELAY_TIMEOUT_MS,
		.udp = relay->udp,
		.resend = relay->udp,
	};
	struct buf metadata = { 0 };
	enum status st = ctf_metadata(&metadata, &r->sink.config.trace);

	r->streams = calloc(r->sink.config.n_streams, sizeof(*r->streams));
	if (r->streams == NULL)
		st = E_NOMEM;
	if (st == OK)
		st = client_create(&r->client, &config);
	if (st == OK) {
		st = check_client(r, client_open(r->client));
		if (st == OK)
			st = check_client(r, announce(r, &metadata));
		client_set_waits(r->client, false);
	}
	buf_free(&metadata);
	return st;
}

enum status
sink_relay_create(struct sink **out, const struct sink_config *config,
    const struct sink_relay_config *relay, char why[SINK_ERROR_MAX])
{
	struct sink_relay *r = sink_new(sizeof(*r), &ops, config, why);

	if (r == NULL)
		return E_NOMEM;
	r->name = relay->name;
	r->is_live = relay->live_timer_us > 0;
	return sink_opened(out, &r->sink, open_session(r, relay), why);
}
