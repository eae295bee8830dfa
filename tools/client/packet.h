/* SPDX-License-Identifier: MIT */
/* A trace packet on its way to a relay. */
#ifndef TOOLS_CLIENT_PACKET_H
#define TOOLS_CLIENT_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/relay.h"

/* The bytes of a packet are no longer needed; ARG is the packet's. */
typedef void client_done(void *arg);

/* The most bytes that may be stored apart from the rest, such as a packet's own
 * header. */
#define PACKET_HEAD_MAX 32

struct client_packet {
	uint8_t head[PACKET_HEAD_MAX]; /* the packet's first bytes */
	uint32_t head_size;	       /* bytes in HEAD; 0: DATA has all */
	const uint8_t *data; /* other bytes; borrowed until DONE is called */
	/* DATA is also in this file, from byte FILE_AT on: over TCP, large
	 * packets go by sendfile(2), which needs SIGPIPE ignored. The file
	 * stays open, and is not cut short, until DONE is called. */
	bool is_in_file;
	int file;
	uint64_t file_at;
	uint32_t size;	  /* bytes of the packet, with the head */
	uint32_t padding; /* zero bytes that the relay appends */
	/* Sizes, times and numbers of its index record; stream and net_seq are
	 * filled in by the library. */
	struct relay_index index;
	client_done *done; /* NULL: not called */
	void *arg;
};

static inline void
client_packet_done(const struct client_packet *p)
{
	if (p->done != NULL)
		p->done(p->arg);
}

#endif
