/* SPDX-License-Identifier: MIT */
#include "tests/bench/watcher.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/program.h"

#define RECEIVE_MIN (64 * 1024)
/* So that the middle of a packet is soon reached by one that stalls. */
#define STALL_RCVBUF 4096

static void
watch(struct watcher *w, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = w };

	if (epoll_ctl(w->epoll, EPOLL_CTL_MOD, w->fd, &e) != 0)
		program_fail("epoll_ctl: %s", strerror(errno));
}

static void
connect_to_relay(struct watcher *w)
{
	const struct view_options *o = w->options;
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = w };
	const int one = 1, small = STALL_RCVBUF;

	w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (w->fd < 0)
		program_fail("socket: %s", strerror(errno));
	if (o->stall_ms > 0)
		setsockopt(w->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (connect(w->fd, (const struct sockaddr *)&o->relay,
		sizeof(o->relay)) != 0)
		program_fail("connect: %s", strerror(errno));
	setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->fd, &e) != 0)
		program_fail("epoll_ctl: %s", strerror(errno));
}

/* A request is smaller than any socket's buffer, and the only one. */
void
watcher_ask(struct watcher *w, struct live_request q)
{
	uint8_t bytes[LIVE_HEADER_LEN + LIVE_PAYLOAD_MAX];
	struct buf b = { .mem = bytes, .cap = sizeof(bytes) };

	live_request_encode(&b, &q);
	w->asked = q.cmd;
	w->asked_ns = clock_now_ns();
	w->result->requests++;
	if (send(w->fd, bytes, buf_len(&b), MSG_NOSIGNAL) !=
	    (ssize_t)buf_len(&b))
		program_fail("viewer %u: send: %s", w->number, strerror(errno));
}

void
watcher_wait(struct watcher *w, unsigned ms)
{
	w->wake_ns = clock_now_ns() + ms * NS_PER_MS;
}

static void
stall(struct watcher *w)
{
	w->is_stalled = true;
	watcher_wait(w, w->options->stall_ms);
	watch(w, 0);
}

void
watcher_ask_packet(struct watcher *w)
{
	const struct view_options *o = w->options;
	uint32_t left = o->shape.size + o->shape.padding - w->taken;

	if (o->piece > 0 && left > o->piece)
		left = o->piece;
	watcher_ask(w, (struct live_request){ .cmd = LIVE_CMD_get_packet,
			   .id = w->streams[w->at].id,
			   .offset = w->position + w->taken,
			   .length = left });
	if (o->stall_ms > 0 && w->result->stalled_bytes == 0 && !w->is_stalled)
		stall(w);
}

static bool
has_all(const struct watcher *w)
{
	for (unsigned i = 0; i < w->options->shape.streams; i++)
		if (!w->streams[i].is_placed ||
		    w->streams[i].next < w->options->shape.packets)
			return false;
	return true;
}

/* The next stream that still has packets; after the last one, any. */
static void
ask_index(struct watcher *w)
{
	const struct shape *s = &w->options->shape;
	const bool is_over = has_all(w);

	if (is_over && w->last_ns == 0)
		w->last_ns = clock_now_ns();
	if (is_over &&
	    clock_now_ns() >= w->last_ns + w->options->stay_ms * NS_PER_MS) {
		w->is_done = true;
		return;
	}
	do
		w->at = (w->at + 1) % s->streams;
	while (!is_over && w->streams[w->at].is_placed &&
	       w->streams[w->at].next == s->packets);
	watcher_ask(w, (struct live_request){ .cmd = LIVE_CMD_get_next_index,
			   .id = w->streams[w->at].id });
}

void
watcher_ask_next(struct watcher *w)
{
	if (w->session_id == 0)
		watcher_ask(
		    w, (struct live_request){ .cmd = LIVE_CMD_list_sessions });
	else if (!w->is_attached)
		watcher_ask(
		    w, (struct live_request){ .cmd = LIVE_CMD_attach_session,
			   .id = w->session_id,
			   .seek = w->options->is_last ? LIVE_SEEK_LAST
						       : LIVE_SEEK_BEGINNING });
	else if (w->n_known < w->options->shape.streams || w->metadata_id == 0)
		watcher_ask(
		    w, (struct live_request){ .cmd = LIVE_CMD_get_new_streams,
			   .id = w->session_id });
	else if (!w->has_metadata)
		watcher_ask(
		    w, (struct live_request){ .cmd = LIVE_CMD_get_metadata,
			   .id = w->metadata_id });
	else
		ask_index(w);
}

void
watcher_start(struct watcher *w, const struct view_options *o,
    struct view_result *r, unsigned number, int epoll)
{
	*w = (struct watcher){ .options = o,
		.result = r,
		.number = number,
		.session = o->shape.first + number % o->shape.sessions,
		.epoll = epoll };
	w->streams = calloc(o->shape.streams, sizeof(*w->streams));
	if (w->streams == NULL)
		program_fail("out of memory");
	connect_to_relay(w);
	watcher_ask(w, (struct live_request){ .cmd = LIVE_CMD_connect,
			   .major = LIVE_MAJOR,
			   .minor = VIEWER_MINOR,
			   .type = LIVE_CLIENT_COMMAND });
}

void
watcher_readable(struct watcher *w)
{
	size_t room = w->asked == LIVE_CMD_get_packet
			  ? w->options->shape.size + RECEIVE_MIN
			  : RECEIVE_MIN;
	uint8_t *at = buf_reserve(&w->in, room);
	ssize_t n = at == NULL ? -1 : recv(w->fd, at, room, MSG_DONTWAIT);

	if (n == 0)
		program_fail("viewer %u: the relay closed", w->number);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0)
		program_fail("viewer %u: recv: %s", w->number, strerror(errno));
	buf_added(&w->in, (size_t)n);
	watcher_take_replies(w);
}

void
watcher_tick(struct watcher *w, uint64_t now_ns)
{
	int unread = 0;

	if (w->is_done || w->wake_ns == 0 || now_ns < w->wake_ns)
		return;
	w->wake_ns = 0;
	if (!w->is_stalled) {
		watcher_ask_next(w);
		return;
	}
	w->is_stalled = false;
	if (ioctl(w->fd, FIONREAD, &unread) != 0 || unread <= 0)
		program_fail("viewer %u: nothing lay unread", w->number);
	w->result->stalled_bytes = (uint64_t)unread;
	watch(w, EPOLLIN);
}

void
watcher_stop(struct watcher *w)
{
	close(w->fd);
	buf_free(&w->in);
	free(w->streams);
}
