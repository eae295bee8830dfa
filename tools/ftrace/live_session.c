/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/live_session.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/list.h"
#include "common/log.h"
#include "tools/client/client.h"
#include "tools/ftrace/kernel_stream.h"

/* As LTTng has ust and kernel in a session's directory. */
#define FOLDER "kernel"
/* For a relay that answers, but does not write. */
#define RELAY_TIMEOUT_MS 10000

/* A packet that waits, or was sent and not acknowledged. */
struct item {
	struct list node;
	unsigned stream;
	uint32_t n_events;
	struct client_packet packet;
};

struct stream {
	unsigned cpu;
	unsigned number; /* the client's */
	bool is_added;
	uint64_t taken; /* acknowledged packets */
};

struct live_session {
	struct client *client;
	const char *peer;
	char *name, *hostname;
	struct event_base *base;
	struct event *timer;
	struct event *sockets[CLIENT_POLLFDS];

	struct stream *streams;
	unsigned n_streams, n_added;
	bool has_unannounced; /* streams not announced to viewers */

	struct buf metadata;
	unsigned metadata_number;
	bool has_metadata, is_metadata_added, is_metadata_sent;

	struct list queue;
	uint64_t bytes;	  /* of the queue */
	uint64_t *queued; /* of all queues */
	struct list sent; /* items; the client has their packets */
	struct live_session_taken taken;
	uint64_t finish_ns; /* time of live_session_finish() */
	bool is_finishing, is_done, has_failed;
};

static uint64_t
memory_of(uint32_t packet_size)
{
	return sizeof(struct item) + packet_size;
}

static void
leave_queue(struct live_session *s, struct item *i)
{
	const uint64_t n = memory_of(i->packet.size);

	assert(s->bytes >= n && *s->queued >= n);
	s->bytes -= n;
	*s->queued -= n;
	list_del(&i->node);
}

/* Packets are acknowledged in the order in which they were sent. */
static void
note_answers(struct live_session *s)
{
	while (!list_empty(&s->sent)) {
		struct item *i = list_entry(s->sent.next, struct item, node);
		struct stream *x = &s->streams[i->stream];

		if (client_answered(s->client, x->number).packets == x->taken)
			return;
		x->taken++;
		s->taken.packets++;
		s->taken.events += i->n_events;
		list_del(&i->node);
		free(i);
	}
}

static void
drop_all(struct live_session *s)
{
	struct list *at, *next;

	note_answers(s);
	list_for_each (at, next, &s->sent)
		free(list_entry(at, struct item, node));
	list_init(&s->sent);
	while (!list_empty(&s->queue)) {
		struct item *i = list_entry(s->queue.next, struct item, node);

		leave_queue(s, i);
		client_packet_done(&i->packet);
		free(i);
	}
}

static void
stop_events(struct live_session *s)
{
	for (unsigned i = 0; i < CLIENT_POLLFDS; i++)
		if (s->sockets[i] != NULL)
			(void)event_del(s->sockets[i]);
	if (s->timer != NULL)
		(void)event_del(s->timer);
}

static void
abandon(struct live_session *s, const char *why)
{
	log_error("peer=%s: no longer sending to the relay: %s", s->peer, why);
	s->has_failed = true;
	stop_events(s);
	drop_all(s);
	buf_free(&s->metadata);
}

/* Returns true if the session continues, as after E_BUSY. */
static bool
continues(struct live_session *s, enum status st)
{
	if (st != OK && st != E_BUSY && !s->has_failed)
		abandon(s, client_error(s->client)[0] != '\0'
			       ? client_error(s->client)
			       : status_text(st));
	return !s->has_failed;
}

/* Only at the end: before, a relay may be silent forever. */
static bool
is_silent(const struct live_session *s)
{
	const uint64_t moved_ns = client_moved_ns(s->client);
	const uint64_t from = moved_ns > s->finish_ns ? moved_ns : s->finish_ns;

	return s->is_finishing &&
	       clock_now_ns() - from >= LIVE_SILENCE_MS * NS_PER_MS;
}

