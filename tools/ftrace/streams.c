/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/streams.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "common/log.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/command_loop.h"

/* The most bytes of a socket in one frame. */
#define PIECE_SIZE (32 << 10)

static uint32_t
number_of(const struct streams_stream *s)
{
	return (uint32_t)(s - s->all->streams);
}

static void
drop_stream(struct streams_stream *s)
{
	dial_destroy(s->dial);
	if (s->bev != NULL) {
		bufferevent_free(s->bev);
		s->all->n--;
	}
	*s = (struct streams_stream){ .all = s->all };
}

static void close_stream(struct streams *s, uint32_t stream);

static void
remove_stream(struct streams_stream *s)
{
	const uint32_t number = number_of(s);
	struct streams *all = s->all;

	drop_stream(s);
	if (number == 0)
		all->over(all->arg);
	else if (all->is_closing && all->n == 1)
		close_stream(all, 0);
}

/* Sends received bytes as frames, as far as the window and the link allow. */
static void
pump(struct streams_stream *s)
{
	struct evbuffer *in = bufferevent_get_input(s->bev);
	struct streams *all = s->all;
	size_t n;

	assert(s->bev != NULL && s->window <= LINK_WINDOW);
	while ((n = evbuffer_get_length(in)) > 0 && s->window > 0 &&
	       !link_is_full(all->link)) {
		const uint8_t *p;

		n = n < PIECE_SIZE ? n : PIECE_SIZE;
		n = n < s->window ? n : s->window;
		p = evbuffer_pullup(in, (ev_ssize_t)n);
		if (p == NULL)
			return;
		if (number_of(s) == 0 && all->sent != NULL)
			all->sent(all->arg, p, n);
		link_frame(all->link, FRAME_DATA, number_of(s), p, n);
		(void)evbuffer_drain(in, n);
		s->window -= (uint32_t)n;
	}
	if (n == 0 && s->is_ended) {
		link_frame(all->link, FRAME_CLOSE, number_of(s), NULL, 0);
		remove_stream(s);
		return;
	}
	all->is_blocked |= link_is_full(all->link);
	if (s->window == 0 || link_is_full(all->link))
		(void)bufferevent_disable(s->bev, EV_READ);
	else if (!s->is_ended)
		(void)bufferevent_enable(s->bev, EV_READ);
}

static void
on_input(struct bufferevent *bev, void *arg)
{
	(void)bev;
	pump(arg);
}

/* Reports written bytes to the peer, but not each few. */
static void
on_output(struct bufferevent *bev, void *arg)
{
	const size_t left = evbuffer_get_length(bufferevent_get_output(bev));
	struct streams_stream *s = arg;
	uint32_t n;

	if (s->is_closing) {
		if (left == 0)
			remove_stream(s);
		return;
	}
	n = s->unreported > left ? s->unreported - (uint32_t)left : 0;
	if (n < LINK_WINDOW / 4)
		return;
	s->unreported -= n;
	link_taken(s->all->link, number_of(s), n);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	struct streams_stream *s = arg;

	(void)bev;
	(void)what;
	if (s->is_closing) {
		remove_stream(s);
		return;
	}
	s->is_ended = true;
	pump(s);
}

