/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/link.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/reader.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/command_loop.h"

#define FRAME_HEADER 9

struct link {
	struct bufferevent *bev;
	struct dial *dial;	/* until it is connected */
	struct event *deadline; /* for the peer's line, or for the end */
	const struct link_ops *ops;
	void *arg;
	bool has_line, is_finishing, has_only_lines;
	bool *gone; /* set when the link is destroyed in a callback */
};

/* Handles one line. E_MORE: it is not whole. */
static enum status
take_hello(struct link *l)
{
	struct evbuffer *in = bufferevent_get_input(l->bev);
	size_t n;
	char *line = evbuffer_readln(in, &n, EVBUFFER_EOL_LF);

	if (line == NULL)
		return evbuffer_get_length(in) < HELLO_BYTES_MAX ? E_MORE
								 : E_LIMIT;
	if (n >= HELLO_BYTES_MAX) {
		free(line);
		return E_LIMIT;
	}
	l->has_line = true;
	if (!l->has_only_lines)
		(void)event_del(l->deadline);
	l->ops->line(l->arg, line);
	free(line);
	return OK;
}

/* Handles one frame, without removing its *WHOLE bytes: the link may be gone.
 */
static enum status
take_frame(struct link *l, size_t *whole)
{
	struct evbuffer *in = bufferevent_get_input(l->bev);
	uint8_t header[FRAME_HEADER];
	uint32_t size, stream;
	const uint8_t *p;

	if (evbuffer_copyout(in, header, sizeof(header)) <
	    (ev_ssize_t)sizeof(header))
		return E_MORE;
	memcpy(&size, header, sizeof(size));
	memcpy(&stream, header + 5, sizeof(stream));
	size = be32toh(size);
	if (size < FRAME_HEADER - 4 ||
	    size > FRAME_HEADER - 4 + FRAME_BYTES_MAX ||
	    header[4] >= FRAME_KINDS)
		return E_MALFORMED;
	if (be32toh(stream) >= LINK_STREAMS_MAX)
		return E_LIMIT;
	if (evbuffer_get_length(in) < 4 + (size_t)size)
		return E_MORE;
	p = evbuffer_pullup(in, 4 + (ev_ssize_t)size);
	if (p == NULL)
		return E_NOMEM;
	*whole = 4 + (size_t)size;
	l->ops->frame(l->arg, (enum frame_kind)header[4], be32toh(stream),
	    p + FRAME_HEADER, 4 + size - FRAME_HEADER);
	return OK;
}

static void
on_input(struct bufferevent *bev, void *arg)
{
	struct link *l = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	bool gone = false;
	enum status st = OK;
	size_t size = 0;

	l->gone = &gone;
	while (
	    !l->is_finishing && (bufferevent_get_enabled(bev) & EV_READ) != 0) {
		const bool is_frame = l->has_line && !l->has_only_lines;

		st = is_frame ? take_frame(l, &size) : take_hello(l);
		if (gone)
			return;
		if (st != OK)
			break;
		if (is_frame)
			(void)evbuffer_drain(in, size);
	}
	l->gone = NULL;
	if (st != OK && st != E_MORE)
		l->ops->ended(l->arg);
}

static void
on_output(struct bufferevent *bev, void *arg)
{
	struct link *l = arg;

	(void)bev;
	if (l->is_finishing)
		l->ops->ended(l->arg);
	else if (l->ops->drained != NULL)
		l->ops->drained(l->arg);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	struct link *l = arg;

	(void)bev;
	(void)what;
	l->ops->ended(l->arg);
}

/* The peer is too slow, or too much waits. */
static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	on_event(NULL, what, arg);
}

static void
use_connection(struct link *l, int take_fd)
{
	const struct timeval stall = command_loop_timeval(
	    LINK_STALL_S * NS_PER_S);

	assert(take_fd >= 0 && !link_is_connected(l));
	(void)bufferevent_setfd(l->bev, take_fd);
	(void)bufferevent_set_timeouts(l->bev, NULL, &stall);
	(void)bufferevent_enable(l->bev, EV_READ | EV_WRITE);
	command_loop_set_timer(l->deadline, LINK_HELLO_S * NS_PER_S);
}

static struct link *
make_link(struct event_base *base, const struct link_ops *ops, void *arg)
{
	struct link *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->ops = ops;
	l->arg = arg;
	l->deadline = evtimer_new(base, on_deadline, l);
	l->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (l->deadline == NULL || l->bev == NULL) {
		link_destroy(l);
		return NULL;
	}
	(void)bufferevent_disable(l->bev, EV_READ | EV_WRITE);
	bufferevent_setcb(l->bev, on_input, on_output, on_event, l);
	bufferevent_setwatermark(
	    l->bev, EV_READ, 0, FRAME_HEADER + FRAME_BYTES_MAX);
	bufferevent_setwatermark(l->bev, EV_WRITE, LINK_WAITING_MAX / 4, 0);
	return l;
}

