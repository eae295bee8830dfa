/* SPDX-License-Identifier: MIT */
#include "tools/send/live_viewer.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/client/client.h"
#include "tools/client/tcp_options.h"

#define READ_MIN 4096

enum status
live_viewer_fail(struct live_viewer *v, enum status st, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(v->error, sizeof(v->error), fmt, args);
	va_end(args);
	return st;
}

/* Wait until the socket is ready for EVENTS, MS milliseconds at most. */
static enum status
wait_for(struct live_viewer *v, short events, int ms)
{
	const uint64_t until = clock_now_ns() + (uint64_t)ms * NS_PER_MS;
	struct pollfd p = { .fd = v->fd, .events = events };
	int left;

	while (v->goes_on(v->arg)) {
		left = clock_ms_until(until);
		if (left == 0)
			return live_viewer_fail(
			    v, E_IO, "the relay does not answer");
		if (left > CLIENT_TICK_MS)
			left = CLIENT_TICK_MS;
		if (poll(&p, 1, left) > 0)
			return OK;
	}
	return E_STOPPED;
}

static enum status
connect_to(struct live_viewer *v, const struct url_address *to)
{
	int error = 0;
	socklen_t len = sizeof(error);
	enum status st;

	v->fd = tcp_connect(to);
	if (v->fd < 0)
		return live_viewer_fail(v, E_IO, "%s", strerror(errno));
	st = wait_for(v, POLLOUT, CLIENT_CONNECT_MS);
	if (st == OK &&
	    (getsockopt(v->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 ||
		error != 0))
		st = live_viewer_fail(v, E_IO, "%s", strerror(error));
	if (st != OK) {
		close(v->fd);
		v->fd = -1;
	}
	return st;
}

static enum status
connect_to_any(struct live_viewer *v, const struct url *url)
{
	struct url_address to[URL_ADDRESSES];
	const char *why;
	unsigned n = 0;
	enum status st = url_resolve(
	    url, to, &n, &why, CLIENT_TICK_MS, v->goes_on, v->arg);

	if (st == E_STOPPED)
		return st;
	if (st != OK)
		return live_viewer_fail(v, st, "%s", why);
	st = E_IO;
	for (unsigned i = 0; i < n && st != OK && st != E_STOPPED; i++)
		st = connect_to(v, &to[i]);
	return st;
}

static enum status
greet(struct live_viewer *v)
{
	struct reader r;
	uint32_t major;
	enum status st;

	v->minor = LIVE_MINOR;
	st = live_viewer_ask(v,
	    &(struct live_request){ .cmd = LIVE_CMD_connect,
		.major = LIVE_MAJOR,
		.minor = LIVE_MINOR,
		.type = LIVE_CLIENT_COMMAND },
	    &r);
	if (st != OK)
		return st;
	(void)reader_u64(&r); /* viewer_session_id */
	major = reader_u32(&r);
	v->minor = reader_u32(&r);
	if (v->minor > LIVE_MINOR)
		v->minor = LIVE_MINOR;
	if (major != LIVE_MAJOR)
		return live_viewer_fail(v, E_PROTOCOL,
		    "the live protocol of the relay is version %u, not %d",
		    major, LIVE_MAJOR);
	return OK;
}

enum status
live_viewer_open(struct live_viewer *v, const struct url *url,
    bool (*goes_on)(void *arg), void *arg)
{
	enum status st;

	*v = (struct live_viewer){ .fd = -1, .goes_on = goes_on, .arg = arg };
	st = connect_to_any(v, url);
	return st == OK ? greet(v) : st;
}

void
live_viewer_close(struct live_viewer *v)
{
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
	buf_free(&v->in);
}

/* A request is smaller than any socket's buffer, and the only one. */
static enum status
send_request(struct live_viewer *v, const struct live_request *q)
{
	uint8_t bytes[LIVE_HEADER_LEN + LIVE_PAYLOAD_MAX];
	struct buf b = { .mem = bytes, .cap = sizeof(bytes) };

	live_request_encode(&b, q);
	if (send(v->fd, bytes, buf_len(&b), MSG_NOSIGNAL) ==
	    (ssize_t)buf_len(&b))
		return OK;
	return live_viewer_fail(v, E_IO, "%s", strerror(errno));
}

/* Receive at most N bytes. */
static enum status
receive(struct live_viewer *v, size_t n)
{
	uint8_t *at = buf_reserve(&v->in, n);
	ssize_t got;
	enum status st;

	if (at == NULL)
		return live_viewer_fail(v, E_NOMEM, "out of memory");
	st = wait_for(v, POLLIN, LIVE_VIEWER_TIMEOUT_MS);
	if (st != OK)
		return st;
	got = recv(v->fd, at, n, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return OK;
	if (got < 0)
		return live_viewer_fail(v, E_IO, "%s", strerror(errno));
	if (got == 0)
		return live_viewer_fail(
		    v, E_IO, "the relay closed the connection");
	buf_added(&v->in, (size_t)got);
	return OK;
}

/* How many bytes of the reply to Q to ask for next; 0: it is whole. Memory
 * grows with what arrives, except for a packet, whose size was given. */
static size_t
missing(const struct live_viewer *v, const struct live_request *q)
{
	const size_t have = buf_len(&v->in);
	const uint64_t size = live_reply_size(
	    q->cmd, v->minor, buf_data(&v->in), have);

	if (size == 0)
		return have == 0 && q->cmd == LIVE_CMD_get_packet
			   ? q->length + READ_MIN
			   : READ_MIN;
	if (have >= size)
		return 0;
	return size - have > READ_MIN + have ? READ_MIN + have
					     : (size_t)(size - have);
}

enum status
live_viewer_ask(
    struct live_viewer *v, const struct live_request *q, struct reader *reply)
{
	enum status st;
	size_t n;

	buf_consume(&v->in, buf_len(&v->in));
	st = send_request(v, q);
	while (st == OK && (n = missing(v, q)) > 0)
		st = receive(v, n);
	*reply = reader_over(buf_data(&v->in), buf_len(&v->in));
	return st;
}

uint8_t *
live_viewer_take(struct live_viewer *v)
{
	uint8_t *mem = v->in.mem;

	v->in = (struct buf){ 0 };
	return mem;
}
