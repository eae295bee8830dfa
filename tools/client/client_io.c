/* SPDX-License-Identifier: MIT */
/* Moves bytes between a client and its sockets. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "tools/client/client_internal.h"

#define READ_SIZE 16384

static void
moved(struct client *c)
{
	c->moved_ns = clock_now_ns();
}

static enum status
send_control(struct client *c)
{
	struct buf *out = &c->dialog.out;

	if (out->bad)
		return client_fail(c, E_NOMEM, "out of memory");
	while (
	    !c->control_full && c->phase > CLIENT_CONNECT && buf_len(out) > 0) {
		ssize_t n = send(c->control, buf_data(out), buf_len(out),
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			buf_consume(out, (size_t)n);
			moved(c);
		} else if (errno == EAGAIN) {
			c->control_full = true;
		} else if (errno != EINTR) {
			return client_fail_errno(c, "control connection");
		}
	}
	return OK;
}

static enum status
receive(struct client *c)
{
	struct buf *in = &c->dialog.in;
	uint8_t *at = buf_reserve(in, READ_SIZE);
	ssize_t n;

	if (at == NULL)
		return client_fail(c, E_NOMEM, "out of memory");
	n = recv(c->control, at, READ_SIZE, MSG_DONTWAIT);
	c->is_readable = n == READ_SIZE;
	if (n == 0)
		return client_fail(
		    c, E_IO, "the relay closed the control connection");
	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			   ? OK
			   : client_fail_errno(c, "control connection");
	buf_added(in, (size_t)n);
	moved(c);
	return client_take_replies(c);
}

/* Send the index of each packet that was wholly sent, as long as
 * config.outstanding allows one more without an answer. */
static enum status
send_indexes(struct client *c)
{
	const struct client_watch *w = c->config.watch;
	const struct outbox_item *i;
	enum status st = OK;

	while (st == OK && c->in_flight < c->config.outstanding &&
	       (i = outbox_take(&c->outbox)) != NULL) {
		const uint64_t tag = client_index_tag(
		    i->stream, i->packet.size);

		relay_request_index(
		    dialog_ask(&c->dialog, RELAY_CMD_send_index, tag),
		    c->dialog.minor, &i->packet.index);
		if (w != NULL && w->index_sent != NULL)
			w->index_sent(
			    w->arg, i->stream, i->packet.index.net_seq);
		c->in_flight++;
		c->stats.packets++;
		c->stats.bytes += i->packet.size;
		if (c->config.udp)
			st = client_udp_hold(c, i->stream, &i->packet);
		else
			client_packet_done(&i->packet);
	}
	return st;
}

static enum status
send_data(struct client *c)
{
	while (!c->data_full && c->outbox.waiting > 0) {
		size_t most = pace_allowance(&c->pace, clock_now_ns());
		ssize_t n;

		if (most == 0)
			return OK;
		n = outbox_send(&c->outbox, c->data,
		    most < CLIENT_QUEUE_MAX ? most : CLIENT_QUEUE_MAX);
		if (n >= 0) {
			pace_spend(&c->pace, (size_t)n);
			moved(c);
			(void)send_indexes(c); /* cannot fail over TCP */
		} else if (errno == EAGAIN) {
			c->data_full = true;
		} else if (errno == ENODATA || errno == EFAULT) {
			return client_fail(
			    c, E_IO, "the file of a packet was cut short");
		} else if (errno != EINTR) {
			return client_fail_errno(c, "data connection");
		}
	}
	return OK;
}

static enum status
move(struct client *c)
{
	enum status st = OK;

	if (c->data >= 0)
		st = c->config.udp ? client_udp_work(c) : send_data(c);
	if (st == OK)
		st = send_indexes(c);
	return st == OK ? send_control(c) : st;
}

/* When is there something to do only because time has passed? UINT64_MAX:
 * never. */
static uint64_t
wake_ns(const struct client *c)
{
	if (c->end.again_ns != 0)
		return c->end.again_ns;
	if (c->config.udp)
		return c->data < 0 ? UINT64_MAX : client_udp_wake_ns(c);
	if (c->data_full || c->outbox.waiting == 0)
		return UINT64_MAX;
	return pace_ready_ns(&c->pace, clock_now_ns());
}

