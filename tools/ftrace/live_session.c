/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/live_session.h"

#include <assert.h>
#include <event2/event.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/command_loop.h"

/* As LTTng has ust and kernel in a session's directory. */
#define FOLDER "kernel"
/* For a relay that answers, but does not write. */
#define RELAY_TIMEOUT_MS 10000
/* The client gets metadata in pieces of this size. */
#define METADATA_PIECE ((size_t)64 << 10)

uint64_t
live_item_memory(uint32_t size)
{
	return sizeof(struct item) + size;
}

static void
leave_queue(struct live *l, struct item *i)
{
	const uint64_t n = live_item_memory(i->packet.size);

	assert(l->bytes >= n && l->config->queued >= n);
	l->bytes -= n;
	l->config->queued -= n;
	list_del(&i->node);
}

/* Packets are acknowledged in the order in which they were sent. */
static void
note_answers(struct live *l)
{
	while (l->client != NULL && !list_empty(&l->sent)) {
		struct item *i = list_first(&l->sent, struct item, node);

		if (client_answered(l->client, i->cpu->number).packets ==
		    i->cpu->taken)
			return;
		i->cpu->taken++;
		l->taken_packets++;
		l->taken_events += i->n_events;
		list_del(&i->node);
		free(i);
	}
}

/* Drops what the relay has not acknowledged; IS_COUNTED: now, not at the end.
 */
static void
drop_sent(struct live *l, bool is_counted)
{
	note_answers(l);
	while (!list_empty(&l->sent)) {
		struct item *i = list_first(&l->sent, struct item, node);
		struct kernel_stream *s = i->cpu->ctf;

		if (is_counted) {
			s->counts.dropped += i->n_events;
			s->discarded += i->n_events;
			l->gone += i->n_events;
		}
		list_del(&i->node);
		free(i);
	}
}

void
live_session_drop(struct live *l)
{
	drop_sent(l, false);
	while (!list_empty(&l->queue)) {
		struct item *i = list_first(&l->queue, struct item, node);

		leave_queue(l, i);
		client_packet_done(&i->packet);
		free(i);
	}
}

static void
stop_events(struct live *l)
{
	for (unsigned i = 0; i < CLIENT_POLLFDS; i++)
		(void)event_del(l->sockets[i]);
	(void)event_del(l->timer);
}

static void
abandon(struct live *l, const char *why)
{
	log_error("peer=%s: no longer sending to the relay: %s", l->peer, why);
	l->has_failed = true;
	stop_events(l);
	live_session_drop(l);
	buf_free(&l->trace->metadata);
}

/* What the relay has not acknowledged is lost, and what waits stays: it goes to
 * a session that is opened after a pause. */
static void
leave_session(struct live *l, const char *why)
{
	if (l->retry.pause_ns == 0)
		log_error("peer=%s: relay %s: %s; trying again", l->peer,
		    l->config->url.host, why);
	stop_events(l);
	drop_sent(l, true);
	client_destroy(l->client);
	l->client = NULL;
	for (uint32_t i = 0; i < l->n_cpus; i++) {
		l->cpus[i].is_added = false;
		l->cpus[i].taken = 0;
	}
	l->n_added = 0;
	l->has_unannounced = l->is_metadata_added = false;
	l->metadata_sent = 0;
	l->try_ns = clock_now_ns() + retry_pause(&l->retry);
}

static void watch_sockets(struct live *l);

/* Returns true if the session continues, as after E_BUSY. */
static bool
continues(struct live *l, enum status st)
{
	const char *why = client_error(l->client);

	if (st == OK || st == E_BUSY)
		return true;
	why = *why != '\0' ? why : status_text(st);
	if (retry_may_help(st, l->was_open)) {
		leave_session(l, why);
		watch_sockets(l);
	} else {
		abandon(l, why);
	}
	return false;
}

/* Only at the end: before, a relay may be silent forever. A connection that is
 * tried does not count. */
