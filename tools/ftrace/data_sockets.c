/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/data_sockets.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/tcp_port.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/message.h"
#include "tools/ftrace/page_feed.h"

/* The bytes of one read, and those read from a socket in one cycle of the
 * loop. */
#define READ_SIZE (256 << 10)
#define TURN_SIZE (1 << 20)
/* Datagrams of one system call. */
#define BATCH 64
/* The most that data_sockets_drain() reads of a socket: more than the kernel
 * buffers. */
#define DRAIN_SIZE (32 << 20)
/* How long after the recorder's CLOSE datagrams or a new connection may arrive,
 * and a connection may be silent. */
#define DATA_GRACE_MS 1000
#define DATA_SILENCE_MS 5000

enum data_state {
	DATA_LISTENING, /* TCP: not connected */
	DATA_OPEN,
	DATA_ENDED,
};

struct data_socket {
	struct data_sockets *all;
	int fd;
	enum data_state state;
	bool is_connected; /* UDP: to the first sender */
	struct event *event;
};

struct data_sockets {
	struct data_config config;
	uint32_t page_size;
	uint64_t last_ns; /* the last time that the recorder sent anything */
	struct data_counts counts;
	uint8_t *buffer;    /* READ_SIZE bytes */
	unsigned next_port; /* the next one to try */
	uint32_t n_bound;
	uint16_t ports[MESSAGE_CPUS_MAX];
	struct data_socket sockets[];
};

static bool
is_peer(const struct data_sockets *d, const struct sockaddr *a)
{
	return address_is_same(d->config.peer, a);
}

static void
close_socket(struct data_socket *s)
{
	if (s->event != NULL)
		event_free(s->event);
	s->event = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->state = DATA_ENDED;
}

static void
end_socket(struct data_socket *s)
{
	struct data_sockets *d = s->all;

	if (s->state == DATA_ENDED)
		return;
	close_socket(s);
	d->config.ended(d->config.arg, (uint32_t)(s - d->sockets));
}

/* OK: more may be available. E_MORE: nothing now. E_IO: it has ended. */
static enum status
read_stream(struct data_socket *s, size_t *n)
{
	struct data_sockets *d = s->all;
	const ssize_t got = read(s->fd, d->buffer, READ_SIZE);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return E_MORE;
	if (got < 0)
		log_peer_errno(LOG_WARN,
		    "peer=%s: cannot read the pages of CPU %u",
		    d->config.peer_name, (unsigned)(s - d->sockets));
	if (got <= 0)
		return E_IO;
	d->last_ns = clock_now_ns();
	page_feed_bytes(
	    d->config.feed, (uint32_t)(s - d->sockets), d->buffer, (size_t)got);
	*n += (size_t)got;
	return OK;
}

/* Accepts a datagram if it is a page of the recorder. */
static void
take_datagram(struct data_socket *s, const struct mmsghdr *m)
{
	struct data_sockets *d = s->all;
	const struct sockaddr *from = m->msg_hdr.msg_name;

	if (!is_peer(d, from)) {
		d->counts.from_others++;
		return;
	}
	if (m->msg_len != d->page_size ||
	    (m->msg_hdr.msg_flags & MSG_TRUNC) != 0) {
		d->counts.malformed++;
		return;
	}
	d->last_ns = clock_now_ns();
	/* From here on the kernel drops datagrams of other senders. */
	if (!s->is_connected)
		s->is_connected = connect(
				      s->fd, from, m->msg_hdr.msg_namelen) == 0;
	page_feed_bytes(d->config.feed, (uint32_t)(s - d->sockets),
	    m->msg_hdr.msg_iov->iov_base, m->msg_len);
}

