/* SPDX-License-Identifier: MIT */
/*
 * Datagrams on their way out: a batch is filled, then sent by few calls
 * (sendmmsg(2), with UDP_SEGMENT where the kernel has it). Payloads are not
 * copied, they are borrowed until the batch is sent. With a channel each
 * datagram is copied and goes through it. Single owner.
 */
#ifndef TOOLS_CLIENT_DATAGRAMS_H
#define TOOLS_CLIENT_DATAGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "proto/udp.h"
#include "tools/client/packet.h"

#define DATAGRAMS_BATCH 64

/* A channel that tests put in front of the socket: it may lose, repeat, reorder
 * and corrupt datagrams. */
struct client_channel {
	void (*put)(void *arg, const uint8_t *datagram, size_t n);
	/* The next datagram that comes out; NULL: none now. */
	const uint8_t *(*peek)(void *arg, size_t *n);
	void (*pop)(void *arg);
	/* Nothing more is put for now: release everything that is held back. */
	void (*drain)(void *arg);
	void *arg;
};

struct datagram {
	uint8_t header[UDP_HEADER_LEN + PACKET_HEAD_MAX];
	uint32_t head;		/* bytes of the payload in HEADER */
	const uint8_t *payload; /* the other bytes */
	uint32_t len;		/* bytes of the whole payload */
};

struct datagrams {
	int fd; /* connected, non-blocking; borrowed */
	const struct client_channel *channel; /* NULL: none */
	bool has_gso;
	unsigned n, sent; /* datagrams in the batch; those sent */
	struct datagram batch[DATAGRAMS_BATCH];
	uint64_t count; /* datagrams that left */
};

void datagrams_init(
    struct datagrams *d, int fd, const struct client_channel *channel);

static inline bool
datagrams_is_full(const struct datagrams *d)
{
	return d->n == DATAGRAMS_BATCH;
}

/* The batch must not be full; H's head is copied. */
void datagrams_put(struct datagrams *d, const struct udp_header *h);

/* Send the batch. OK: all of it left; E_BUSY: the socket takes no more now;
 * E_IO with errno. */
enum status datagrams_send(struct datagrams *d) MUST_CHECK;
/* Send the batch, and also what a channel holds back. */
enum status datagrams_drain(struct datagrams *d) MUST_CHECK;

#endif
