/* SPDX-License-Identifier: MIT */
#include "tests/bench/peer.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "proto/relay.h"

/* Twice as long each time: thousands of sessions that ask in a hurry would be
 * what is measured. */
#define ASK_AGAIN_NS (10 * NS_PER_MS)
#define ASK_DOUBLINGS 7

static bool
is_live(const struct peer *p)
{
	return p->options->beacon_ms > 0;
}

static int
connect_to(const struct sockaddr_in *to)
{
	const int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		load_fail("socket: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0 &&
	    errno != EINPROGRESS)
		load_fail("connect: %s", strerror(errno));
	/* Without it Nagle's wait for an ACK would be what is measured. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* The lowest bit tells the two connections apart. */
static void
watch(struct peer *p, int fd, bool is_data, int epoll)
{
	struct epoll_event e = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.u64 = (uint64_t)p->number * 2 + is_data,
	};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) != 0)
		load_fail("epoll_ctl: %s", strerror(errno));
}

static void
expect(struct peer *p, enum relay_cmd kind, unsigned stream)
{
	struct expected *e;

	if (p->n_expected == p->n_ring)
		load_fail("session %u: too many requests", p->number);
	e = &p->expected[(p->first + p->n_expected++) % p->n_ring];
	*e = (struct expected){ (uint8_t)kind, stream, 0 };
	if (kind == RELAY_CMD_send_index)
		e->sent_ns = clock_now_ns();
}

static void
ask_version(struct peer *p)
{
	relay_request_version(&p->out, RELAY_MAJOR, PEER_MINOR);
	expect(p, RELAY_CMD_version, 0);
}

static void
ask_session(struct peer *p)
{
	char name[SHAPE_NAME_MAX];
	struct relay_session_request q = {
		.session_name = name,
		.hostname = SHAPE_HOSTNAME,
		.base_path = "",
		.live_timer_us = p->options->beacon_ms * 1000,
		.name_has_time = true, /* the directory gets no other */
		.peer_session = p->number,
		.creation_time = clock_wall_s(),
		.trace_format = 1,
	};

	shape_session_name(p->options->shape.first + p->number, name);
	if (getrandom(&q.uuid, sizeof(q.uuid), 0) != sizeof(q.uuid))
		load_fail("getrandom: %s", strerror(errno));
	relay_request_create_session(&p->out, PEER_MINOR, &q);
	expect(p, RELAY_CMD_create_session, 0);
}

static void
ask_chunk(struct peer *p)
{
	relay_request_create_chunk(&p->out, 0, clock_wall_s(), NULL);
	expect(p, RELAY_CMD_create_trace_chunk, 0);
}

static void
ask_streams(struct peer *p)
{
	const unsigned n = p->options->shape.streams;
	char name[SHAPE_NAME_MAX];

	for (unsigned i = 0; i <= n; i++) {
		shape_channel_name(i, name);
		relay_request_add_stream(&p->out, PEER_MINOR,
		    i == n ? "metadata" : name, SHAPE_PATH, 0, 0, 0);
		expect(p, RELAY_CMD_add_stream, i);
	}
	relay_request_empty(&p->out, RELAY_CMD_streams_sent);
	expect(p, RELAY_CMD_streams_sent, 0);
}

static void
send_metadata(struct peer *p)
{
	char text[SHAPE_NAME_MAX];

	shape_metadata(p->options->shape.first + p->number, text);
	relay_request_metadata(&p->out, p->handles[p->options->shape.streams],
	    text, strlen(text), 0);
}

static void
ask_pending(struct peer *p)
{
	const struct shape *s = &p->options->shape;

	relay_request_id(&p->out, RELAY_CMD_begin_data_pending, p->session_id);
	expect(p, RELAY_CMD_begin_data_pending, 0);
	for (unsigned i = 0; s->packets > 0 && i < s->streams; i++) {
		relay_request_stream_seq(&p->out, RELAY_CMD_data_pending,
		    p->handles[i], s->packets - 1);
		expect(p, RELAY_CMD_data_pending, i);
	}
	relay_request_id(
	    &p->out, RELAY_CMD_quiescent_control, p->handles[s->streams]);
	expect(p, RELAY_CMD_quiescent_control, 0);
	relay_request_id(&p->out, RELAY_CMD_end_data_pending, p->session_id);
	expect(p, RELAY_CMD_end_data_pending, 0);
	p->is_pending = false;
}

