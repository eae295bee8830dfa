/* SPDX-License-Identifier: MIT */
#include "tools/client/outbox.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/buf.h"

/* Pieces of one sendmsg(2). */
#define PIECES_MAX 256

struct gather {
	struct iovec iov[PIECES_MAX];
	int n;
	size_t bytes, most;
};

enum status
outbox_init(struct outbox *o, unsigned cap)
{
	*o = (struct outbox){ .cap = cap };
	o->items = calloc(cap, sizeof(*o->items));
	return o->items == NULL ? E_NOMEM : OK;
}

static struct outbox_item *
item(const struct outbox *o, uint64_t n)
{
	return &o->items[n % o->cap];
}

static size_t
length(const struct outbox_item *i)
{
	return DATA_HEADER_LEN + (size_t)i->packet.size;
}

void
outbox_free(struct outbox *o)
{
	for (; o->taken < o->put; o->taken++)
		client_packet_done(&item(o, o->taken)->packet);
	free(o->items);
	*o = (struct outbox){ 0 };
}

void
outbox_put(
    struct outbox *o, unsigned stream, const struct client_packet *packet)
{
	struct outbox_item *i = item(o, o->put);
	struct buf b = { .mem = i->header, .cap = DATA_HEADER_LEN };
	const struct data_header h = { packet->index.stream,
		packet->index.net_seq, packet->size, packet->padding };

	assert(!outbox_is_full(o));
	i->packet = *packet;
	i->stream = stream;
	data_header_encode(&b, &h);
	assert(packet->head_size <= PACKET_HEAD_MAX &&
	       packet->head_size <= packet->size);
	memcpy(i->header + DATA_HEADER_LEN, packet->head, packet->head_size);
	o->waiting += length(i);
	o->put++;
}

/* Add the N bytes at P, without the first *AT, as far as there is space. */
static void
add(struct gather *g, const uint8_t *p, size_t n, size_t *at)
{
	size_t skip = *at < n ? *at : n;

	*at -= skip;
	n -= skip;
	if (n > g->most - g->bytes)
		n = g->most - g->bytes;
	if (n == 0)
		return;
	g->iov[g->n++] = (struct iovec){ (void *)(uintptr_t)(p + skip), n };
	g->bytes += n;
}

static void
advance(struct outbox *o, size_t n)
{
	assert(n <= o->waiting);
	o->waiting -= n;
	o->at += n;
	while (o->sent < o->put && o->at >= length(item(o, o->sent))) {
		o->at -= length(item(o, o->sent));
		o->sent++;
	}
}

/* Bytes of the item before those that are in DATA. */
static size_t
front(const struct outbox_item *i)
{
	return DATA_HEADER_LEN + (size_t)i->packet.head_size;
}

static bool
is_from_file(const struct outbox_item *i)
{
	return i->packet.is_in_file && length(i) - front(i) >= OUTBOX_FILE_MIN;
}

/* Send as many packets as one call takes, up to bytes that come from a file. */
static ssize_t
send_gathered(const struct outbox *o, int fd, size_t most)
{
	struct gather g = { .most = most };
	struct msghdr m = { .msg_iov = g.iov };
	bool is_more = false;
	size_t at = o->at;

	for (uint64_t n = o->sent;
	     n < o->put && g.n + 2 <= PIECES_MAX && g.bytes < most && !is_more;
	     n++) {
		const struct outbox_item *i = item(o, n);

		add(&g, i->header, front(i), &at);
		is_more = is_from_file(i);
		if (!is_more)
			add(&g, i->packet.data, length(i) - front(i), &at);
	}
	m.msg_iovlen = (size_t)g.n;
	return g.n == 0
		   ? 0
		   : sendmsg(fd, &m, MSG_NOSIGNAL | (is_more ? MSG_MORE : 0));
}

static ssize_t
send_file(const struct outbox *o, int fd, size_t most)
{
	const struct outbox_item *i = item(o, o->sent);
	const size_t left = length(i) - o->at;
	off_t at = (off_t)(i->packet.file_at + (o->at - front(i)));
	ssize_t sent = sendfile(
	    fd, i->packet.file, &at, left < most ? left : most);

	if (sent != 0)
		return sent;
	errno = ENODATA;
	return -1;
}

ssize_t
outbox_send(struct outbox *o, int fd, size_t most)
{
	struct outbox_item *first = item(o, o->sent);
	const bool is_file = o->sent < o->put && is_from_file(first) &&
			     o->at >= front(first);
	ssize_t sent = is_file ? send_file(o, fd, most)
			       : send_gathered(o, fd, most);

	/* Some file systems cannot do sendfile(2). */
	if (is_file && sent < 0 && (errno == EINVAL || errno == ENOSYS)) {
		first->packet.is_in_file = false;
		sent = send_gathered(o, fd, most);
	}
	if (sent > 0)
		advance(o, (size_t)sent);
	return sent;
}

const struct client_packet *
outbox_peek(const struct outbox *o, uint64_t n)
{
	assert(n >= o->taken && n < o->put);
	return &item(o, n)->packet;
}

void
outbox_sent(struct outbox *o, uint64_t n)
{
	assert(n <= o->put);
	for (; o->sent < n; o->sent++)
		o->waiting -= length(item(o, o->sent));
}

unsigned
outbox_drop(struct outbox *o)
{
	const struct outbox_item *last = item(o, o->put - 1);

	assert(o->put > o->sent + (o->at > 0));
	o->put--;
	o->waiting -= length(last);
	client_packet_done(&last->packet);
	return last->stream;
}

const struct outbox_item *
outbox_take(struct outbox *o)
{
	assert(o->taken <= o->sent && o->sent <= o->put);
	return o->taken == o->sent ? NULL : item(o, o->taken++);
}
