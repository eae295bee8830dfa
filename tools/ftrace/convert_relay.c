/* SPDX-License-Identifier: MIT */
/* A session of a relay, which records it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/client/client.h"
#include "tools/ftrace/convert.h"
#include "tools/ftrace/ctf_stream.h"

struct convert_relay {
	struct convert_sink sink; /* first */
	struct client *client;
	char folder[DAT_NAME_MAX];
	const struct ctf_trace *trace;
	unsigned stream; /* of the CPU whose packets are under way */
	bool has_stream;
};

static struct convert_relay *
relay_of(struct convert_sink *sink)
{
	return (struct convert_relay *)sink;
}

static enum status
relay_check(struct convert_relay *r, enum status st)
{
	if (st == OK)
		return OK;
	return convert_fail(&r->sink, st, "%s",
	    r->client != NULL && client_error(r->client)[0] != '\0'
		? client_error(r->client)
		: status_text(st));
}

static enum status
relay_begin(
    struct convert_sink *sink, const char *name, const struct ctf_trace *trace)
{
	struct convert_relay *r = relay_of(sink);
	unsigned metadata;
	enum status st;

	(void)snprintf(r->folder, sizeof(r->folder), "%s", name);
	r->trace = trace;
	st = client_add_stream(r->client, r->folder, "metadata", &metadata);
	if (st == OK)
		st = client_metadata(r->client, metadata,
		    buf_data(&trace->metadata), buf_len(&trace->metadata));
	return relay_check(r, st);
}

static enum status
relay_begin_stream(struct convert_relay *r, unsigned cpu)
{
	char name[32];
	enum status st;

	(void)snprintf(name, sizeof(name), "cpu_%u", cpu);
	st = client_add_stream(r->client, r->folder, name, &r->stream);
	if (st == OK)
		st = client_streams_sent(r->client);
	r->has_stream = st == OK;
	return relay_check(r, st);
}

static enum status
relay_packet(struct convert_sink *sink, const struct ctf_packet *p)
{
	struct convert_relay *r = relay_of(sink);
	enum status st = r->has_stream ? OK : relay_begin_stream(r, p->cpu);
	struct client_packet packet;

	if (st != OK)
		return st;
	st = ctf_client_packet(&packet, p);
	if (st != OK)
		return relay_check(r, st);
	st = client_packet(r->client, r->stream, &packet);
	if (st != OK)
		client_packet_done(&packet); /* it was not taken */
	return relay_check(r, st);
}

static enum status
relay_end_stream(struct convert_sink *sink)
{
	relay_of(sink)->has_stream = false;
	return OK;
}

static enum status
relay_finish(struct convert_sink *sink)
{
	struct convert_relay *r = relay_of(sink);

	return relay_check(r, client_finish(r->client));
}

static void
relay_destroy(struct convert_sink *sink)
{
	struct convert_relay *r = relay_of(sink);

	client_destroy(r->client);
	free(r);
}

static const struct convert_ops ops = {
	.begin = relay_begin,
	.packet = relay_packet,
	.end_stream = relay_end_stream,
	.finish = relay_finish,
	.destroy = relay_destroy,
};

struct convert_sink *
convert_relay_create(
    const struct convert_relay_config *config, char why[CONVERT_ERROR_MAX])
{
	const struct client_config client = {
		.url = *config->url,
		.waits = true,
		.session_name = config->session,
		.hostname = config->hostname,
	};
	struct convert_relay *r = calloc(1, sizeof(*r));
	enum status st;

	(void)snprintf(why, CONVERT_ERROR_MAX, "%s", status_text(E_NOMEM));
	if (r == NULL)
		return NULL;
	r->sink.ops = &ops;
	st = client_create(&r->client, &client);
	if (st == OK)
		st = client_open(r->client);
	if (st == OK)
		return &r->sink;
	(void)relay_check(r, st);
	memcpy(why, r->sink.error, CONVERT_ERROR_MAX);
	relay_destroy(&r->sink);
	return NULL;
}