static void
ask_close(struct peer *p)
{
	const struct shape *s = &p->options->shape;

	for (unsigned i = s->streams + 1; i-- > 0;) {
		relay_request_stream_seq(&p->out, RELAY_CMD_close_stream,
		    p->handles[i],
		    i == s->streams ? UINT64_MAX : s->packets - 1);
		expect(p, RELAY_CMD_close_stream, i);
	}
}

static void
finish(struct peer *p)
{
	close(p->control);
	close(p->data);
	buf_free(&p->in);
	buf_free(&p->out);
	free(p->expected);
	free(p->handles);
	p->result->packets += feed_total(&p->feed);
	p->result->bytes += feed_total(&p->feed) * p->options->shape.size;
}

static void
begin_run(struct peer *p)
{
	p->began_ns = clock_now_ns();
	/* Timers of sessions have nothing to do with each other. */
	p->beacon_ns = p->began_ns + p->options->beacon_ms * NS_PER_MS *
					 (p->number * 619 % 1000) / 1000;
	send_metadata(p);
}

/* What a phase does when it begins. */
static void
enter(struct peer *p, enum phase phase, int epoll)
{
	p->phase = phase;
	switch (phase) {
	case PHASE_HELLO:
		ask_version(p);
		break;
	case PHASE_CREATE:
		ask_session(p);
		break;
	case PHASE_CHUNK:
		p->data = connect_to(&p->options->data);
		watch(p, p->data, true, epoll);
		ask_chunk(p);
		break;
	case PHASE_STREAMS:
		ask_streams(p);
		break;
	case PHASE_RUN:
		begin_run(p);
		break;
	case PHASE_HOLD:
		p->wake_ns = clock_now_ns() + p->options->hold_ms * NS_PER_MS;
		break;
	case PHASE_ASK:
		ask_pending(p);
		break;
	case PHASE_WAIT:
		p->wake_ns = clock_now_ns() + (ASK_AGAIN_NS << p->n_waits);
		p->n_waits += p->n_waits < ASK_DOUBLINGS;
		break;
	case PHASE_CLOSE:
		ask_close(p);
		break;
	case PHASE_DONE:
		finish(p);
		break;
	}
}

/* Everything asked is answered: is the phase over, and which is next? */
static enum phase
next_phase(const struct peer *p)
{
	switch (p->phase) {
	case PHASE_RUN:
		return p->indexed == feed_total(&p->feed) ? PHASE_HOLD
							  : PHASE_RUN;
	case PHASE_HOLD:
		if (clock_now_ns() < p->wake_ns)
			return PHASE_HOLD;
		/* A stream that is not asked for counts as pending. */
		return p->options->shape.packets == 0 ? PHASE_CLOSE : PHASE_ASK;
	case PHASE_ASK:
		return p->is_pending ? PHASE_WAIT : PHASE_CLOSE;
	case PHASE_WAIT:
		return clock_now_ns() >= p->wake_ns ? PHASE_ASK : PHASE_WAIT;
	default:
		return p->phase + 1;
	}
}

static void
receive(struct peer *p)
{
	while (p->control_readable) {
		uint8_t *at = buf_reserve(&p->in, 4096);
		ssize_t n = at == NULL ? -1 : recv(p->control, at, 4096, 0);

		if (n == 0)
			load_fail(
			    "session %u: the relay closed control", p->number);
		if (n < 0 && errno != EAGAIN)
			load_fail("session %u: control: %s", p->number,
			    strerror(errno));
		/* Less than there was room for: the next event says more. */
		if (n < 4096)
			p->control_readable = false;
		if (n > 0)
			buf_added(&p->in, (size_t)n);
		peer_take_replies(p);
	}
}