enum status
link_create(struct link **out, struct event_base *base, int take_fd,
    const struct link_ops *ops, void *arg)
{
	struct link *l = make_link(base, ops, arg);

	*out = l;
	(void)evutil_make_socket_nonblocking(take_fd);
	dial_set_options(take_fd);
	if (l == NULL) {
		close(take_fd);
		return E_NOMEM;
	}
	use_connection(l, take_fd);
	return OK;
}

static void
on_link_dialled(void *arg, int take_fd)
{
	struct link *l = arg;

	l->dial = NULL;
	if (take_fd >= 0)
		use_connection(l, take_fd);
	else
		on_event(NULL, 0, l);
}

enum status
link_dial(struct link **out, struct command_loop *loop, const char *address,
    const struct link_ops *ops, void *arg)
{
	struct link *l = make_link(loop->base, ops, arg);

	*out = NULL;
	if (l == NULL ||
	    dial_create(&l->dial, loop, address, on_link_dialled, l) != OK) {
		link_destroy(l);
		return E_NOMEM;
	}
	*out = l;
	return OK;
}

void
link_destroy(struct link *l)
{
	if (l == NULL)
		return;
	if (l->gone != NULL)
		*l->gone = true;
	dial_destroy(l->dial);
	if (l->deadline != NULL)
		event_free(l->deadline);
	if (l->bev != NULL)
		bufferevent_free(l->bev);
	free(l);
}

void
link_finish(struct link *l)
{
	const bool is_sent = evbuffer_get_length(
				 bufferevent_get_output(l->bev)) == 0;

	l->is_finishing = true;
	(void)bufferevent_disable(l->bev, EV_READ);
	bufferevent_setwatermark(l->bev, EV_WRITE, 0, 0);
	command_loop_set_timer(
	    l->deadline, is_sent ? 0 : LINK_HELLO_S * NS_PER_S);
}

bool
link_is_connected(const struct link *l)
{
	return bufferevent_getfd(l->bev) >= 0;
}

const char *
link_why(const char *line)
{
	static const char prefix[] = "error ";
	const size_t n = sizeof(prefix) - 1;

	return strncmp(line, prefix, n) == 0 ? line + n : line;
}

void
link_expect_lines(struct link *l)
{
	l->has_only_lines = true;
}

void
link_line(struct link *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)evbuffer_add_vprintf(bufferevent_get_output(l->bev), fmt, ap);
	va_end(ap);
}

void
link_frame(struct link *l, enum frame_kind kind, uint32_t stream, const void *p,
    size_t n)
{
	const uint32_t size = htobe32((uint32_t)(FRAME_HEADER - 4 + n)),
		       number = htobe32(stream);
	uint8_t header[FRAME_HEADER];

	assert(n <= FRAME_BYTES_MAX && stream < LINK_STREAMS_MAX);
	/* Too many replies wait. End soon; the caller continues for now. */
	if (evbuffer_get_length(bufferevent_get_output(l->bev)) + n >
	    LINK_WAITING_LAST) {
		command_loop_set_timer(l->deadline, 0);
		return;
	}
	memcpy(header, &size, sizeof(size));
	header[4] = (uint8_t)kind;
	memcpy(header + 5, &number, sizeof(number));
	(void)bufferevent_write(l->bev, header, sizeof(header));
	if (n > 0)
		(void)bufferevent_write(l->bev, p, n);
}

bool
link_is_full(const struct link *l)
{
	return evbuffer_get_length(bufferevent_get_output(l->bev)) >
	       LINK_WAITING_MAX;
}

void
link_set_reading(struct link *l, bool is_on)
{
	const bool was = (bufferevent_get_enabled(l->bev) & EV_READ) != 0;

	if (was == is_on || l->is_finishing)
		return;
	if (!is_on) {
		(void)bufferevent_disable(l->bev, EV_READ);
		return;
	}
	(void)bufferevent_enable(l->bev, EV_READ);
	/* Bytes already in the buffer cause no event. */
	bufferevent_trigger(l->bev, EV_READ,
	    BEV_TRIG_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
}

void
link_taken(struct link *l, uint32_t stream, uint32_t n)
{
	const uint32_t number = htobe32(n);

	link_frame(l, FRAME_TAKEN, stream, &number, sizeof(number));
}

uint32_t
link_grow_window(uint32_t window, const uint8_t *p, size_t n)
{
	struct reader r = reader_over(p, n);
	const uint32_t more = reader_u32(&r);

	assert(window <= LINK_WINDOW);
	if (reader_done(&r) != OK || more > LINK_WINDOW - window)
		return LINK_WINDOW;
	return window + more;
}