static enum status
send_metadata(struct live_session *s)
{
	enum status st = OK;

	if (!s->is_metadata_added) {
		st = client_add_stream(
		    s->client, FOLDER, "metadata", &s->metadata_number);
		s->is_metadata_added = st == OK;
	}
	while (st == OK && buf_len(&s->metadata) > 0) {
		const size_t left = buf_len(&s->metadata),
			     n = left < LIVE_PIECE_BYTES ? left
							 : LIVE_PIECE_BYTES;

		st = client_metadata(
		    s->client, s->metadata_number, buf_data(&s->metadata), n);
		if (st == OK)
			buf_consume(&s->metadata, n);
	}
	if (st == OK)
		buf_free(&s->metadata);
	s->is_metadata_sent = st == OK;
	return st;
}

static enum status
add_streams(struct live_session *s)
{
	enum status st = OK;
	char name[32];

	while (s->n_added < s->n_streams && st == OK) {
		struct stream *x = &s->streams[s->n_added];

		(void)snprintf(name, sizeof(name), "cpu_%u", x->cpu);
		st = client_add_stream(s->client, FOLDER, name, &x->number);
		if (st != OK)
			return st;
		x->is_added = true;
		s->n_added++;
		s->has_unannounced = true;
	}
	return st;
}

/* Metadata last, as session daemons send it: babeltrace2 2.0 gives up on
 * metadata that is announced without a stream. */
static enum status
announce(struct live_session *s)
{
	enum status st = add_streams(s);

	if (st == OK && !s->is_metadata_sent) {
		st = send_metadata(s);
		s->has_unannounced = true;
	}
	if (st == OK && s->has_unannounced)
		st = client_streams_sent(s->client);
	if (st == OK)
		s->has_unannounced = false;
	return st;
}

static enum status
send_packets(struct live_session *s)
{
	while (!list_empty(&s->queue)) {
		struct item *i = list_entry(s->queue.next, struct item, node);
		const enum status st = client_packet(
		    s->client, s->streams[i->stream].number, &i->packet);

		if (st != OK)
			return st;
		leave_queue(s, i);
		list_append(&s->sent, &i->node);
	}
	return OK;
}

/* Sends in order until the client is busy. */
static enum status
send_available(struct live_session *s)
{
	enum status st;

	if (!client_is_open(s->client) || !s->has_metadata)
		return E_BUSY;
	st = announce(s);
	if (st == OK)
		st = send_packets(s);
	if (st == OK && s->is_finishing) {
		st = client_finish(s->client);
		s->is_done = st == OK;
	}
	return st;
}

static void
watch_sockets(struct live_session *s)
{
	struct pollfd fds[CLIENT_POLLFDS];
	struct timeval wait = { .tv_usec = LIVE_TIMER_MS * 1000 };
	uint64_t at_ns, now = clock_now_ns();
	unsigned n = client_pollfds(s->client, fds, &at_ns);

	for (unsigned i = 0; i < CLIENT_POLLFDS; i++) {
		const short events = i < n ? fds[i].events : 0;
		const short want = (short)(((events & POLLIN) ? EV_READ : 0) |
					   ((events & POLLOUT) ? EV_WRITE : 0));

		(void)event_del(s->sockets[i]);
		if (want == 0)
			continue;
		(void)event_assign(s->sockets[i], s->base, fds[i].fd, want,
		    event_get_callback(s->sockets[i]), s);
		(void)event_add(s->sockets[i], NULL);
	}
	/* Sooner than usual if the client wants it, or if it has sent all
	 * metadata that it got. */
	if (s->is_metadata_added && buf_len(&s->metadata) > 0 &&
	    client_is_idle(s->client))
		at_ns = now;
	if (at_ns < now + LIVE_TIMER_MS * NS_PER_MS)
		wait.tv_usec = at_ns <= now
				   ? 1000
				   : (suseconds_t)((at_ns - now) / 1000 + 1);
	(void)event_add(s->timer, &wait);
}

void
live_session_work(struct live_session *s)
{
	if (s->is_done || s->has_failed ||
	    !continues(s, client_work(s->client, 0)) ||
	    !continues(s, send_available(s)))
		return;
	note_answers(s);
	if (s->is_done) {
		stop_events(s);
		return;
	}
	if (!continues(s, client_work(s->client, 0)))
		return;
	if (is_silent(s))
		abandon(s, "it does not respond");
	else
		watch_sockets(s);
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	live_session_work(arg);
}

static enum status
create_events(struct live_session *s)
{
	s->timer = evtimer_new(s->base, on_event, s);
	for (unsigned i = 0; i < CLIENT_POLLFDS; i++) {
		s->sockets[i] = event_new(s->base, -1, 0, on_event, s);
		if (s->sockets[i] == NULL)
			return E_NOMEM;
	}
	return s->timer == NULL ? E_NOMEM : OK;
}

