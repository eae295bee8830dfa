/* SPDX-License-Identifier: MIT */
#include "tests/bench/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "tests/bench/program.h"

/* Thousands of sessions that ask in a hurry whether data is pending would be
 * what is measured. */
#define ASK_MS 10
/* A crowd may have to wait for a relay that is slow. */
#define TIMEOUT_MS 300000

static bool
is_live(const struct peer *p)
{
	return p->options->beacon_ms > 0;
}

/* The lowest bit says which of the two connections it is. */
static void
opened(void *arg, int fd, bool is_data)
{
	const struct peer *p = arg;
	struct epoll_event e = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.u64 = (uint64_t)p->number * 2 + is_data,
	};

	if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) != 0)
		program_fail("epoll_ctl: %s", strerror(errno));
}

static void
index_sent(void *arg, unsigned stream, uint64_t net_seq)
{
	const struct peer *p = arg;
	const struct load_options *o = p->options;

	o->sent[net_seq * o->shape.streams + stream] = clock_now_ns();
}

static void
index_answered(void *arg, uint64_t ns)
{
	const struct peer *p = arg;

	histogram_add(&p->result->index_reply, ns);
}

/* E_BUSY is no failure. */
static bool
is_done(const struct peer *p, enum status st)
{
	if (st != OK && st != E_BUSY)
		program_fail(
		    "session %u: %s", p->number, client_error(p->client));
	return st == OK;
}

static void
ready(struct peer *p)
{
	const short control = p->control, data = p->data;

	p->control = p->data = 0;
	(void)is_done(p, client_ready(p->client, control, data));
}

/* All but metadata's, then that; then viewers may know them. */
static bool
add_streams(struct peer *p)
{
	const unsigned n = p->options->shape.streams;
	char name[SHAPE_NAME_MAX];
	unsigned number;

	for (; p->added <= n; p->added++) {
		shape_channel_name(p->added, name);
		if (!is_done(
			p, client_add_stream(p->client, SHAPE_PATH,
			       p->added == n ? "metadata" : name, &number)))
			return false;
	}
	return is_done(p, client_streams_sent(p->client));
}

/* The handles are known: all was answered. */
static void
begin_run(struct peer *p)
{
	char text[SHAPE_NAME_MAX];

	p->began_ns = clock_now_ns();
	/* Timers of sessions have nothing to do with each other. */
	p->beacon_ns = p->began_ns + p->options->beacon_ms * NS_PER_MS *
					 (p->number * 619 % 1000) / 1000;
	p->beacon = p->options->shape.streams;
	shape_metadata(p->options->shape.first + p->number, text);
	(void)is_done(p, client_metadata(p->client, p->options->shape.streams,
			     text, strlen(text)));
}

/* How many packets may be given now: the window of indexes, the rate. */
static uint64_t
allowance(const struct peer *p)
{
	const struct client_stats *s = client_stats(p->client);
	const uint64_t under_way = p->given + s->beacons - s->indexes;
	const uint64_t rate = p->options->rate;
	uint64_t due, most;

	if (under_way >= p->options->outstanding)
		return 0;
	most = p->options->outstanding - under_way;
	if (rate == 0)
		return most;
	due = 1 + (uint64_t)((double)(clock_now_ns() - p->began_ns) *
			     (double)rate / (double)NS_PER_S);
	if (due <= p->given)
		return 0;
	return due - p->given < most ? due - p->given : most;
}

static void
give_packets(struct peer *p)
{
	const struct shape *s = &p->options->shape;
	const uint64_t total = shape_total(s);

	for (uint64_t n = allowance(p); n > 0 && p->given < total; n--) {
		const struct packet_id id = shape_nth(
		    s, s->first + p->number, p->given);
		const struct client_packet k = load_packet(s, &id);

		if (!is_done(p, client_packet(p->client, id.stream, &k)))
			return;
		p->given++;
	}
}

/* A beacon for each stream that has a packet (streaming 4.3). */
static void
give_beacons(struct peer *p)
{
	const unsigned n = p->options->shape.streams;
	const uint64_t now = clock_now_ns();

	if (p->beacon == n && now >= p->beacon_ns) {
		p->beacon_ns = now + p->options->beacon_ms * NS_PER_MS;
		p->beacon = 0;
	}
	for (; p->beacon < n && p->beacon < p->given; p->beacon++) {
		const uint64_t last = (p->given - 1 - p->beacon) / n;

		if (!is_done(p, client_beacon(p->client, p->beacon,
				    1000 * (last + 1) + 999, 0)))
			return;
	}
	p->beacon = n;
}

