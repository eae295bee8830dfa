/* SPDX-License-Identifier: MIT */
/* A session of a relay or a topic, or a trace in a directory: tools/sink. */
#include "config.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "tools/capture/console.h"
#include "tools/capture/options.h"
#include "tools/capture/sink.h"
#include "tools/client/retry.h"
#include "tools/sink/sink.h"

/* The folder of the trace below the session, as LTTng has ust and kernel. */
#define TRACE_PATH "network"
#define NAME_MAX_LEN 64
/* The interval of checks, while a relay hangs or is gone, whether to go on
 * waiting. */
#define WAIT_MS 50
/* CTF packets that the target has taken and not confirmed. A relay's client
 * has no more: those that wait, and those whose index is not answered. */
#define UNCONFIRMED_MAX (CLIENT_PACKETS + CLIENT_OUTSTANDING)

struct stream_state {
	bool is_added;
	unsigned number;  /* of the output */
	uint64_t seq;	  /* continues in the next output */
	uint64_t last_ns; /* of what was sent */
	uint64_t lost;	  /* packets of the network, with connections */
};

/* A CTF packet, as sink_count() needs it. */
struct unconfirmed {
	unsigned stream;
	uint32_t packets, n, used;
};

struct sink_ctf {
	struct sink sink;		       /* first */
	const struct capture_options *options; /* borrowed */
	struct send_sink *target;
	struct send_output *out; /* NULL: there is none now */
	struct buf metadata;
	struct stream_state *streams;
	/* In the order in which they were given to the output, which is that of
	 * the answers. */
	struct unconfirmed ring[UNCONFIRMED_MAX];
	uint64_t put, confirmed; /* of this output */
	struct retry retry;
	uint64_t try_at; /* clock_now_ns(): connect again */
	bool was_open, is_ending;
	/* Directories. */
	struct rotation rotation;
	char name[NAME_MAX_LEN]; /* of the current one */
	unsigned n_dirs;
};

static struct sink_ctf *
ctf_of(struct sink *sink)
{
	return (struct sink_ctf *)sink;
}

static bool
is_dir(const struct sink_ctf *c)
{
	return c->options->target.target == SEND_DIR;
}

/* Count what the target has confirmed. */
static void
count_confirmed(struct sink_ctf *c)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < c->sink.config.n_streams; i++)
		if (c->streams[i].is_added)
			n += c->out->ops->answered(c->out, c->streams[i].number)
				 .packets;
	for (; c->confirmed < n; c->confirmed++) {
		const struct unconfirmed *u =
		    &c->ring[c->confirmed % UNCONFIRMED_MAX];

		sink_count(&c->sink, u->packets, u->n, u->used);
	}
}

/* What is not confirmed is lost, even if it arrived. */
static void
close_output(struct sink_ctf *c)
{
	for (; c->confirmed < c->put; c->confirmed++) {
		const struct unconfirmed *u =
		    &c->ring[c->confirmed % UNCONFIRMED_MAX];

		c->streams[u->stream].lost += u->packets;
	}
	if (c->out != NULL)
		c->out->ops->destroy(c->out); /* this releases the batches */
	c->out = NULL;
	c->put = c->confirmed = 0;
	for (unsigned i = 0; i < c->sink.config.n_streams; i++)
		c->streams[i].is_added = false;
}

static bool
tries_again(const struct sink_ctf *c, enum status st)
{
	return c->options->retry && !c->is_ending &&
	       retry_may_help(st, c->was_open);
}

/* ST and WHY are of a call. E_BUSY: not now; there may be no output, then. */
static enum status
check(struct sink_ctf *c, enum status st, const char *why)
{
	const bool is_relay = c->options->target.target == SEND_RELAY;
	char text[SINK_ERROR_MAX];

	if (st == OK || st == E_BUSY)
		return st;
	snprintf(text, sizeof(text), "%s%s%s",
	    is_relay ? c->options->relay : "", is_relay ? ": " : "",
	    why[0] != '\0' ? why : status_text(st));
	if (!tries_again(c, st))
		return sink_fail(&c->sink, st, "%s", text);
	if (c->retry.pause_ns == 0) { /* once */
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    "; trying again");
		console_error(text);
	}
	close_output(c);
	c->try_at = clock_now_ns() + retry_pause(&c->retry);
	return E_BUSY;
}

/* The same for a call of the output. */
static enum status
check_output(struct sink_ctf *c, enum status st)
{
	count_confirmed(c);
	return check(c, st, c->out->ops->error(c->out));
}

static enum status
add_stream(struct sink_ctf *c, const char *name, unsigned *number)
{
	send_position position;

	return c->out->ops->add_stream(
	    c->out, is_dir(c) ? "" : TRACE_PATH, name, number, &position);
}

