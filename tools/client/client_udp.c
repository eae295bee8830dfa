/* SPDX-License-Identifier: MIT */
/* Packets over UDP (udp 1 to 5). */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "tools/client/client_internal.h"

/* The time between two questions while something is missing (udp 4). */
#define ASK_NS (20 * NS_PER_MS)
/* A packet that was sent less than this before the question may still be under
 * way. */
#define GRACE_NS (5 * NS_PER_MS)
/* The least time between two questions while packets are lost, however small
 * the window: a network that takes nothing is not flooded with resends. */
#define LOSSY_ASK_NS (2 * NS_PER_MS)
/* The most packets that are held, whatever their size. */
#define HELD_MOST 65536
#define SEND_BUFFER (4 * 1024 * 1024)

static bool
resends(const struct client *c)
{
	return (c->udp.link.flags & UDP_OPEN_RESENDS) != 0;
}

void
client_udp_ask_open(struct client *c)
{
	const struct udp_open q = {
		.version = UDP_VERSION,
		.fragment_size = c->config.fragment_size != 0
				     ? c->config.fragment_size
				     : UDP_FRAGMENT_DEFAULT,
		.window = UDP_WINDOW_DEFAULT,
		.flags = c->config.resend ? UDP_OPEN_RESENDS : 0,
		.gap_timeout_us = c->config.gap_timeout_us,
	};

	udp_open_request(dialog_ask(&c->dialog, RELAY_CMD_udp_open, 0), &q);
}