static bool
is_silent(const struct live *l)
{
	const uint64_t moved_ns = l->client != NULL && client_is_open(l->client)
				      ? client_moved_ns(l->client)
				      : 0;
	const uint64_t from = moved_ns > l->end_ns ? moved_ns : l->end_ns;

	return l->has_ended &&
	       clock_now_ns() - from >= LIVE_SILENCE_MS * NS_PER_MS;
}

static bool
is_metadata_sent(const struct live *l)
{
	return l->is_metadata_added &&
	       l->metadata_sent == buf_len(&l->trace->metadata);
}

/* It stays in memory, for another session. */
static enum status
send_metadata(struct live *l)
{
	const struct buf *metadata = &l->trace->metadata;
	enum status st = OK;

	if (!l->is_metadata_added) {
		st = client_add_stream(
		    l->client, FOLDER, "metadata", &l->metadata_number);
		l->is_metadata_added = st == OK;
	}
	while (st == OK && !is_metadata_sent(l)) {
		const size_t left = buf_len(metadata) - l->metadata_sent,
			     n = left < METADATA_PIECE ? left : METADATA_PIECE;

		st = client_metadata(l->client, l->metadata_number,
		    buf_data(metadata) + l->metadata_sent, n);
		if (st == OK)
			l->metadata_sent += n;
	}
	return st;
}

static enum status
add_streams(struct live *l)
{
	enum status st = OK;
	char name[32];

	for (uint32_t i = 0; l->n_added < l->n_streams && st == OK; i++) {
		struct live_cpu *c = &l->cpus[i];

		if (c->ctf == NULL || c->is_added)
			continue;
		(void)snprintf(name, sizeof(name), "cpu_%" PRIu32, i);
		st = client_add_stream(l->client, FOLDER, name, &c->number);
		c->is_added = st == OK;
		l->n_added += st == OK;
		l->has_unannounced |= st == OK;
	}
	return st;
}

/* Metadata last, as session daemons send it: babeltrace2 2.0 gives up on
 * metadata that is announced without a stream. */
static enum status
announce(struct live *l)
{
	enum status st = add_streams(l);

	if (st == OK && !is_metadata_sent(l)) {
		st = send_metadata(l);
		l->has_unannounced = true;
	}
	if (st == OK && l->has_unannounced)
		st = client_streams_sent(l->client);
	if (st == OK && l->has_unannounced && !l->is_shown) {
		l->is_shown = true;
		log_notice(
		    "peer=%s: live; to watch it: babeltrace2 -i lttng-live "
		    "net://%s/host/%s/%s",
		    l->peer, l->config->url.host, l->host, l->name);
	}
	if (st == OK)
		l->has_unannounced = false;
	return st;
}

static enum status
send_packets(struct live *l)
{
	while (!list_empty(&l->queue)) {
		struct item *i = list_first(&l->queue, struct item, node);
		const enum status st = client_packet(
		    l->client, i->cpu->number, &i->packet);

		if (st != OK)
			return st;
		leave_queue(l, i);
		list_append(&l->sent, &i->node);
	}
	return OK;
}

/* Sends in order until the client is busy. */
static enum status
send_available(struct live *l)
{
	enum status st;

	if (!client_is_open(l->client))
		return E_BUSY;
	if (l->retry.pause_ns != 0)
		log_notice("peer=%s: connected to the relay", l->peer);
	retry_reset(&l->retry);
	l->was_open = true;
	if (!l->has_begun)
		return E_BUSY;
	st = announce(l);
	if (st == OK)
		st = send_packets(l);
	if (st == OK && l->has_ended) {
		st = client_finish(l->client);
		l->is_done = st == OK;
	}
	return st;
}

