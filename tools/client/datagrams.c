/* SPDX-License-Identifier: MIT */
#include "tools/client/datagrams.h"

#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

/* Bytes of one segmented send: what IPv4 can carry, less headers. */
#define GSO_BYTES_MAX 65000

void
datagrams_init(
    struct datagrams *d, int fd, const struct client_channel *channel)
{
	int size = 0;
	socklen_t len = sizeof(size);

	*d = (struct datagrams){ .fd = fd, .channel = channel };
	d->has_gso = getsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, &len) == 0;
}

void
datagrams_put(struct datagrams *d, const struct udp_header *h)
{
	struct datagram *g = &d->batch[d->n++];

	assert(d->n <= DATAGRAMS_BATCH);
	assert(h->head_len <= PACKET_HEAD_MAX);
	udp_header_encode(g->header, h);
	if (h->head_len > 0)
		memcpy(g->header + UDP_HEADER_LEN, h->head, h->head_len);
	g->head = h->head_len;
	g->payload = h->payload;
	g->len = h->head_len + h->payload_len;
}

/* One send: datagrams of the same size, of which the last may be shorter. */
struct segments {
	unsigned n;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t))];
};

struct outgoing {
	struct mmsghdr messages[DATAGRAMS_BATCH];
	struct segments segments[DATAGRAMS_BATCH];
	struct iovec iov[2 * DATAGRAMS_BATCH];
	unsigned n;
};

static void
mark_segments(struct msghdr *m, struct segments *s, size_t size)
{
	const uint16_t segment = (uint16_t)size;
	struct cmsghdr *c;

	m->msg_control = s->control;
	m->msg_controllen = sizeof(s->control);
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(c), &segment, sizeof(segment));
}

/* How many datagrams from I on make one send? */
static unsigned
run_from(const struct datagrams *d, unsigned i)
{
	const uint32_t len = d->batch[i].len;
	size_t bytes = 0;
	unsigned n = 0;

	if (!d->has_gso)
		return 1;
	for (; i < d->n; i++) {
		bytes += UDP_HEADER_LEN + d->batch[i].len;
		if (d->batch[i].len > len || bytes > GSO_BYTES_MAX)
			break;
		n++;
		if (d->batch[i].len < len)
			break;
	}
	return n == 0 ? 1 : n;
}

static void
gather(struct datagrams *d, struct outgoing *o)
{
	unsigned pieces = 0;

	o->n = 0;
	for (unsigned i = d->sent; i < d->n;) {
		struct segments *s = &o->segments[o->n];
		struct msghdr *m = &o->messages[o->n++].msg_hdr;

		s->n = run_from(d, i);
		*m = (struct msghdr){ .msg_iov = &o->iov[pieces],
			.msg_iovlen = 2 * (size_t)s->n };
		if (s->n > 1)
			mark_segments(m, s, UDP_HEADER_LEN + d->batch[i].len);
		for (unsigned k = 0; k < s->n; k++, i++) {
			struct datagram *g = &d->batch[i];

			o->iov[pieces++] = (struct iovec){ g->header,
				UDP_HEADER_LEN + g->head };
			o->iov[pieces++] = (struct iovec){
				(void *)(uintptr_t)g->payload, g->len - g->head
			};
		}
	}
}

static void
advance(struct datagrams *d, const struct outgoing *o, unsigned messages)
{
	for (unsigned i = 0; i < messages; i++) {
		d->sent += o->segments[i].n;
		d->count += o->segments[i].n;
	}
}

/* Datagrams are lost while the network is down, or when a packet filter of this
 * host drops them. The control connection shows whether the relay is reachable.
 */
static bool
is_lost(int error)
{
	switch (error) {
	case EACCES:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENETDOWN:
	case ENETUNREACH:
	case EPERM:
		return true;
	default:
		return false;
	}
}

/* What to do after a failed send; OK: go on. */
static enum status
judge(struct datagrams *d, const struct outgoing *o)
{
	if (errno == EAGAIN || errno == ENOBUFS)
		return E_BUSY;
	if (errno == EINTR || errno == ECONNREFUSED)
		return OK;
	if (is_lost(errno)) {
		advance(d, o, 1);
		return OK;
	}
	if (d->has_gso && o->segments[0].n > 1) {
		d->has_gso = false; /* the device cannot do it */
		return OK;
	}
	return E_IO;
}

static enum status
push_batch(struct datagrams *d)
{
	struct outgoing o;
	enum status st = OK;

	while (d->sent < d->n && st == OK) {
		int n;

		gather(d, &o);
		n = sendmmsg(d->fd, o.messages, o.n, MSG_NOSIGNAL);
		if (n > 0)
			advance(d, &o, (unsigned)n);
		else
			st = judge(d, &o);
	}
	return st;
}

static enum status
send_channel(struct datagrams *d)
{
	const struct client_channel *c = d->channel;
	const uint8_t *p;
	size_t n;

	while ((p = c->peek(c->arg, &n)) != NULL) {
		if (send(d->fd, p, n, MSG_NOSIGNAL) >= 0 || is_lost(errno)) {
			d->count++;
		} else if (errno == EAGAIN || errno == ENOBUFS) {
			return E_BUSY;
		} else if (errno != EINTR && errno != ECONNREFUSED) {
			return E_IO;
		} else {
			continue;
		}
		c->pop(c->arg);
	}
	return OK;
}

static void
put_channel(struct datagrams *d)
{
	uint8_t flat[UDP_DATAGRAM_MAX];

	for (; d->sent < d->n; d->sent++) {
		const struct datagram *g = &d->batch[d->sent];
		const size_t front = UDP_HEADER_LEN + g->head;

		memcpy(flat, g->header, front);
		if (g->len > g->head)
			memcpy(flat + front, g->payload, g->len - g->head);
		d->channel->put(d->channel->arg, flat, UDP_HEADER_LEN + g->len);
	}
}

enum status
datagrams_send(struct datagrams *d)
{
	enum status st;

	if (d->channel != NULL) {
		put_channel(d);
		st = send_channel(d);
	} else {
		st = push_batch(d);
	}
	if (d->sent == d->n)
		d->sent = d->n = 0;
	return st;
}

enum status
datagrams_drain(struct datagrams *d)
{
	enum status st = datagrams_send(d);

	if (st != OK || d->channel == NULL)
		return st;
	d->channel->drain(d->channel->arg);
	return send_channel(d);
}