static void
run(struct peer *p)
{
	uint64_t before;

	do {
		before = p->given;
		give_packets(p);
		if (is_live(p))
			give_beacons(p);
		ready(p);
	} while (p->given != before);
}

static void
hold(struct peer *p)
{
	const bool is_asking = p->options->is_asking && p->number == 0 &&
			       clock_now_ns() < p->wake_ns;
	bool is_pending;

	if (is_live(p))
		give_beacons(p);
	/* After an answer the next question. */
	while (is_asking && is_done(p, client_pending(p->client, &is_pending)))
		;
	ready(p);
}

static void
finish(struct peer *p)
{
	const struct client_stats *s = client_stats(p->client);

	if (s->lost > 0)
		program_fail("session %u: %llu packets were lost", p->number,
		    (unsigned long long)s->lost);
	p->result->packets += s->packets;
	p->result->bytes += s->bytes;
	p->result->beacons += s->beacons;
	p->result->datagrams += s->datagrams;
	p->result->resent += s->resent;
	client_destroy(p->client);
	p->client = NULL;
}

/* Do what the phase wants: is it over? */
static bool
is_over(struct peer *p)
{
	const struct load_options *o = p->options;

	switch (p->phase) {
	case PHASE_OPEN:
		return client_is_open(p->client);
	case PHASE_STREAMS:
		if (p->added <= o->shape.streams + 1 && add_streams(p))
			p->added = o->shape.streams + 2;
		ready(p);
		return p->added > o->shape.streams + 1 &&
		       client_is_idle(p->client);
	case PHASE_RUN:
		run(p);
		return p->given == shape_total(&o->shape) &&
		       client_is_idle(p->client);
	case PHASE_HOLD:
		hold(p);
		return clock_now_ns() >= p->wake_ns &&
		       client_is_idle(p->client);
	case PHASE_FINISH:
		return is_done(p, client_finish(p->client));
	case PHASE_DONE:
		break;
	}
	return false;
}

static void
enter(struct peer *p, enum phase phase)
{
	p->phase = phase;
	if (phase == PHASE_RUN)
		begin_run(p);
	if (phase == PHASE_HOLD)
		p->wake_ns = clock_now_ns() + p->options->hold_ms * NS_PER_MS;
	if (phase == PHASE_DONE)
		finish(p);
}

void
peer_start(struct peer *p, const struct load_options *o, struct load_result *r,
    unsigned number, int epoll)
{
	struct client_config config = {
		.url = o->url,
		.session_name = p->name,
		.name_has_time = true, /* the directory gets no other */
		.hostname = SHAPE_HOSTNAME,
		.live_timer_us = o->beacon_ms * 1000,
		.outstanding = o->outstanding,
		.packets = o->outstanding < CLIENT_PACKETS ? o->outstanding
							   : CLIENT_PACKETS,
		.timeout_ms = TIMEOUT_MS,
		.ask_ms = ASK_MS,
		.watch = &p->watch,
		.udp = o->is_udp,
		.resend = o->is_udp,
		.fragment_size = o->fragment,
	};

	*p = (struct peer){
		.options = o, .result = r, .number = number, .epoll = epoll
	};
	p->watch = (struct client_watch){ .opened = opened,
		.index_sent = o->sent != NULL && number == 0 ? index_sent
							     : NULL,
		.index_answered = index_answered,
		.arg = p };
	/* Beacons do not take the place of packets. */
	if (is_live(p))
		config.outstanding += o->shape.streams;
	shape_session_name(o->shape.first + number, p->name);
	if (client_create(&p->client, &config) != OK)
		program_fail("out of memory");
	(void)is_done(p, client_open(p->client));
}

void
peer_event(struct peer *p, bool is_data, short events)
{
	if (is_data)
		p->data |= events;
	else
		p->control |= events;
}

void
peer_step(struct peer *p)
{
	if (p->phase == PHASE_DONE)
		return;
	ready(p);
	while (p->phase != PHASE_DONE && is_over(p))
		enter(p, p->phase + 1);
	if (p->phase != PHASE_DONE)
		ready(p);
}