static enum status
open_socket(struct client *c)
{
	const uint16_t port = c->udp.link.port != 0 ? c->udp.link.port
						    : c->config.url.data;
	const struct url_address to = url_with_port(
	    &c->addresses[c->address], port);
	const int size = SEND_BUFFER;

	c->data = socket(
	    to.sa.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->data < 0 ||
	    connect(c->data, (const struct sockaddr *)&to.sa, to.len) != 0)
		return client_fail_errno(c, "UDP socket");
	setsockopt(c->data, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	client_opened(c, c->data);
	datagrams_init(&c->udp.datagrams, c->data, c->config.channel);
	return OK;
}

enum status
client_udp_take_open(struct client *c, const struct dialog_reply *r)
{
	struct client_udp *u = &c->udp;
	struct reader body = r->body;

	if (udp_open_reply_decode(&body, &u->link) != OK ||
	    u->link.fragment_size < UDP_FRAGMENT_MIN ||
	    u->link.fragment_size > UDP_FRAGMENT_MAX)
		return client_fail(c, E_PROTOCOL, "invalid answer to udp_open");
	u->resends = calloc(CLIENT_RESENDS, sizeof(*u->resends));
	if (u->resends == NULL)
		return client_fail(c, E_NOMEM, "out of memory");
	window_init(&u->window);
	return open_socket(c);
}

/* Put one fragment into the batch; returns the bytes that it costs. The first
 * fragment has the head. */
static size_t
put(struct client *c, const struct client_packet *p, uint32_t offset,
    bool is_resend)
{
	const uint32_t left = p->size - offset;
	const uint32_t len = left < c->udp.link.fragment_size
				 ? left
				 : c->udp.link.fragment_size;
	const uint32_t head = offset == 0 ? p->head_size : 0;
	struct udp_header h = {
		.is_resend = is_resend,
		.token = c->udp.link.token,
		.stream = p->index.stream,
		.net_seq = p->index.net_seq,
		.size = p->size,
		.padding = p->padding,
		.offset = offset,
		.head = p->head,
		.head_len = head,
		.payload = p->data + (offset == 0 ? 0 : offset - p->head_size),
		.payload_len = len - head,
	};

	assert(offset == 0 || (offset < p->size && offset >= p->head_size));
	datagrams_put(&c->udp.datagrams, &h);
	pace_spend(&c->pace, UDP_HEADER_LEN + len);
	window_spend(&c->udp.window, UDP_HEADER_LEN + len);
	return UDP_HEADER_LEN + len;
}

/* Send what the relay misses before anything new: the gap holds up all later
 * packets. */
static size_t
fill_resends(struct client *c, size_t most)
{
	struct client_udp *u = &c->udp;
	const uint64_t now = clock_now_ns();
	size_t bytes = 0;

	while (u->resend < u->n_resends && bytes < most &&
	       !datagrams_is_full(&u->datagrams)) {
		struct client_resend *r = &u->resends[u->resend];
		struct held_packet *k = held_find(
		    &c->streams[r->stream].held, r->net_seq);
		const uint64_t offset = (uint64_t)r->fragment *
					u->link.fragment_size;

		if (k == NULL || r->count == 0 ||
		    (offset > 0 && offset >= k->packet.size)) {
			u->resend++;
			continue;
		}
		bytes += put(c, &k->packet, (uint32_t)offset, true);
		k->sent_ns = now;
		r->fragment++;
		r->count--;
		c->stats.resent++;
	}
	return bytes;
}

/* Put fragments of the packets that wait into the batch, from u->offset on. */
static void
fill_new(struct client *c, size_t most)
{
	struct client_udp *u = &c->udp;
	size_t bytes = 0;

	while (u->filled < c->outbox.put && bytes < most &&
	       !datagrams_is_full(&u->datagrams)) {
		const struct client_packet *p = outbox_peek(
		    &c->outbox, u->filled);

		bytes += put(c, p, u->offset, false);
		u->offset += u->link.fragment_size;
		if (u->offset >= p->size) {
			u->offset = 0;
			u->filled++;
		}
	}
}

static enum status
send_batch(struct client *c)
{
	struct client_udp *u = &c->udp;
	const uint64_t before = u->datagrams.count;
	enum status st = datagrams_send(&u->datagrams);

	if (u->datagrams.count != before)
		c->moved_ns = clock_now_ns();
	c->stats.datagrams = u->datagrams.count;
	c->data_full = st == E_BUSY;
	if (st == OK)
		outbox_sent(&c->outbox, u->filled);
	else if (st != E_BUSY)
		return client_fail_errno(c, "UDP socket");
	return st;
}

/* Nothing is left to send: take out what a channel holds back. */
static enum status
drain(struct client *c)
{
	enum status st = OK;

	if (c->config.channel == NULL || c->outbox.waiting > 0)
		return OK;
	st = datagrams_drain(&c->udp.datagrams);
	c->stats.datagrams = c->udp.datagrams.count;
	c->data_full = st == E_BUSY;
	if (st != OK && st != E_BUSY)
		return client_fail_errno(c, "UDP socket");
	return OK;
}

static enum status
send_all(struct client *c)
{
	struct client_udp *u = &c->udp;
	enum status st = OK;
	size_t most;

	if (u->datagrams.n > 0)
		st = send_batch(c);
	while (
	    st == OK &&
	    (most = c->pace.rate != 0 ? pace_allowance(&c->pace, clock_now_ns())
				      : window_allowance(&u->window)) > 0) {
		size_t again = fill_resends(c, most);

		if (again < most)
			fill_new(c, most - again);
		if (u->datagrams.n == 0)
			break;
		st = send_batch(c);
	}
	return st == E_BUSY ? OK : st;
}

/* Would an answer bring anything new? */
static bool
has_question(const struct client *c)
{
	const struct client_udp *u = &c->udp;

	return u->held > 0 || u->window.sent != u->window.confirmed;
}

void
client_udp_ask(struct client *c)
{
	struct client_udp *u = &c->udp;

	if (u->is_asked || dialog_space(&c->dialog) == 0)
		return;
	relay_request_id(dialog_ask(&c->dialog, RELAY_CMD_udp_status, 0),
	    RELAY_CMD_udp_status, UDP_STATUS_ALL);
	window_ask(&u->window);
	u->is_asked = true;
	u->asked_ns = clock_now_ns();
}

static bool
is_time_to_ask(const struct client *c)
{
	const struct client_udp *u = &c->udp;
	const uint64_t since = clock_now_ns() - u->asked_ns;

	if (!has_question(c))
		return false;
	if (since >= ASK_NS)
		return true;
	return window_is_due(&u->window) &&
	       (!u->has_loss || since >= LOSSY_ASK_NS);
}

enum status
client_udp_work(struct client *c)
{
	enum status st = send_all(c);

	if (st == OK)
		st = drain(c);
	if (st == OK && is_time_to_ask(c))
		client_udp_ask(c);
	return st;
}

enum status
client_udp_hold(
    struct client *c, unsigned stream, const struct client_packet *packet)
{
	if (!resends(c)) {
		client_packet_done(packet);
		return OK;
	}
	if (held_put(&c->streams[stream].held, packet, clock_now_ns()) != OK)
		return client_fail(c, E_NOMEM, "out of memory");
	c->udp.held++;
	c->udp.held_bytes += packet->size;
	return OK;
}

bool
client_udp_may_hold(const struct client *c)
{
	const struct client_udp *u = &c->udp;

	/* Only half: packets that the relay holds after a gap need the rest. */
	return u->held == 0 || (u->held < HELD_MOST &&
				   u->held_bytes < u->link.window_bytes / 2);
}

bool
client_udp_is_idle(const struct client *c)
{
	return c->udp.datagrams.n == 0 && c->udp.held == 0;
}

uint64_t
client_udp_wake_ns(const struct client *c)
{
	const struct client_udp *u = &c->udp;
	uint64_t at = UINT64_MAX, ready;

	if (!u->is_asked && has_question(c))
		at = u->asked_ns +
		     (window_is_due(&u->window) ? LOSSY_ASK_NS : ASK_NS);
	if (c->data_full ||
	    (c->outbox.waiting == 0 && u->resend == u->n_resends))
		return at;
	/* A full window waits for the answer. */
	if (c->pace.rate == 0 && window_allowance(&u->window) == 0)
		return at;
	ready = pace_ready_ns(&c->pace, clock_now_ns());
	return ready < at ? ready : at;
}

void
client_udp_free(struct client *c)
{
	for (unsigned i = 0; i < c->n_streams; i++)
		held_free(&c->streams[i].held);
	free(c->udp.resends);
}

static int
stream_of(const struct client *c, uint64_t handle)
{
	for (unsigned i = 0; i < c->n_streams; i++)
		if (c->streams[i].has_handle && c->streams[i].handle == handle)
			return (int)i;
	return -1;
}

/* One answer to UDP_STATUS. */
struct status_answer {
	uint64_t asked_ns;
	uint64_t missing; /* bytes */
	bool has_loss;
	bool is_resending; /* ranges of an earlier answer are left */
};

/* Send this range again if it is held and certainly lost. */
static void
take_range(struct client *c, unsigned stream, const struct udp_range *g,
    const struct status_answer *a)
{
	struct client_udp *u = &c->udp;
	const struct held_packet *k = held_find(
	    &c->streams[stream].held, g->net_seq);

	if (a->is_resending || k == NULL ||
	    k->sent_ns + GRACE_NS > a->asked_ns ||
	    u->n_resends == CLIENT_RESENDS)
		return;
	u->resends[u->n_resends++] = (struct client_resend){ stream, g->net_seq,
		g->first_fragment, g->fragment_count };
}

/* Bytes of a range. The relay does not know the size of a packet of which
 * nothing has arrived: take the mean size. */
static uint64_t
missing_bytes(const struct client *c, const struct udp_range *g)
{
	if (g->fragment_count != UDP_RANGE_ALL)
		return (uint64_t)g->fragment_count * c->udp.link.fragment_size;
	return c->stats.packets == 0 ? 0 : c->stats.bytes / c->stats.packets;
}

static enum status
take_stream(struct client *c, struct reader *r, struct status_answer *a)
{
	struct udp_status s;
	struct udp_range g;
	struct client_stream *stream;
	enum status st = udp_status_decode(r, &s);
	const int n = st == OK ? stream_of(c, s.stream) : -1;

	if (n < 0)
		return E_PROTOCOL;
	stream = &c->streams[n];
	a->has_loss |= s.lost > stream->lost;
	if (s.lost > stream->lost)
		c->stats.lost += s.lost - stream->lost;
	stream->lost = s.lost;
	assert(c->udp.held >= stream->held.end - stream->held.first);
	assert(c->udp.held_bytes >= stream->held.bytes);
	c->udp.held -= stream->held.end - stream->held.first;
	c->udp.held_bytes -= stream->held.bytes;
	held_release(&stream->held, s.next);
	c->udp.held += stream->held.end - stream->held.first;
	c->udp.held_bytes += stream->held.bytes;
	for (uint32_t i = 0; i < s.ranges; i++) {
		if ((st = udp_range_decode(r, &g)) != OK)
			return st;
		/* The last packet may still be on its way out. */
		if (g.net_seq + 1 < s.end ||
		    held_find(&stream->held, g.net_seq) != NULL)
			a->missing += missing_bytes(c, &g);
		take_range(c, (unsigned)n, &g, a);
	}
	return OK;
}

enum status
client_udp_take_status(struct client *c, const struct dialog_reply *r)
{
	struct client_udp *u = &c->udp;
	struct reader body = r->body;
	uint32_t code, streams;
	struct status_answer a = { .asked_ns = r->at_ns };
	enum status st = OK;

	u->is_asked = false;
	/* The batch points into packets that might be released now: ask
	 * again. */
	if (u->datagrams.n > 0)
		return OK;
	if (udp_status_head_decode(&body, &code, &streams) != OK)
		return E_PROTOCOL;
	/* Resend the ranges of the last answer first: those that are under way
	 * must not be sent again. */
	a.is_resending = u->resend < u->n_resends;
	if (!a.is_resending)
		u->n_resends = u->resend = 0;
	for (uint32_t i = 0; i < streams && st == OK; i++)
		st = take_stream(c, &body, &a);
	if (st != OK)
		return client_fail(
		    c, E_PROTOCOL, "invalid answer to udp_status");
	u->has_loss = a.has_loss || u->n_resends > 0;
	window_answer(&u->window, u->has_loss, a.missing);
	return OK;
}
