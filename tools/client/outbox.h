/* SPDX-License-Identifier: MIT */
/*
 * The data connection over TCP: packets wait in a ring, each after its header
 * (streaming 2.2), and leave many at a time by one sendmsg(2), or by
 * sendfile(2) if they are large and in a file. The bytes are not copied. Single
 * owner; memory is fixed at creation.
 */
#ifndef TOOLS_CLIENT_OUTBOX_H
#define TOOLS_CLIENT_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/compiler.h"
#include "common/status.h"
#include "proto/data.h"
#include "tools/client/packet.h"

/* Shorter parts go by sendmsg(2), which copies them: a call for each would cost
 * more than the copy. */
#define OUTBOX_FILE_MIN (32 * 1024)

struct outbox_item {
	struct client_packet packet;
	unsigned stream;				   /* its number */
	uint8_t header[DATA_HEADER_LEN + PACKET_HEAD_MAX]; /* with the head */
};

struct outbox {
	struct outbox_item *items; /* ring */
	unsigned cap;
	uint64_t put, sent, taken; /* packets so far, in this order */
	size_t at;	  /* bytes sent of packet SENT and its header */
	uint64_t waiting; /* bytes that are not sent, headers too */
};

enum status outbox_init(struct outbox *o, unsigned cap) MUST_CHECK;
/* Packets that are left are done. */
void outbox_free(struct outbox *o);

static inline bool
outbox_is_full(const struct outbox *o)
{
	return o->put - o->taken == o->cap;
}

/* The outbox must not be full. packet->index has stream and net_seq. */
void outbox_put(
    struct outbox *o, unsigned stream, const struct client_packet *packet);

/* Make one system call for at most MOST bytes. Returns its result, -1 with
 * errno: ENODATA means that a packet's file was cut short. 0: nothing waits. */
ssize_t outbox_send(struct outbox *o, int fd, size_t most);

/* For a caller that sends packets in another way: packet number N of those put,
 * which is not taken yet. The caller then says that all below N are sent. */
const struct client_packet *outbox_peek(const struct outbox *o, uint64_t n);
void outbox_sent(struct outbox *o, uint64_t n);

/* The packet that was put last is done: no byte of it has left. Returns its
 * stream. There must be one. */
unsigned outbox_drop(struct outbox *o);

/* Take the next packet that is wholly sent, which frees its place. Its index
 * can be sent. The caller owns the packet; the item is valid until the next
 * outbox_put(). NULL: none. */
const struct outbox_item *outbox_take(struct outbox *o);

#endif
