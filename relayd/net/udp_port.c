/* SPDX-License-Identifier: MIT */
#include "relayd/net/udp_port.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/account.h"
#include "common/log.h"
#include "proto/udp.h"
#include "relayd/net/conn.h"
#include "relayd/record/shard.h"
#include "relayd/record/cycle.h"
#include "relayd/record/udp.h"
#include "relayd/net/udp_bind.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* One message may be 64 KiB of merged datagrams. A batch has as many messages
 * as fit in the scratch buffer. */
#define MESSAGE_SPACE (64 * 1024)
#define BATCH (CONN_SCRATCH / MESSAGE_SPACE)
/* Batches of large messages are shorter, so that their bytes are still in the
 * CPU's cache for the checksum and the copy. */
#define BATCH_LARGE 4
#define LARGE (MESSAGE_SPACE / 4)
/* Bytes read per cycle, so that UDP_STATUS requests are answered between
 * reads. */
#define CYCLE_BYTES (512 * 1024)
/* Bytes read at an ordered shutdown: what the socket can hold, so that the
 * shutdown ends even if a sender continues. */
#define LAST_BYTES (2 * (uint64_t)UDP_RCVBUF)
#define LAST_NS (150 * NS_PER_MS)
/* Added to the size of each message, because an empty one costs time too. */
#define MESSAGE_WEIGHT 512

struct udp_port {
	int fd;
	struct event event;
	bool has_event;
	struct conns *conns;
	struct loop *acceptor;
	struct account *underway;
	uint32_t kernel_drops; /* the kernel's last count */
	unsigned batch;	       /* messages to request next */
	struct mmsghdr messages[BATCH];
	struct iovec iov[BATCH];
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(uint32_t)) +
			   CMSG_SPACE(sizeof(int))];
	} control[BATCH];
};

void
forwarded_datagram_done(
    struct forwarded_datagram *take_p, struct account *underway)
{
	account_sub(underway, take_p->n);
	free(take_p);
}

static void
forward(struct udp_port *port, const uint8_t *p, size_t n)
{
	struct message *m = malloc(sizeof(*m));
	struct forwarded_datagram *copy = malloc(sizeof(*copy) + n);
	struct shard *sh = port->conns->shard;

	if (m == NULL || copy == NULL || !account_take(port->underway, n)) {
		free(m);
		free(copy);
		sh->udp.n[UDP_memory]++;
		return;
	}
	sh->udp.n[UDP_forwarded]++;
	copy->worker = p[UDP_WORKER_AT];
	copy->n = n;
	memcpy(copy->bytes, p, n);
	*m = (struct message){ .kind = MESSAGE_DATAGRAM, .object = copy };
	loop_post(port->acceptor, m);
}

/* Read the kernel's count of drops. Returns the size of merged datagrams; N if
 * they are not merged. */
static size_t
read_ancillary(struct udp_port *port, struct msghdr *h, size_t n)
{
	struct udp_counts *counts = &port->conns->shard->udp;
	struct cmsghdr *c;
	uint32_t drops;
	int size = 0;

	for (c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			memcpy(&size, CMSG_DATA(c), sizeof(size));
		} else if (c->cmsg_level == SOL_SOCKET &&
			   c->cmsg_type == SO_RXQ_OVFL) {
			memcpy(&drops, CMSG_DATA(c), sizeof(drops));
			counts->n[UDP_kernel] += drops - port->kernel_drops;
			port->kernel_drops = drops;
		}
	}
	return size > 0 ? (size_t)size : n;
}

static void
take_message(struct udp_port *port, unsigned i)
{
	struct shard *sh = port->conns->shard;
	struct msghdr *h = &port->messages[i].msg_hdr;
	const uint8_t *p = port->iov[i].iov_base;
	size_t left = port->messages[i].msg_len, n, size;

	size = read_ancillary(port, h, left);
	if ((h->msg_flags & MSG_TRUNC) != 0 || left == 0) {
		sh->udp.n[UDP_malformed]++;
		return;
	}
	for (; left > 0; left -= n, p += n) {
		n = size < left ? size : left;
		if (!udp_input(sh, p, n))
			forward(port, p, n);
	}
}