static enum status
add_packets_stream(struct sink_ctf *c, unsigned i)
{
	struct stream_state *s = &c->streams[i];
	char name[32];
	enum status st = OK;

	snprintf(name, sizeof(name), "stream_%u", i);
	if (!s->is_added)
		st = add_stream(c, name, &s->number);
	s->is_added |= st == OK;
	return st;
}

/* In a directory, a stream begins with its first packet. */
static enum status
announce(struct sink_ctf *c)
{
	const struct send_output_ops *ops = c->out->ops;
	unsigned number;
	enum status st = OK;

	for (unsigned i = 0; i < c->sink.config.n_streams && st == OK; i++)
		if (!is_dir(c))
			st = add_packets_stream(c, i);
	if (st == OK)
		st = add_stream(c, "metadata", &number);
	if (st == OK)
		st = ops->metadata(c->out, number, buf_data(&c->metadata),
		    buf_len(&c->metadata));
	return st == OK ? ops->streams_sent(c->out) : st;
}

static void
output_is_open(struct sink_ctf *c)
{
	char text[SINK_ERROR_MAX];

	if (!is_dir(c) && (c->was_open || c->retry.pause_ns != 0)) {
		snprintf(text, sizeof(text), "%s: connected, to %s",
		    c->options->relay, c->out->ops->path(c->out));
		console_error(text);
	}
	c->was_open = true;
	retry_reset(&c->retry);
	if (c->out->ops->set_waits != NULL)
		c->out->ops->set_waits(c->out, false);
}

/* E_BUSY: it is tried again. */
static enum status
open_output(struct sink_ctf *c)
{
	const struct capture_options *o = c->options;
	const struct send_output_config config = {
		.session = { .hostname = c->sink.config.trace.hostname,
		    .name = is_dir(c) ? c->name : o->session,
		    .live_timer_us = o->live ? (uint32_t)(o->flush_ns / 1000)
					     : 0 },
		.goes_on = c->sink.config.may_wait,
		.arg = c->sink.config.arg,
	};
	char why[SEND_ERROR_MAX];
	enum status st = c->target->ops->open(c->target, &config, &c->out, why);

	if (st != OK)
		return check(c, st, why);
	st = check_output(c, announce(c));
	if (st == OK)
		output_is_open(c);
	return st;
}

/* Let the output work for TIMEOUT_MS, or connect again when it is time. */
static enum status
go_on(struct sink_ctf *c, int timeout_ms)
{
	if (c->out != NULL)
		return check_output(c, c->out->ops->work(c->out, timeout_ms));
	if (clock_now_ns() >= c->try_at)
		return open_output(c);
	if (timeout_ms > 0)
		(void)poll(NULL, 0, timeout_ms);
	return E_BUSY;
}

/* The output has no space, or there is none: wait, as long as the sink may. */
static enum status
wait_for_space(struct sink_ctf *c)
{
	const struct sink_config *config = &c->sink.config;
	enum status st;

	if (!config->may_wait(config->arg))
		return sink_fail(&c->sink, E_IO,
		    "%s: the %s accepts no more data; the rest was not sent",
		    c->options->relay,
		    c->options->target.target == SEND_RELAY ? "relay"
							    : "topic");
	st = go_on(c, WAIT_MS);
	return st == E_BUSY ? OK : st;
}

static void
release_batch(void *batch)
{
	batch_done(batch);
}

/* E_BUSY: the output did not take it. */
static enum status
offer(struct sink_ctf *c, unsigned stream, struct batch *b)
{
	struct stream_state *s = &c->streams[stream];
	const struct ctf_packet ctf = sink_header(
	    &c->sink, stream, b, s->seq, s->lost);
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

	if (c->out == NULL || c->put - c->confirmed == UNCONFIRMED_MAX)
		return E_BUSY;
	st = add_packets_stream(c, stream);
	if (st == OK)
		st = c->out->ops->packet(c->out, s->number, &packet);
	if (st != OK)
		return check_output(c, st);
	c->ring[c->put++ % UNCONFIRMED_MAX] = u;
	s->seq++;
	s->last_ns = ctf.timestamp_end;
	count_confirmed(c);
	return OK;
}

