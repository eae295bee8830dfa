/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/link.h"

#include <endian.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

#define FRAME_HEADER 9
/* A connection that vanished is noticed after so many seconds. */
#define KEEPALIVE_S 30

struct link {
	struct bufferevent *bev;
	const struct link_ops *ops;
	void *arg;
	bool has_line, is_finishing;
	bool *gone; /* set when it is destroyed within a call */
};

static void
set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_S / 3 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name,
		    &options[i].value, sizeof(options[i].value));
}

/* One line or frame of the input. E_MORE: there is none. */
static enum status
take_input(struct link *l)
{
	struct evbuffer *in = bufferevent_get_input(l->bev);
	uint8_t header[FRAME_HEADER];
	uint32_t size, stream;
	const uint8_t *p;
	char *line;

	if (!l->has_line) {
		line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF);
		if (line == NULL)
			return evbuffer_get_length(in) < HELLO_BYTES_MAX
				   ? E_MORE
				   : E_LIMIT;
		l->has_line = true;
		l->ops->line(l->arg, line);
		free(line);
		return OK;
	}
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
	l->ops->frame(l->arg, (enum frame_kind)header[4], be32toh(stream),
	    p + FRAME_HEADER, 4 + size - FRAME_HEADER);
	return OK;
}

/* The frame is taken from the input behind the call, if the link is there. */
static void
drop_frame(struct link *l)
{
	struct evbuffer *in = bufferevent_get_input(l->bev);
	uint32_t size;

	if (evbuffer_copyout(in, &size, sizeof(size)) == sizeof(size))
		(void)evbuffer_drain(in, 4 + (size_t)be32toh(size));
}

static void
on_input(struct bufferevent *bev, void *arg)
{
	struct link *l = arg;
	bool gone = false;
	enum status st = OK;

	l->gone = &gone;
	while (
	    !l->is_finishing && (bufferevent_get_enabled(bev) & EV_READ) != 0) {
		const bool is_frame = l->has_line;

		st = take_input(l);
		if (gone)
			return;
		if (st != OK)
			break;
		if (is_frame)
			drop_frame(l);
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
		link_destroy(l);
	else if (l->ops->drained != NULL)
		l->ops->drained(l->arg);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	struct link *l = arg;

	(void)bev;
	(void)what;
	if (l->is_finishing)
		link_destroy(l);
	else
		l->ops->ended(l->arg);
}

enum status
link_create(struct link **out, struct event_base *base, int take_fd,
    const struct link_ops *ops, void *arg)
{
	struct link *l = calloc(1, sizeof(*l));

	*out = NULL;
	(void)evutil_make_socket_nonblocking(take_fd);
	set_options(take_fd);
	if (l != NULL)
		l->bev = bufferevent_socket_new(
		    base, take_fd, BEV_OPT_CLOSE_ON_FREE);
	if (l == NULL || l->bev == NULL) {
		close(take_fd);
		free(l);
		return E_NOMEM;
	}
	l->ops = ops;
	l->arg = arg;
	bufferevent_setcb(l->bev, on_input, on_output, on_event, l);
	bufferevent_setwatermark(
	    l->bev, EV_READ, 0, FRAME_HEADER + FRAME_BYTES_MAX);
	bufferevent_setwatermark(l->bev, EV_WRITE, LINK_WAITING_MAX / 4, 0);
	(void)bufferevent_enable(l->bev, EV_READ | EV_WRITE);
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
	bufferevent_free(l->bev);
	free(l);
}

void
link_finish(struct link *l)
{
	l->is_finishing = true;
	(void)bufferevent_disable(l->bev, EV_READ);
	bufferevent_setwatermark(l->bev, EV_WRITE, 0, 0);
	link_set_silence(l, 0);
	if (evbuffer_get_length(bufferevent_get_output(l->bev)) == 0)
		link_destroy(l);
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
link_hear(struct link *l, bool is_heard)
{
	const bool was = (bufferevent_get_enabled(l->bev) & EV_READ) != 0;

	if (was == is_heard || l->is_finishing)
		return;
	if (!is_heard) {
		(void)bufferevent_disable(l->bev, EV_READ);
		return;
	}
	(void)bufferevent_enable(l->bev, EV_READ);
	/* What came before is in the buffer, and makes no event. */
	bufferevent_trigger(l->bev, EV_READ,
	    BEV_TRIG_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
}

void
link_set_silence(struct link *l, unsigned seconds)
{
	const struct timeval tv = { .tv_sec = (time_t)seconds };

	(void)bufferevent_set_timeouts(l->bev, seconds > 0 ? &tv : NULL, NULL);
}

bool
link_is_name(const char *s)
{
	const size_t n = strlen(s);

	return n > 0 && n < LINK_NAME_MAX && *s != '.' && *s != '-' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz"
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

enum status
link_read_token(char out[TOKEN_BYTES], const char *path)
{
	FILE *f = fopen(path, "re");
	struct stat st = { 0 };
	bool is_ok = f != NULL && fstat(fileno(f), &st) == 0 &&
		     fgets(out, TOKEN_BYTES, f) != NULL;

	if (!is_ok && f != NULL && feof(f))
		log_error("%s: is empty", path);
	else if (!is_ok)
		log_errno(LOG_ERROR, "%s: no token", path);
	if (f != NULL)
		fclose(f);
	if (!is_ok)
		return E_IO;
	out[strcspn(out, "\r\n")] = '\0';
	if ((st.st_mode & 077) != 0) {
		log_error("%s: others may read it; chmod 600", path);
		return E_REFUSED;
	}
	for (const char *c = out; *c != '\0'; c++)
		is_ok &= *c > ' ' && *c < 127;
	/* Without its end it may be longer, and would be cut. */
	if (!is_ok || strlen(out) < 16 || strlen(out) > TOKEN_BYTES - 2) {
		log_error("%s: a token is one word of 16 to %d characters",
		    path, TOKEN_BYTES - 2);
		return E_REFUSED;
	}
	return OK;
}

bool
link_is_token(const char *a, const char *b)
{
	char x[TOKEN_BYTES] = "", y[TOKEN_BYTES] = "";
	unsigned char different = 0;

	snprintf(x, sizeof(x), "%s", a);
	snprintf(y, sizeof(y), "%s", b);
	for (size_t i = 0; i < sizeof(x); i++)
		different |= (unsigned char)(x[i] ^ y[i]);
	return different == 0 && strlen(a) < sizeof(x);
}

int
link_dial(const char *address)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(address, ':');
	struct addrinfo *found, *at;
	char host[256] = "";
	int fd = -1, err;

	if (colon == NULL || (size_t)(colon - address) >= sizeof(host)) {
		log_error("%s: is not HOST:PORT", address);
		return -1;
	}
	/* [::1]:5347, as well as ::1:5347. */
	if (*address == '[' && colon > address && colon[-1] == ']')
		memcpy(host, address + 1, (size_t)(colon - address) - 2);
	else
		memcpy(host, address, (size_t)(colon - address));
	err = getaddrinfo(host, colon + 1, &hints, &found);
	if (err != 0) {
		log_error("%s: %s", address, gai_strerror(err));
		return -1;
	}
	for (at = found; at != NULL && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	if (fd < 0)
		log_errno(LOG_ERROR, "%s: cannot connect", address);
	freeaddrinfo(found);
	return fd;
}
