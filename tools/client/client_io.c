/* SPDX-License-Identifier: MIT */
/* The sockets of a client: connecting, the dialog that opens the session,
 * replies, and moving bytes. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/client/client_internal.h"
#include "tools/client/tcp_options.h"

#define READ_SIZE 16384

static enum status advance(struct client *c);

static enum status
cannot_connect(struct client *c, uint16_t port)
{
	return client_fail(c, E_IO, "%s port %u: %s", c->config.url.host, port,
	    strerror(errno));
}

/* Is there an address to try? When no other address answers, the silent one is
 * tried again: it may only be slow. */
static bool
has_address(struct client *c)
{
	if (c->address == c->n_addresses && c->has_silent) {
		c->has_silent = false;
		c->address = c->silent;
		c->n_addresses = c->silent + 1;
	}
	return c->address < c->n_addresses;
}

/* Connect to the current address, or to one after it. */
static enum status
begin_connect(struct client *c)
{
	for (; has_address(c); c->address++) {
		c->moved_ns = clock_now_ns();
		c->control = tcp_connect(&c->addresses[c->address]);
		if (c->control >= 0) {
			client_opened(c, c->control);
			return OK;
		}
	}
	return cannot_connect(c, c->config.url.control);
}

/* Leave the address in use, which failed with ERR. */
static enum status
next_address(struct client *c, int err)
{
	assert(c->phase == CLIENT_CONNECT && c->control >= 0);
	close(c->control);
	c->control = -1;
	c->address++;
	errno = err;
	return begin_connect(c);
}

enum status
client_connect_elsewhere(struct client *c, uint64_t now_ns)
{
	if (c->phase != CLIENT_CONNECT || c->address + 1 >= c->n_addresses ||
	    now_ns - c->moved_ns < c->config.connect_ms * NS_PER_MS)
		return OK;
	if (!c->has_silent)
		c->silent = c->address;
	c->has_silent = true;
	return next_address(c, ETIMEDOUT);
}

static bool
goes_on(void *arg)
{
	return client_goes_on(arg);
}

static enum status
start(struct client *c)
{
	const struct client_watch *w = c->config.watch;
	const bool is_asked = w != NULL && w->goes_on != NULL;
	const char *why;
	enum status st = OK;

	if (c->n_addresses == 0)
		st = url_resolve(&c->config.url, c->addresses, &c->n_addresses,
		    &why, CLIENT_TICK_MS, is_asked ? goes_on : NULL, c);
	if (st == E_STOPPED)
		return st;
	if (st != OK)
		return client_fail(c, st, "%s: %s", c->config.url.host, why);
	c->phase = CLIENT_CONNECT;
	return begin_connect(c);
}

enum status
client_open(struct client *c)
{
	enum status st = c->failed;

	if (st == OK && c->phase == CLIENT_NEW)
		st = start(c);
	while (st == OK && c->config.waits && !client_is_open(c))
		st = client_wait(c);
	return st;
}

static enum status
ask_session(struct client *c)
{
	struct relay_session_request q = {
		.session_name = c->config.session_name,
		.hostname = c->config.hostname,
		.base_path = c->config.url.path,
		.live_timer_us = c->config.live_timer_us,
		.name_has_time = c->config.name_has_time,
		.trace_format = 1,
	};
	struct client_identity id;

	if (c->dialog.minor < CLIENT_MINOR_MIN)
		return client_fail(c, E_PROTOCOL,
		    "the relay has protocol 2.%u: 2.11 or newer is required",
		    c->dialog.minor);
	if (c->resumes)
		id = *c->config.identity;
	else if (client_identity_make(&id) != OK)
		return client_fail_errno(c, "getrandom");
	q.uuid = id.uuid;
	q.creation_time = id.creation_time;
	relay_request_create_session(
	    dialog_ask(&c->dialog, RELAY_CMD_create_session, 0),
	    c->dialog.minor, &q);
	return OK;
}

/* Ask for a trace chunk immediately after CREATE_SESSION, as peers do
 * (streaming 1.1). */