static enum status
read_datagrams(struct data_socket *s, size_t *n)
{
	struct data_sockets *d = s->all;
	struct sockaddr_storage from[BATCH];
	struct mmsghdr messages[BATCH];
	struct iovec iov[BATCH];
	/* One more byte, to detect larger datagrams. */
	const size_t size = d->page_size + 1;
	const size_t fit = READ_SIZE / size;
	const unsigned most = fit > BATCH ? BATCH : (unsigned)fit;
	int got;

	for (unsigned i = 0; i < most; i++) {
		iov[i] = (struct iovec){ d->buffer + i * size, size };
		messages[i] =
		    (struct mmsghdr){ .msg_hdr = { .msg_name = &from[i],
					  .msg_namelen = sizeof(from[i]),
					  .msg_iov = &iov[i],
					  .msg_iovlen = 1 } };
	}
	got = recvmmsg(s->fd, messages, most, MSG_DONTWAIT, NULL);
	if (got <= 0)
		return E_MORE;
	for (int i = 0; i < got; i++) {
		take_datagram(s, &messages[i]);
		*n += size;
	}
	return (unsigned)got == most ? OK : E_MORE;
}

/* Reads at most MOST bytes, roughly. */
static void
read_some(struct data_socket *s, size_t most)
{
	enum status st = OK;
	size_t n = 0;

	while (st == OK && n < most)
		st = s->all->config.is_tcp ? read_stream(s, &n)
					   : read_datagrams(s, &n);
	if (st == E_IO)
		end_socket(s);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_some(arg, TURN_SIZE);
}

static enum status
watch(struct data_socket *s, event_callback_fn on_ready)
{
	if (s->event != NULL)
		event_free(s->event);
	s->event = command_loop_watch(
	    s->all->config.base, s->fd, EV_READ | EV_PERSIST, on_ready, s);
	return s->event != NULL ? OK : E_NOMEM;
}

/* Accepts the first connection from the recorder's host. */
static void
take_connection(struct data_socket *s)
{
	struct data_sockets *d = s->all;
	struct sockaddr_storage from = { 0 };
	socklen_t len = sizeof(from);
	const int fd = accept4(s->fd, (struct sockaddr *)&from, &len,
	    SOCK_NONBLOCK | SOCK_CLOEXEC);

	assert(s->state == DATA_LISTENING && s->all->config.is_tcp);
	if (fd < 0)
		return;
	if (!is_peer(d, (const struct sockaddr *)&from)) {
		if (d->counts.from_others++ == 0)
			log_peer(LOG_WARN,
			    "peer=%s: refused a connection from another host "
			    "for its pages",
			    d->config.peer_name);
		close(fd);
		return;
	}
	d->last_ns = clock_now_ns();
	close_socket(s);
	s->fd = fd;
	s->state = DATA_OPEN;
	if (watch(s, on_readable) != OK)
		end_socket(s);
}

static void
on_connection(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	take_connection(arg);
}