static void
watch_sockets(struct live *l)
{
	const uint64_t now = clock_now_ns();
	struct pollfd fds[CLIENT_POLLFDS];
	uint64_t at_ns = l->try_ns;
	const unsigned n = l->client == NULL
			       ? 0
			       : client_pollfds(l->client, fds, &at_ns);

	for (unsigned i = 0; i < CLIENT_POLLFDS; i++) {
		const short events = i < n ? fds[i].events : 0;
		const short want = (short)(((events & POLLIN) ? EV_READ : 0) |
					   ((events & POLLOUT) ? EV_WRITE : 0));

		(void)event_del(l->sockets[i]);
		if (want == 0)
			continue;
		(void)event_assign(l->sockets[i], l->base, fds[i].fd, want,
		    event_get_callback(l->sockets[i]), l);
		(void)event_add(l->sockets[i], NULL);
	}
	/* The client has sent all metadata that it got. */
	if (l->is_metadata_added && !is_metadata_sent(l) &&
	    client_is_idle(l->client))
		at_ns = now;
	if (l->tick_ns != 0 && !l->has_ended)
		at_ns = clock_earlier(at_ns, l->tick_ns);
	at_ns = clock_earlier(at_ns, now + LIVE_TIMER_MS * NS_PER_MS);
	command_loop_set_timer(
	    l->timer, at_ns > now ? at_ns - now + 1000 : NS_PER_MS);
}

/* The protocol does not name sessions: the host and the recorder's port
 * identify them. */
static void
name_session(struct live *l)
{
	const char *port = strrchr(l->peer, ':');

	/* A guest has a name, without a port. */
	if (port == NULL)
		(void)snprintf(l->name, sizeof(l->name), "%s", l->peer);
	else
		(void)snprintf(l->name, sizeof(l->name), "ftrace-%s", port + 1);
	kernel_file_name(l->host, l->dat->hostname, "unknown");
}

/* False: it failed; it is tried again, or abandoned. */
static bool
open_client(struct live *l)
{
	const struct live_options *c = l->config;
	const struct client_config config = {
		.url = c->url,
		.addresses = c->addresses,
		.n_addresses = c->n_addresses,
		.session_name = l->name,
		.hostname = l->host,
		.live_timer_us = LIVE_TIMER_MS * 1000,
		.timeout_ms = RELAY_TIMEOUT_MS,
		.udp = c->udp,
		.resend = c->udp,
	};
	const enum status st = client_create(&l->client, &config);

	if (st != OK) {
		abandon(l, status_text(st));
		return false;
	}
	return continues(l, client_open(l->client));
}

void
live_session_work(struct live *l)
{
	if (is_silent(l)) {
		abandon(l, "it does not respond");
		return;
	}
	if (l->client == NULL && clock_now_ns() >= l->try_ns && !open_client(l))
		return;
	if (l->client != NULL && (!continues(l, client_work(l->client, 0)) ||
				     !continues(l, send_available(l))))
		return;
	note_answers(l);
	if (l->is_done) {
		stop_events(l);
		return;
	}
	if (l->client == NULL || continues(l, client_work(l->client, 0)))
		watch_sockets(l);
}

void
live_session_begin(struct live *l)
{
	name_session(l);
	if (open_client(l))
		watch_sockets(l);
}

enum status
live_take_relay(const struct option_row *r, void *to, const char *arg)
{
	struct live_options *c = to;
	const char *why;

	(void)r;
	c->is_on = true;
	return url_parse(&c->url, arg, &why) == OK ? OK : E_MALFORMED;
}

enum status
live_resolve(struct live_options *c)
{
	const char *why;

#ifndef HAVE_ZSTD
	if (c->is_on)
		log_warn("built without zstd: what trace-cmd compresses with "
			 "it, as it does by default, is stored, not live; "
			 "record with --compression none");
#endif
	if (!c->is_on || url_resolve(&c->url, c->addresses, &c->n_addresses,
			     &why, 0, NULL, NULL) == OK)
		return OK;
	log_error("relay %s: %s", c->url.host, why);
	return E_IO;
}