/* Are many answers to indexes due? */
static bool
is_half_out(const struct client *c)
{
	return 2 * c->in_flight >= c->config.outstanding;
}

/*
 * Must answers be taken now? A relay may send each answer by itself, and each
 * would wake us. Answers to indexes can wait until half of those allowed are
 * due, or until there is nothing else to do.
 */
static bool
wants_answers(const struct client *c)
{
	return c->phase != CLIENT_OPEN || c->dialog.n > c->in_flight ||
	       is_half_out(c) || c->outbox.waiting == 0;
}

static short
control_events(const struct client *c)
{
	short events = POLLRDHUP;

	if (wants_answers(c))
		events |= POLLIN;
	if (c->phase == CLIENT_CONNECT || c->control_full)
		events |= POLLOUT;
	return events;
}

unsigned
client_pollfds(
    struct client *c, struct pollfd out[CLIENT_POLLFDS], uint64_t *at_ns)
{
	unsigned n = 0;

	*at_ns = wake_ns(c);
	if (c->control >= 0)
		out[n++] = (struct pollfd){ .fd = c->control,
			.events = control_events(c) };
	if (c->data >= 0)
		out[n++] = (struct pollfd){ .fd = c->data,
			.events = c->data_full ? POLLRDHUP | POLLOUT
					       : POLLRDHUP };
	return n;
}

static enum status
control_event(struct client *c, short events)
{
	if (events == 0)
		return OK;
	if (c->phase == CLIENT_CONNECT)
		return client_connected(c);
	if (events & POLLOUT)
		c->control_full = false;
	if (events & POLLIN)
		c->is_readable = true;
	return events & ~(POLLOUT | POLLIN) ? receive(c) : OK;
}

static enum status
data_event(struct client *c, short events)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (events & POLLOUT)
		c->data_full = false;
	if ((events & ~POLLOUT) == 0)
		return OK;
	getsockopt(c->data, SOL_SOCKET, SO_ERROR, &err, &len);
	/* Perhaps nobody listens there now: lost packets show in the counts. */
	if (c->config.udp)
		return OK;
	return client_fail(c, E_IO, "the relay closed the data connection%s%s",
	    err != 0 ? ": " : "", err != 0 ? strerror(err) : "");
}

enum status
client_ready(struct client *c, short control, short data)
{
	enum status st = c->failed;

	if (st == OK)
		st = control_event(c, control);
	if (st == OK && c->data >= 0)
		st = data_event(c, data);
	if (st == OK)
		st = move(c);
	while (st == OK && c->is_readable && wants_answers(c)) {
		st = receive(c);
		if (st == OK)
			st = move(c);
	}
	return st;
}

/* TIMEOUT_MS, but at most until AT_NS. The time is rounded up: otherwise the
 * wait would be a busy wait. */
static int
shorten(int timeout_ms, uint64_t at_ns)
{
	uint64_t now = clock_now_ns(), ms;

	if (at_ns == UINT64_MAX)
		return timeout_ms;
	ms = at_ns <= now ? 0 : (at_ns - now + NS_PER_MS - 1) / NS_PER_MS;
	if (timeout_ms >= 0 && ms > (uint64_t)timeout_ms)
		return timeout_ms;
	return ms > 1000 ? 1000 : (int)ms;
}

enum status
client_work(struct client *c, int timeout_ms)
{
	struct pollfd fds[CLIENT_POLLFDS];
	enum status st = c->failed;
	uint64_t at_ns, before = c->moved_ns;
	unsigned n;

	if (st != OK || (st = move(c)) != OK)
		return st;
	if (c->moved_ns != before) {
		if (!wants_answers(c))
			return OK;
		timeout_ms = 0;
	}
	n = client_pollfds(c, fds, &at_ns);
	if (poll(fds, n, shorten(timeout_ms, at_ns)) < 0 && errno != EINTR)
		return client_fail_errno(c, "poll");
	return client_ready(
	    c, n > 0 ? fds[0].revents : 0, n > 1 ? fds[1].revents : 0);
}
