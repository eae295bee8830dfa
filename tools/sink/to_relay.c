/* SPDX-License-Identifier: MIT */
/* The sink "a relay", over TCP or UDP: tools/client. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sink/sink.h"

struct to_relay {
	struct send_sink sink; /* first */
	const struct send_sink_config *config;
};

struct relay_output {
	struct send_output output; /* first */
	struct send_output_config config;
	struct client *client;
	struct client_watch watch;
	struct badnet badnet;
	struct client_channel channel; /* leads to badnet */
	struct client_identity identity;
};

static struct relay_output *
relay_of(struct send_output *o)
{
	return (struct relay_output *)o;
}

static struct client *
client_of(const struct send_output *o)
{
	return ((const struct relay_output *)o)->client;
}

static enum status
add_stream(struct send_output *o, const char *path, const char *channel,
    unsigned *number, send_position *position)
{
	struct client *c = client_of(o);
	struct relay_written w = { 0 };
	enum status st = client_add_stream(c, path, channel, number);

	if (st == OK)
		st = client_written(c, *number, &w);
	if (strcmp(channel, "metadata") == 0)
		*position = w.bytes;
	else
		*position = w.packets > 0 ? w.packet_seq_num + 1 : 0;
	return st;
}

static enum status
streams_sent(struct send_output *o)
{
	return client_streams_sent(client_of(o));
}

static enum status
metadata(struct send_output *o, unsigned number, const void *data, size_t size)
{
	return client_metadata(client_of(o), number, data, size);
}

static enum status
packet(
    struct send_output *o, unsigned number, const struct client_packet *packet)
{
	return client_packet(client_of(o), number, packet);
}

static enum status
beacon(struct send_output *o, unsigned number, uint64_t timestamp,
    uint64_t ctf_stream)
{
	return client_beacon(client_of(o), number, timestamp, ctf_stream);
}

static enum status
close_stream(struct send_output *o, unsigned number)
{
	return client_close_stream(client_of(o), number);
}

static enum status
work(struct send_output *o, int timeout_ms)
{
	return client_work(client_of(o), timeout_ms);
}

static void
set_waits(struct send_output *o, bool waits)
{
	client_set_waits(client_of(o), waits);
}

static unsigned
pollfds(struct send_output *o, struct pollfd out[SEND_POLLFDS], uint64_t *at_ns)
{
	return client_pollfds(client_of(o), out, at_ns);
}

static enum status
stored(struct send_output *o, bool *is_all)
{
	bool is_pending;
	enum status st = client_pending(client_of(o), &is_pending);

	*is_all = st == OK && !is_pending;
	return st;
}

static enum status
flush(struct send_output *o)
{
	return client_flush(client_of(o));
}

static void
cut(struct send_output *o)
{
	client_cut(client_of(o));
}

static enum status
finish(struct send_output *o)
{
	return client_finish(client_of(o));
}

static const char *
error(const struct send_output *o)
{
	return client_error(client_of(o));
}

static const char *
path(const struct send_output *o)
{
	return client_path(client_of(o));
}

static void
stats(const struct send_output *o, struct send_stats *out)
{
	*out = (struct send_stats){ .sent = *client_stats(client_of(o)),
		.bytes_out = client_bytes_out(client_of(o)),
		.channel = ((const struct relay_output *)o)->badnet.stats };
}

static struct client_answered
answered(const struct send_output *o, unsigned number)
{
	return client_answered(client_of(o), number);
}

static void
destroy(struct send_output *o)
{
	struct relay_output *r = relay_of(o);

	client_destroy(r->client);
	badnet_free(&r->badnet);
	free(r);
}

static const struct send_output_ops output_ops = {
	.keeps_packets = true,
	.add_stream = add_stream,
	.streams_sent = streams_sent,
	.metadata = metadata,
	.packet = packet,
	.beacon = beacon,
	.close_stream = close_stream,
	.work = work,
	.set_waits = set_waits,
	.pollfds = pollfds,
	.stored = stored,
	.flush = flush,
	.cut = cut,
	.finish = finish,
	.error = error,
	.path = path,
	.stats = stats,
	.answered = answered,
	.destroy = destroy,
};

static struct client_config
client_config_of(
    const struct relay_output *r, const struct send_sink_config *sink)
{
	const struct send_session *s = &r->config.session;
	/* The relay names the session's directory by its time. */
	const bool has_identity = (s->creation_time != 0 || s->name_has_time) &&
				  !relay_uuid_is_nil(&s->identity);

	return (struct client_config){
		.url = sink->url,
		.waits = true,
		.session_name = s->name,
		.hostname = s->hostname,
		.name_has_time = s->name_has_time,
		.live_timer_us = s->live_timer_us,
		.timeout_ms = sink->timeout_ms,
		.outstanding = sink->outstanding,
		.rate = sink->rate,
		.identity = has_identity && !sink->udp ? &r->identity : NULL,
		.udp = sink->udp,
		.resend = sink->resend,
		.fragment_size = sink->fragment,
		.gap_timeout_us = sink->gap_timeout_us,
		.watch = &r->watch,
		.channel = badnet_is_bad(&sink->badnet) ? &r->channel : NULL,
	};
}

static enum status
open_output(struct send_sink *sink, const struct send_output_config *config,
    struct send_output **out, char why[SEND_ERROR_MAX])
{
	const struct send_sink_config *s = ((struct to_relay *)sink)->config;
	struct relay_output *r = calloc(1, sizeof(*r));
	struct client_config c;
	enum status st = E_NOMEM;

	why[0] = '\0';
	if (r != NULL) {
		r->output.ops = &output_ops;
		r->config = *config;
		r->watch = (struct client_watch){ .goes_on = config->goes_on,
			.arg = config->arg };
		badnet_init(&r->badnet, &s->badnet);
		r->channel = badnet_channel(&r->badnet);
		r->identity = (struct client_identity){
			.uuid = config->session.identity,
			.creation_time = config->session.creation_time,
		};
		memcpy(&r->identity.key, &config->session.identity,
		    sizeof(r->identity.key));
		c = client_config_of(r, s);
		st = client_create(&r->client, &c);
	}
	if (st != OK) {
		(void)snprintf(why, SEND_ERROR_MAX, "%s", status_text(st));
		free(r);
		return st;
	}
	st = client_open(r->client);
	if (st == OK && c.identity != NULL && !client_resumes(r->client))
		(void)snprintf(why, SEND_ERROR_MAX,
		    "the relay cannot resume sessions, as only "
		    "tracepulse-relayd does");
	if (st == OK) {
		*out = &r->output;
		return OK;
	}
	(void)snprintf(why, SEND_ERROR_MAX, "%s", client_error(r->client));
	destroy(&r->output);
	return st;
}

static void
destroy_sink(struct send_sink *sink)
{
	free(sink);
}

static const struct send_sink_ops sink_ops = {
	.open = open_output,
	.destroy = destroy_sink,
};

enum status
to_relay_create(struct send_sink **out, const struct send_sink_config *config,
    char why[SEND_ERROR_MAX])
{
	struct to_relay *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		(void)snprintf(why, SEND_ERROR_MAX, "%s", status_text(E_NOMEM));
		return E_NOMEM;
	}
	*t = (struct to_relay){ .sink.ops = &sink_ops, .config = config };
	*out = &t->sink;
	return OK;
}