static enum status
ask_chunk(struct client *c)
{
	const struct url_address to = url_with_port(
	    &c->addresses[c->address], c->config.url.data);

	c->data = tcp_connect(&to);
	if (c->data < 0)
		return cannot_connect(c, c->config.url.data);
	client_opened(c, c->data);
	relay_request_create_chunk(
	    dialog_ask(&c->dialog, RELAY_CMD_create_trace_chunk, 0), 0,
	    clock_wall_s(), NULL);
	return OK;
}

/* Has the phase nothing to do for this client? */
static bool
is_needless(const struct client *c)
{
	switch (c->phase) {
	case CLIENT_CONFIGURATION:
		return !c->config.udp && c->config.identity == NULL;
	case CLIENT_RESUME:
		return !c->resumes;
	case CLIENT_UDP:
		return !c->config.udp;
	default:
		return false;
	}
}

static enum status
advance(struct client *c)
{
	if (c->phase == CLIENT_OPEN || c->dialog.n > 0)
		return OK;
	do
		c->phase++;
	while (is_needless(c));
	assert(c->phase <= CLIENT_OPEN);
	switch (c->phase) {
	case CLIENT_VERSION:
		relay_request_version(
		    dialog_ask(&c->dialog, RELAY_CMD_version, 0), RELAY_MAJOR,
		    c->dialog.minor);
		return OK;
	case CLIENT_CONFIGURATION:
		relay_request_id(
		    dialog_ask(&c->dialog, RELAY_CMD_get_configuration, 0),
		    RELAY_CMD_get_configuration,
		    c->config.udp ? RELAY_CONFIG_UDP : RELAY_CONFIG_RESUME);
		return OK;
	case CLIENT_RESUME:
		relay_request_resume(
		    dialog_ask(&c->dialog, RELAY_CMD_resume, 0),
		    &c->config.identity->key);
		return OK;
	case CLIENT_UDP:
		client_udp_ask_open(c);
		return OK;
	case CLIENT_SESSION:
		return ask_session(c);
	case CLIENT_CHUNK:
		return ask_chunk(c);
	case CLIENT_NEW:
	case CLIENT_CONNECT:
	case CLIENT_OPEN:
		break;
	}
	return OK;
}

static enum status
keep_path(struct client *c, const struct dialog_reply *r)
{
	if (r->path.n >= sizeof(c->path))
		return client_fail(
		    c, E_PROTOCOL, "the relay's session path is too long");
	memcpy(c->path, r->path.p, r->path.n);
	c->path[r->path.n] = '\0';
	return OK;
}

static enum status
take_pending(struct client *c, const struct dialog_reply *r)
{
	if (r->value > 1)
		return client_fail(c, E_PROTOCOL, "invalid answer to %s: %llu",
		    relay_row(r->cmd)->name, (unsigned long long)r->value);
	c->round.is_pending |= r->value == 1;
	c->round.is_answered |= r->cmd == RELAY_CMD_end_data_pending;
	return OK;
}

static void
take_index(struct client *c, const struct dialog_reply *r)
{
	const struct client_watch *w = c->config.watch;
	struct client_answered *answered;

	assert(c->in_flight > 0);
	c->in_flight--;
	c->stats.indexes++;
	if (r->tag != CLIENT_BEACON_TAG) {
		assert(r->tag >> 32 < c->n_streams);
		answered = &c->streams[r->tag >> 32].answered;
		answered->packets++;
		answered->bytes += r->tag & UINT32_MAX;
	}
	if (w != NULL && w->index_answered != NULL)
		w->index_answered(w->arg, clock_now_ns() - r->at_ns);
}

/* A relay that does not know the question refuses it. */
static enum status
take_configuration(struct client *c, const struct dialog_reply *r)
{
	const uint64_t flags = r->code == RELAY_OK ? r->value : 0;

	c->resumes = !c->config.udp && (flags & RELAY_CONFIG_RESUME) != 0;
	if (!c->config.udp || (flags & RELAY_CONFIG_UDP) != 0)
		return OK;
	return client_fail(c, E_REFUSED,
	    "the relay does not accept UDP (its option --udp-port)");
}