/* UDP: space for a burst. */
static void
set_receive_buffer(const struct data_sockets *d, int fd)
{
	int bytes = (int)(DATA_RECEIVE_ALL_BYTES / d->config.cpus);

	if (bytes > DATA_RECEIVE_BYTES)
		bytes = DATA_RECEIVE_BYTES;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) !=
	    0)
		(void)setsockopt(
		    fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

/* Binds the socket of the next CPU to the next port. E_MORE: that is taken. */
static enum status
bind_next(struct data_sockets *d)
{
	const struct data_config *c = &d->config;
	struct data_socket *s = &d->sockets[d->n_bound];
	const unsigned port = d->next_port++;

	if (port <= c->port_last)
		s->fd = address_bind(c->bind_host, (uint16_t)port,
		    c->is_tcp ? SOCK_STREAM : SOCK_DGRAM);
	else
		errno = EADDRINUSE;
	if (s->fd < 0 && port < c->port_last &&
	    (errno == EADDRINUSE || errno == EACCES))
		return E_MORE;
	if (s->fd < 0) {
		log_peer_errno(LOG_ERROR,
		    "peer=%s: no free port for its pages in %u-%u "
		    "(--data-ports)",
		    c->peer_name, c->port_first, c->port_last);
		return E_LIMIT;
	}
	s->state = c->is_tcp ? DATA_LISTENING : DATA_OPEN;
	if (!c->is_tcp)
		set_receive_buffer(d, s->fd);
	d->ports[d->n_bound++] = (uint16_t)port;
	return OK;
}

struct data_sockets *
data_sockets_create(const struct data_config *config)
{
	struct data_sockets *d = calloc(
	    1, sizeof(*d) + (size_t)config->cpus * sizeof(d->sockets[0]));

	assert(config->cpus > 0 && config->cpus <= MESSAGE_CPUS_MAX &&
	       config->port_first <= config->port_last);
	if (d == NULL)
		return NULL;
	d->config = *config;
	d->next_port = config->port_first;
	for (uint32_t i = 0; i < config->cpus; i++)
		d->sockets[i] = (struct data_socket){
			.all = d, .fd = -1, .state = DATA_ENDED
		};
	return d;
}

enum status
data_sockets_bind(struct data_sockets *d, uint64_t until_ns)
{
	enum status st = OK;

	while (d->n_bound < d->config.cpus) {
		st = bind_next(d);
		if (st != OK && st != E_MORE)
			return st;
		if (clock_now_ns() >= until_ns)
			break;
	}
	return d->n_bound < d->config.cpus ? E_MORE : OK;
}

const uint16_t *
data_sockets_ports(const struct data_sockets *d)
{
	assert(d->n_bound == d->config.cpus);
	return d->ports;
}

void
data_sockets_destroy(struct data_sockets *d)
{
	if (d == NULL)
		return;
	for (uint32_t i = 0; i < d->config.cpus; i++)
		close_socket(&d->sockets[i]);
	free(d->buffer);
	free(d);
}

enum status
data_sockets_start(struct data_sockets *d, uint32_t page_size)
{
	enum status st = OK;

	assert(d->config.is_tcp || page_size <= DATA_DATAGRAM_BYTES);
	d->page_size = page_size;
	d->last_ns = clock_now_ns();
	d->buffer = malloc(READ_SIZE);
	if (d->buffer == NULL)
		return E_NOMEM;
	for (uint32_t i = 0; i < d->config.cpus && st == OK; i++)
		st = watch(&d->sockets[i],
		    d->config.is_tcp ? on_connection : on_readable);
	return st;
}

void
data_sockets_drain(struct data_sockets *d)
{
	if (d->buffer == NULL)
		return;
	for (uint32_t i = 0; i < d->config.cpus; i++) {
		struct data_socket *s = &d->sockets[i];

		if (s->state == DATA_LISTENING)
			take_connection(s);
		if (s->state == DATA_OPEN)
			read_some(s, DRAIN_SIZE);
	}
}

bool
data_sockets_are_done(const struct data_sockets *d, uint64_t since_ns)
{
	const uint64_t now = clock_now_ns();
	const uint64_t last = d->last_ns > since_ns ? d->last_ns : since_ns;
	const uint64_t quiet_ms = (now - last) / NS_PER_MS;

	for (uint32_t i = 0; i < d->config.cpus; i++) {
		const enum data_state state = d->sockets[i].state;
		const uint64_t most = state == DATA_OPEN && d->config.is_tcp
					  ? DATA_SILENCE_MS
					  : DATA_GRACE_MS;

		if (state != DATA_ENDED && quiet_ms < most)
			return false;
	}
	return true;
}

/* Datagrams dropped by the kernel. */
static uint32_t
drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t n = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &n) != 0)
		return 0;
	return info[SK_MEMINFO_DROPS];
}

struct data_counts
data_sockets_counts(const struct data_sockets *d)
{
	struct data_counts counts = d->counts;

	for (uint32_t i = 0; i < d->config.cpus && !d->config.is_tcp; i++)
		counts.dropped += drops(d->sockets[i].fd);
	return counts;
}