static enum status
put_packet(struct sink *sink, unsigned stream, struct batch *b)
{
	struct sink_ctf *c = ctf_of(sink);
	enum status st;

	while ((st = offer(c, stream, b)) == E_BUSY) {
		st = wait_for_space(c);
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
	struct sink_ctf *c = ctf_of(sink);
	struct stream_state *s = &c->streams[stream];
	enum status st;

	if (!c->options->live || ns <= s->last_ns || c->out == NULL)
		return OK;
	st = check_output(
	    c, c->out->ops->beacon(c->out, s->number, ns, CTF_STREAM_CLASS));
	if (st == OK)
		s->last_ns = ns;
	return st == E_BUSY ? OK : st;
}

static unsigned
pollfds(struct sink *sink, struct pollfd out[SINK_POLLFDS], uint64_t *at_ns)
{
	struct sink_ctf *c = ctf_of(sink);

	*at_ns = c->out == NULL ? c->try_at : UINT64_MAX;
	if (c->out == NULL || c->out->ops->pollfds == NULL)
		return 0;
	return c->out->ops->pollfds(c->out, out, at_ns);
}

static enum status
work(struct sink *sink)
{
	const enum status st = go_on(ctf_of(sink), 0);

	return st == E_BUSY ? OK : st;
}

static enum status
finish(struct sink *sink)
{
	struct sink_ctf *c = ctf_of(sink);
	enum status st;

	c->is_ending = true;
	if (c->out == NULL)
		return sink_fail(sink, E_IO,
		    "%s: there is no connection to the relay",
		    c->options->relay);
	while ((st = check_output(c, c->out->ops->finish(c->out))) == E_BUSY) {
		st = wait_for_space(c);
		if (st != OK)
			return st;
	}
	return st;
}

static void
destroy(struct sink *sink)
{
	struct sink_ctf *c = ctf_of(sink);

	if (c->streams != NULL)
		close_output(c); /* this also releases packets that wait */
	if (c->target != NULL)
		c->target->ops->destroy(c->target);
	buf_free(&c->metadata);
	free(c->streams);
}

/* Name a directory like a trace chunk of LTTng: by its time, with the zone, and
 * a number. */
static enum status
name_dir(struct sink_ctf *c)
{
	char stamp[NAME_MAX_LEN / 2];
	const time_t now = (time_t)clock_wall_s();
	struct tm tm;

	if (localtime_r(&now, &tm) == NULL ||
	    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S%z", &tm) == 0)
		return sink_fail(
		    &c->sink, E_IO, "cannot determine the local time");
	snprintf(c->name, sizeof(c->name), "%s-%u", stamp, c->n_dirs++);
	return OK;
}

static enum status
begin_dir(struct sink_ctf *c)
{
	const bool has_parts = c->rotation.max_bytes > 0 ||
			       c->rotation.max_ns > 0;
	enum status st;

	close_output(c);
	st = has_parts ? name_dir(c) : OK;
	rotation_begin(&c->rotation, clock_now_ns());
	return st == OK ? open_output(c) : st;
}

static enum status
put_into_dir(struct sink *sink, unsigned stream, struct batch *b)
{
	struct sink_ctf *c = ctf_of(sink);
	const uint32_t size = b->used;
	enum status st = OK;

	if (c->out == NULL || rotation_is_full(&c->rotation, size) ||
	    rotation_is_over(&c->rotation, clock_now_ns()))
		st = begin_dir(c);
	if (st != OK) {
		batch_done(b);
		return st;
	}
	st = put_packet(sink, stream, b);
	c->rotation.bytes += size;
	return st;
}

static enum status
finish_dir(struct sink *sink)
{
	struct sink_ctf *c = ctf_of(sink);
	/* A capture without packets is a trace without streams. */
	const enum status st = c->out == NULL ? begin_dir(c) : OK;

	return st == OK ? finish(sink) : st;
}

static const struct sink_ops session_ops = {
	.packet = put_packet,
	.beacon = put_beacon,
	.pollfds = pollfds,
	.work = work,
	.finish = finish,
	.destroy = destroy,
};

static const struct sink_ops dir_ops = {
	.packet = put_into_dir,
	.finish = finish_dir,
	.destroy = destroy,
};

static enum status
open_target(struct sink_ctf *c)
{
	char why[SEND_ERROR_MAX];
	enum status st;

	c->streams = calloc(c->sink.config.n_streams, sizeof(*c->streams));
	if (c->streams == NULL)
		return E_NOMEM;
	st = ctf_metadata(&c->metadata, &c->sink.config.trace);
	if (st != OK)
		return st;
	st = send_sink_open(&c->target, &c->options->target, why);
	if (st != OK)
		return sink_fail(&c->sink, st, "%s", why);
	return is_dir(c) ? OK : open_output(c);
}

enum status
sink_ctf_create(struct sink **out, const struct sink_config *config,
    const struct capture_options *options, char why[SINK_ERROR_MAX])
{
	const bool is_dir = options->target.target == SEND_DIR;
	struct sink_ctf *c = sink_new(
	    sizeof(*c), is_dir ? &dir_ops : &session_ops, config, why);
	enum status st;

	if (c == NULL)
		return E_NOMEM;
	c->options = options;
	c->rotation = options->rotation;
	st = open_target(c);
	return sink_opened(out, &c->sink, st == E_BUSY ? OK : st, why);
}