static void
take_stream(struct client *c, const struct dialog_reply *r)
{
	struct client_stream *s = &c->streams[r->tag];

	s->handle = r->value;
	s->has_handle = true;
	/* The reply that was just taken has left space for it. */
	if (c->resumes)
		relay_request_id(
		    dialog_ask(&c->dialog, RELAY_CMD_stream_written, r->tag),
		    RELAY_CMD_stream_written, s->handle);
}

static enum status
take_written(struct client *c, const struct dialog_reply *r)
{
	struct client_stream *s = &c->streams[r->tag];
	struct reader body = r->body;

	(void)reader_u32(&body);
	s->has_written = true;
	return relay_written_decode(&body, &s->written);
}

static enum status
take(struct client *c, const struct dialog_reply *r)
{
	if (r->cmd == RELAY_CMD_get_configuration)
		return take_configuration(c, r);
	if (r->code != RELAY_OK)
		return client_fail(c, E_REFUSED,
		    "the relay refused %s: code %u", relay_row(r->cmd)->name,
		    r->code);
	switch (r->cmd) {
	case RELAY_CMD_create_session:
		c->session_id = r->value;
		return keep_path(c, r);
	case RELAY_CMD_add_stream:
		take_stream(c, r);
		return OK;
	case RELAY_CMD_stream_written:
		return take_written(c, r);
	case RELAY_CMD_udp_open:
		return client_udp_take_open(c, r);
	case RELAY_CMD_udp_status:
		return client_udp_take_status(c, r);
	case RELAY_CMD_data_pending:
	case RELAY_CMD_end_data_pending:
		return take_pending(c, r);
	case RELAY_CMD_send_index:
		take_index(c, r);
		return OK;
	}
	return OK;
}

static enum status
take_replies(struct client *c)
{
	struct dialog_reply r;
	enum status st;

	while ((st = dialog_next(&c->dialog, &r)) == OK)
		if ((st = take(c, &r)) != OK)
			return st;
	if (st != E_MORE)
		return client_fail(c, st, "unexpected data from the relay");
	return advance(c);
}

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
	return take_replies(c);
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

/* When does a timer expire? UINT64_MAX: never. */
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

/*
 * Should answers be read now? A relay may send each answer by itself, and each
 * would wake us. Answers to indexes can wait until half of those allowed are
 * due, or until there is nothing else to do.
 */
static bool
wants_answers(const struct client *c)
{
	return c->phase != CLIENT_OPEN || c->dialog.n > c->in_flight ||
	       2 * c->in_flight >= c->config.outstanding ||
	       c->outbox.waiting == 0;
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
	int err = 0;
	socklen_t len = sizeof(err);

	if (events == 0)
		return OK;
	if (c->phase == CLIENT_CONNECT) {
		if (getsockopt(c->control, SOL_SOCKET, SO_ERROR, &err, &len) !=
		    0)
			err = errno;
		return err == 0 ? advance(c) : next_address(c, err);
	}
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
	/* The relay may not be listening now: lost packets show in the counts.
	 */
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

enum status
client_work(struct client *c, int timeout_ms)
{
	struct pollfd fds[CLIENT_POLLFDS];
	enum status st = c->failed;
	uint64_t at_ns, before = c->moved_ns;
	unsigned n;
	int ms;

	if (st != OK || (st = move(c)) != OK)
		return st;
	if (c->moved_ns != before) {
		if (!wants_answers(c))
			return OK;
		timeout_ms = 0;
	}
	n = client_pollfds(c, fds, &at_ns);
	ms = at_ns == UINT64_MAX ? -1 : clock_ms_until(at_ns);
	if (ms < 0 || (timeout_ms >= 0 && timeout_ms < ms))
		ms = timeout_ms;
	if (poll(fds, n, ms) < 0 && errno != EINTR)
		return client_fail_errno(c, "poll");
	return client_ready(
	    c, n > 0 ? fds[0].revents : 0, n > 1 ? fds[1].revents : 0);
}
