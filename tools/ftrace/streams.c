/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/streams.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

/* Bytes of a socket that become one frame. */
#define PIECE_SIZE (32 << 10)

static uint32_t
number_of(const struct streams_stream *s)
{
	return (uint32_t)(s - s->all->streams);
}

static void
remove_stream(struct streams_stream *s)
{
	bufferevent_free(s->bev);
	s->bev = NULL;
	s->is_closing = false;
	/* What it did not take holds nobody up any more. */
	link_hear(s->all->link, true);
	if (number_of(s) == 0)
		s->all->over(s->all->arg);
}

static void
on_input(struct bufferevent *bev, void *arg)
{
	struct streams_stream *s = arg;
	struct evbuffer *in = bufferevent_get_input(bev);

	while (evbuffer_get_length(in) > 0 && !link_is_full(s->all->link)) {
		const size_t have = evbuffer_get_length(in);
		const size_t n = have < PIECE_SIZE ? have : PIECE_SIZE;
		const uint8_t *p = evbuffer_pullup(in, (ev_ssize_t)n);

		if (p == NULL)
			return;
		if (number_of(s) == 0 && s->all->control != NULL)
			s->all->control(s->all->arg, p, n);
		link_frame(s->all->link, FRAME_DATA, number_of(s), p, n);
		(void)evbuffer_drain(in, n);
	}
	if (link_is_full(s->all->link))
		(void)bufferevent_disable(bev, EV_READ);
}

static void
on_output(struct bufferevent *bev, void *arg)
{
	struct streams_stream *s = arg;

	if (!s->is_closing)
		link_hear(s->all->link, true);
	else if (evbuffer_get_length(bufferevent_get_output(bev)) == 0)
		remove_stream(s);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	struct streams_stream *s = arg;
	struct evbuffer *in = bufferevent_get_input(bev);

	if ((what & BEV_EVENT_CONNECTED) != 0)
		return;
	/* What came before its end goes, however much waits. */
	while (evbuffer_get_length(in) > 0) {
		uint8_t piece[4096];
		const int n = evbuffer_remove(in, piece, sizeof(piece));

		if (n <= 0)
			break;
		link_frame(
		    s->all->link, FRAME_DATA, number_of(s), piece, (size_t)n);
	}
	if (!s->is_closing)
		link_frame(s->all->link, FRAME_CLOSE, number_of(s), NULL, 0);
	remove_stream(s);
}

enum status
streams_add(struct streams *s, uint32_t stream, int take_fd)
{
	struct streams_stream *one = &s->streams[stream];

	(void)evutil_make_socket_nonblocking(take_fd);
	one->all = s;
	one->is_closing = false;
	one->bev = bufferevent_socket_new(
	    s->base, take_fd, BEV_OPT_CLOSE_ON_FREE);
	if (one->bev == NULL) {
		evutil_closesocket(take_fd);
		return E_NOMEM;
	}
	bufferevent_setcb(one->bev, on_input, on_output, on_event, one);
	bufferevent_setwatermark(one->bev, EV_READ, 0, LINK_WAITING_MAX);
	(void)bufferevent_enable(one->bev, EV_READ | EV_WRITE);
	return OK;
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

	if (bev == NULL || s->streams[stream].is_closing)
		return;
	(void)bufferevent_write(bev, p, n);
	if (evbuffer_get_length(bufferevent_get_output(bev)) > LINK_WAITING_MAX)
		link_hear(s->link, false);
}

void
streams_close(struct streams *s, uint32_t stream)
{
	struct streams_stream *one = &s->streams[stream];

	if (one->bev == NULL)
		return;
	one->is_closing = true;
	(void)bufferevent_disable(one->bev, EV_READ);
	if (evbuffer_get_length(bufferevent_get_output(one->bev)) == 0)
		remove_stream(one);
}

void
streams_reset(struct streams *s)
{
	for (uint32_t i = 0; i < LINK_STREAMS_MAX; i++) {
		if (s->streams[i].bev != NULL)
			bufferevent_free(s->streams[i].bev);
		s->streams[i].bev = NULL;
	}
}

void
streams_go_on(struct streams *s)
{
	for (uint32_t i = 0; i < LINK_STREAMS_MAX; i++) {
		struct bufferevent *bev = s->streams[i].bev;

		if (bev == NULL || s->streams[i].is_closing ||
		    (bufferevent_get_enabled(bev) & EV_READ) != 0)
			continue;
		(void)bufferevent_enable(bev, EV_READ);
		bufferevent_trigger(bev, EV_READ,
		    BEV_TRIG_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
	}
}

enum status
resp_find(struct resp_finder *f, const uint8_t *p, size_t n,
    struct message_resp *out, size_t *at, size_t *size)
{
	enum status st = OK;
	struct message m;

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
		/* It may say that it does not know what it was asked. */
	}
	if (st == E_MORE && buf_len(&f->in) < RESP_WAITING_MAX)
		return E_MORE;
	return f->in.bad ? E_NOMEM : E_MALFORMED;
}