static void
flush(struct peer *p)
{
	ssize_t n;

	if (p->out.bad)
		load_fail("out of memory");
	while (p->control_writable && buf_len(&p->out) > 0) {
		n = send(p->control, buf_data(&p->out), buf_len(&p->out),
		    MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			load_fail("session %u: control: %s", p->number,
			    strerror(errno));
		if (n < 0)
			p->control_writable = false;
		else
			buf_consume(&p->out, (size_t)n);
	}
}

/* The index of each packet that was wholly sent since. */
static void
send_indexes(struct peer *p)
{
	struct relay_index rec;

	for (; p->indexed < p->feed.next; p->indexed++) {
		struct packet_id id = feed_packet(&p->feed, p->indexed);

		shape_index(&p->options->shape, &id, &rec);
		rec.stream = p->handles[id.stream];
		relay_request_index(&p->out, PEER_MINOR, &rec);
		expect(p, RELAY_CMD_send_index, id.stream);
		p->in_flight++;
		if (p->options->sent != NULL && p->number == 0)
			p->options->sent[p->indexed] = clock_now_ns();
	}
}

/* How many packets may be under way now: the window of indexes, the rate. */
static uint64_t
allowance(const struct peer *p)
{
	const uint64_t rate = p->options->rate;
	uint64_t due, most = p->options->outstanding - p->in_flight;

	if (p->in_flight >= p->options->outstanding)
		return 0;
	if (rate == 0)
		return most;
	due = 1 + (uint64_t)((double)(clock_now_ns() - p->began_ns) *
			     (double)rate / (double)NS_PER_S);
	if (due <= p->feed.next)
		return 0;
	return due - p->feed.next < most ? due - p->feed.next : most;
}

static void
send_packets(struct peer *p)
{
	uint64_t most;
	ssize_t n;

	while (p->data_writable && p->feed.next < feed_total(&p->feed) &&
	       (most = allowance(p)) > 0) {
		n = feed_send(&p->feed, p->data, most);
		if (n < 0 && errno != EAGAIN)
			load_fail(
			    "session %u: data: %s", p->number, strerror(errno));
		if (n < 0)
			p->data_writable = false;
		send_indexes(p);
	}
}

/* A beacon for each stream that has a packet (streaming 4.3). */
static void
send_beacons(struct peer *p)
{
	const struct shape *s = &p->options->shape;
	uint64_t now = clock_now_ns();

	if (!is_live(p) || now < p->beacon_ns)
		return;
	p->beacon_ns = now + p->options->beacon_ms * NS_PER_MS;
	/* The earlier ones are not answered: a slow relay needs no more. */
	if (p->n_expected + s->streams + p->options->outstanding > p->n_ring)
		return;
	for (unsigned i = 0; i < s->streams && i < p->indexed; i++) {
		struct relay_index rec = { .stream = p->handles[i],
			.net_seq = (p->indexed - 1 - i) / s->streams };

		rec.timestamp_end = 1000 * (rec.net_seq + 1) + 999;
		relay_request_index(&p->out, PEER_MINOR, &rec);
		expect(p, RELAY_CMD_send_index, i);
		p->in_flight++;
		p->result->beacons++;
	}
}

void
peer_start(struct peer *p, const struct load_options *o, struct load_result *r,
    unsigned number, int epoll)
{
	const unsigned streams = o->shape.streams;

	*p = (struct peer){ .options = o, .result = r, .number = number };
	p->data = -1;
	p->n_ring = o->outstanding + 2 * streams + 16;
	p->expected = calloc(p->n_ring, sizeof(*p->expected));
	p->handles = calloc(streams + 1, sizeof(*p->handles));
	if (p->expected == NULL || p->handles == NULL)
		load_fail("out of memory");
	p->feed = (struct feed){ &o->shape, o->shape.first + number, p->handles,
		0, 0 };
	p->control = connect_to(&o->control);
	watch(p, p->control, false, epoll);
	enter(p, PHASE_HELLO, epoll);
}

void
peer_event(struct peer *p, bool is_data, uint32_t events)
{
	if (p->phase == PHASE_DONE)
		return;
	if (is_data) {
		if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			load_fail(
			    "session %u: the relay closed data", p->number);
		p->data_writable = true;
		return;
	}
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		p->control_readable = true;
	if (events & EPOLLOUT)
		p->control_writable = true;
}

void
peer_step(struct peer *p, int epoll)
{
	enum phase before;

	if (p->phase == PHASE_DONE)
		return;
	receive(p);
	/* A phase that asks nothing is over at once. */
	do {
		before = p->phase;
		if (p->phase == PHASE_RUN)
			send_packets(p);
		if (p->phase == PHASE_RUN || p->phase == PHASE_HOLD)
			send_beacons(p);
		if (p->phase == PHASE_HOLD && p->options->is_asking &&
		    p->number == 0 && p->n_expected == 0 &&
		    next_phase(p) == PHASE_HOLD)
			ask_pending(p);
		if (p->n_expected == 0 && next_phase(p) != p->phase)
			enter(p, next_phase(p), epoll);
	} while (p->phase != before && p->phase != PHASE_DONE);
	if (p->phase != PHASE_DONE)
		flush(p);
}