static enum status
open_client(struct live_session *s, const struct live_session_config *config)
{
	const struct client_config client = {
		.url = *config->url,
		.addresses = config->addresses,
		.n_addresses = config->n_addresses,
		.session_name = s->name,
		.hostname = s->hostname,
		.live_timer_us = LIVE_TIMER_MS * 1000,
		.timeout_ms = RELAY_TIMEOUT_MS,
		.udp = config->udp,
		.resend = config->udp,
	};
	enum status st = client_create(&s->client, &client);

	if (st == OK)
		st = client_open(s->client);
	return st;
}

enum status
live_session_create(
    struct live_session **out, const struct live_session_config *config)
{
	struct live_session *s = calloc(1, sizeof(*s));
	enum status st = E_NOMEM;

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	list_init(&s->queue);
	list_init(&s->sent);
	s->base = config->base;
	s->peer = config->peer;
	s->queued = config->queued;
	s->name = strdup(config->name);
	s->hostname = strdup(config->hostname);
	if (s->name != NULL && s->hostname != NULL)
		st = create_events(s);
	if (st == OK)
		st = open_client(s, config);
	if (st != OK) {
		if (s->client != NULL)
			(void)continues(s, st);
		live_session_destroy(s);
		return st;
	}
	watch_sockets(s);
	*out = s;
	return OK;
}

void
live_session_destroy(struct live_session *s)
{
	if (s == NULL)
		return;
	stop_events(s);
	for (unsigned i = 0; i < CLIENT_POLLFDS; i++)
		if (s->sockets[i] != NULL)
			event_free(s->sockets[i]);
	if (s->timer != NULL)
		event_free(s->timer);
	drop_all(s);
	client_destroy(s->client);
	buf_free(&s->metadata);
	free(s->streams);
	free(s->name);
	free(s->hostname);
	free(s);
}

enum status
live_session_add_stream(struct live_session *s, unsigned cpu, unsigned *number)
{
	struct stream *more = realloc(
	    s->streams, (s->n_streams + 1) * sizeof(*more));

	if (more == NULL)
		return E_NOMEM;
	s->streams = more;
	s->streams[s->n_streams] = (struct stream){ .cpu = cpu };
	*number = s->n_streams++;
	return OK;
}

void
live_session_metadata(struct live_session *s, struct buf *take_metadata)
{
	assert(!s->has_metadata);
	if (s->has_failed) {
		buf_free(take_metadata);
		return;
	}
	s->metadata = *take_metadata;
	buf_init(take_metadata);
	s->has_metadata = true;
}

uint64_t
live_session_memory(const struct live_session *s)
{
	return s->metadata.cap;
}

bool
live_session_packet(
    struct live_session *s, unsigned number, const struct kernel_packet *p)
{
	const uint64_t n = memory_of(p->size);
	struct item *i;

	assert(number < s->n_streams);
	if (s->has_failed ||
	    s->bytes + n > (LIVE_QUEUE_BYTES - *s->queued) / LIVE_QUEUE_PART)
		return false;
	i = malloc(sizeof(*i));
	if (i == NULL || kernel_client_packet(&i->packet, p) != OK) {
		free(i);
		return false;
	}
	i->stream = number;
	i->n_events = p->n_events;
	list_append(&s->queue, &i->node);
	s->bytes += n;
	*s->queued += n;
	return true;
}

bool
live_session_beacon(struct live_session *s, unsigned number, uint64_t time)
{
	assert(number < s->n_streams);
	if (s->has_failed || !s->streams[number].is_added ||
	    s->has_unannounced || !list_empty(&s->queue))
		return false;
	return client_beacon(s->client, s->streams[number].number, time,
		   KERNEL_STREAM_CLASS) == OK;
}

void
live_session_finish(struct live_session *s)
{
	assert(!s->is_finishing);
	s->is_finishing = true;
	s->finish_ns = clock_now_ns();
	live_session_work(s);
}

bool
live_session_is_done(const struct live_session *s)
{
	return s->is_done || s->has_failed;
}

bool
live_session_has_failed(const struct live_session *s)
{
	return s->has_failed;
}

struct live_session_taken
live_session_taken(const struct live_session *s)
{
	return s->taken;
}