/* Returns the number of messages. */
static int
receive(struct udp_port *port)
{
	for (unsigned i = 0; i < port->batch; i++) {
		port->iov[i] = (struct iovec){
			port->conns->scratch + i * MESSAGE_SPACE, MESSAGE_SPACE
		};
		port->messages[i].msg_hdr = (struct msghdr){
			.msg_iov = &port->iov[i],
			.msg_iovlen = 1,
			.msg_control = &port->control[i],
			.msg_controllen = sizeof(port->control[i]),
		};
	}
	return recvmmsg(
	    port->fd, port->messages, port->batch, MSG_DONTWAIT, NULL);
}

/* The number of messages to request after N that had CAME bytes: fewer if those
 * used the whole time slice, as the clock is not read within a batch. */
static unsigned
next_batch(
    const struct udp_port *port, unsigned n, uint64_t received, bool is_long)
{
	const unsigned usual = received / n > LARGE ? BATCH_LARGE : BATCH;

	if (is_long)
		return (n + 1) / 2;
	return port->batch * 2 < usual ? port->batch * 2 : usual;
}

/* Read until the socket is empty, MOST bytes were read, or the time slice
 * expires. */
static void
read_some(struct udp_port *port, uint64_t most)
{
	uint64_t bytes = 0, received;
	bool is_first = true;
	unsigned asked;
	int n, error;

	do {
		asked = port->batch;
		n = receive(port);
		error = errno;
		received = 0;
		for (int i = 0; i < n; i++) {
			received += port->messages[i].msg_len;
			take_message(port, (unsigned)i);
		}
		if (n > 0)
			port->batch = next_batch(port, (unsigned)n, received,
			    is_first && shard_is_late(port->conns->shard));
		is_first = false;
		bytes += received + (uint64_t)(n > 0 ? n : 0) * MESSAGE_WEIGHT;
		/* Write whole packets to files before reading more. */
		cycle_commit(port->conns->shard);
	} while (n == (int)asked && bytes < most &&
		 !shard_is_late(port->conns->shard));
	if (n >= 0 || error == EAGAIN || error == EINTR)
		return;
	errno = error;
	log_errno(LOG_WARN, "udp port");
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct udp_port *port = arg;

	loop_mark_busy(port->conns->loop);
	shard_begin_slice(port->conns->shard);
	read_some(port, CYCLE_BYTES);
	shard_end_slice(port->conns->shard);
}

void
udp_port_read_all(struct udp_port *port)
{
	if (port == NULL)
		return;
	shard_begin_slice_until(port->conns->shard, clock_now_ns() + LAST_NS);
	read_some(port, LAST_BYTES);
	shard_end_slice(port->conns->shard);
}

enum status
udp_port_create(struct udp_port **out, int take_fd, struct conns *conns,
    struct loop *acceptor, struct account *underway)
{
	struct udp_port *port = calloc(1, sizeof(*port));

	*out = NULL;
	if (port == NULL) {
		close(take_fd);
		return E_NOMEM;
	}
	port->fd = take_fd;
	port->conns = conns;
	port->acceptor = acceptor;
	port->underway = underway;
	port->batch = BATCH;
	if (event_assign(&port->event, conns->loop->base, take_fd,
		EV_READ | EV_PERSIST, on_readable, port) != 0) {
		udp_port_destroy(port);
		return E_NOMEM;
	}
	port->has_event = true;
	if (event_add(&port->event, NULL) != 0) {
		udp_port_destroy(port);
		return E_NOMEM;
	}
	*out = port;
	return OK;
}

int
udp_port_fd(const struct udp_port *port)
{
	return port->fd;
}

void
udp_port_destroy(struct udp_port *port)
{
	if (port == NULL)
		return;
	if (port->has_event)
		event_del(&port->event);
	close(port->fd);
	free(port);
}