/* Creates the stream, without a socket. */
static enum status
make_stream(struct streams *s, uint32_t stream)
{
	struct streams_stream *one = &s->streams[stream];

	assert(stream < LINK_STREAMS_MAX && !streams_has(s, stream));
	*one = (struct streams_stream){ .all = s, .window = LINK_WINDOW };
	one->bev = bufferevent_socket_new(
	    s->loop->base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (one->bev == NULL)
		return E_NOMEM;
	s->n++;
	(void)bufferevent_disable(one->bev, EV_READ | EV_WRITE);
	bufferevent_setcb(one->bev, on_input, on_output, on_event, one);
	bufferevent_setwatermark(one->bev, EV_READ, 0, PIECE_SIZE);
	bufferevent_setwatermark(one->bev, EV_WRITE, LINK_WINDOW / 2, 0);
	return OK;
}

static void
use_stream_socket(struct streams_stream *s, int take_fd)
{
	(void)bufferevent_setfd(s->bev, take_fd);
	(void)bufferevent_enable(
	    s->bev, s->is_closing ? EV_WRITE : EV_READ | EV_WRITE);
}

enum status
streams_add(struct streams *s, uint32_t stream, int take_fd)
{
	if (make_stream(s, stream) != OK) {
		evutil_closesocket(take_fd);
		return E_NOMEM;
	}
	(void)evutil_make_socket_nonblocking(take_fd);
	dial_set_options(take_fd);
	use_stream_socket(&s->streams[stream], take_fd);
	return OK;
}

static void
on_stream_dialled(void *arg, int take_fd)
{
	struct streams_stream *s = arg;

	s->dial = NULL;
	if (take_fd >= 0) {
		use_stream_socket(s, take_fd);
		return;
	}
	link_frame(s->all->link, FRAME_CLOSE, number_of(s), NULL, 0);
	remove_stream(s);
}

enum status
streams_dial(struct streams *s, uint32_t stream, const char *address)
{
	struct streams_stream *one = &s->streams[stream];
	enum status st = make_stream(s, stream);

	if (st == OK)
		st = dial_create(
		    &one->dial, s->loop, address, on_stream_dialled, one);
	if (st != OK)
		drop_stream(one);
	return st;
}

bool
streams_has(const struct streams *s, uint32_t stream)
{
	return s->streams[stream].bev != NULL;
}

void
streams_write(struct streams *s, uint32_t stream, const void *p, size_t n)
{
	struct bufferevent *bev = s->streams[stream].bev;

	if (bev != NULL && !s->streams[stream].is_closing)
		(void)bufferevent_write(bev, p, n);
}

/* Continues a stream that may have waited. */
static void
resume_stream(struct streams_stream *s)
{
	if (s->bev != NULL && s->dial == NULL && !s->is_closing)
		pump(s);
}

/* May a frame's N bytes be written? False: the stream is closed, or was closed
 * now since they are too many. */
static bool
took(struct streams *s, uint32_t stream, size_t n)
{
	struct streams_stream *one = &s->streams[stream];

	assert(stream < LINK_STREAMS_MAX);
	if (one->bev == NULL || one->is_closing)
		return false;
	if (n <= LINK_WINDOW - one->unreported) {
		one->unreported += (uint32_t)n;
		return true;
	}
	log_peer(
	    LOG_WARN, "stream %u: more bytes than its window; closed", stream);
	link_frame(s->link, FRAME_CLOSE, stream, NULL, 0);
	remove_stream(one);
	return false;
}

static void
grow_window(struct streams *s, uint32_t stream, const uint8_t *p, size_t n)
{
	struct streams_stream *one = &s->streams[stream];

	if (one->bev == NULL)
		return;
	one->window = link_grow_window(one->window, p, n);
	resume_stream(one);
}

/* Closes it when all is written. Stream 0 closes as the last one, so that pages
 * in flight are not lost when an agent ends. */
static void
close_stream(struct streams *s, uint32_t stream)
{
	struct streams_stream *one = &s->streams[stream];

	if (one->bev == NULL)
		return;
	s->is_closing |= stream == 0;
	if (stream == 0 && s->n > 1)
		return;
	one->is_closing = true;
	(void)bufferevent_disable(one->bev, EV_READ);
	if (evbuffer_get_length(bufferevent_get_output(one->bev)) == 0 ||
	    one->is_ended)
		remove_stream(one);
}

bool
streams_frame(struct streams *s, enum frame_kind kind, uint32_t stream,
    const uint8_t *p, size_t n)
{
	switch (kind) {
	case FRAME_TAKEN:
		grow_window(s, stream, p, n);
		return true;
	case FRAME_CLOSE:
		close_stream(s, stream);
		return true;
	case FRAME_DATA:
		if (!took(s, stream, n))
			return true;
		if (stream == 0 && s->received != NULL)
			s->received(s->arg, p, n);
		else
			streams_write(s, stream, p, n);
		return true;
	default:
		return false;
	}
}

void
streams_reset(struct streams *s)
{
	for (uint32_t i = 0; i < LINK_STREAMS_MAX; i++)
		drop_stream(&s->streams[i]);
	s->is_blocked = s->is_closing = false;
}

void
streams_resume(struct streams *s)
{
	if (!s->is_blocked)
		return;
	s->is_blocked = false;
	for (uint32_t i = 0; i < LINK_STREAMS_MAX; i++)
		resume_stream(&s->streams[i]);
}

enum status
resp_find(struct resp_finder *f, const uint8_t *p, size_t n,
    struct message_resp *out, size_t *at, size_t *size)
{
	enum status st = OK;
	struct tracecmd_message m;

	if (f->is_done)
		return E_REFUSED;
	buf_bytes(&f->in, p, n);
	for (*at = 0; st == OK && !f->in.bad; *at += *size) {
		st = message_parse(
		    &m, buf_data(&f->in) + *at, buf_len(&f->in) - *at, size);
		if (st != OK)
			break;
		if (m.number == MESSAGE_TRACE_RESP)
			return message_resp_decode(out, &m);
		/* The agent may also report an unknown request. */
	}
	if (st == E_MORE && buf_len(&f->in) < RESP_WAITING_MAX)
		return E_MORE;
	return f->in.bad ? E_NOMEM : E_MALFORMED;
}
