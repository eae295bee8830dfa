/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one session's data connection: packet 0 of every stream, packet
 * 1 of every stream, and so on, each behind its header (streaming 2.2). Holds a
 * position, no bytes.
 */
#ifndef BENCH_FEED_H
#define BENCH_FEED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/bench/shape.h"

struct feed {
	const struct shape *shape;
	unsigned session;
	const uint64_t *handles; /* one per stream; borrowed */
	uint64_t next;		 /* packets that are wholly sent */
	uint64_t at;		 /* bytes sent of the one that follows */
};

/* How many packets the session has. */
static inline uint64_t
feed_total(const struct feed *f)
{
	return f->shape->packets * f->shape->streams;
}

/* Which packet is the Nth of the connection? */
static inline struct packet_id
feed_packet(const struct feed *f, uint64_t n)
{
	return (struct packet_id){ f->session,
		(unsigned)(n % f->shape->streams), n / f->shape->streams };
}

/* One writev of no more than MOST packets, the one that has begun included:
 * f->next says how many were completed. -1 with errno: as writev. */
ssize_t feed_send(struct feed *f, int fd, uint64_t most);

#endif
