/* SPDX-License-Identifier: MIT */
/*
 * What a load consists of: a function of (session, stream, packet, offset), so
 * that whoever knows the shape can say what every byte and every index record
 * that a relay wrote must be. Numbers count from 0.
 *
 * A packet begins with a tag that says whose it is; after it come bytes of a
 * table of noise, from a place that depends on whose it is. They are sent from
 * the table as they are: making them costs nothing.
 */
#ifndef TESTS_BENCH_SHAPE_H
#define TESTS_BENCH_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relay_index;

struct shape {
	unsigned sessions;
	unsigned first;	  /* number of the first session */
	unsigned streams; /* data streams of a session */
	uint64_t packets; /* of a stream */
	uint32_t size;	  /* bytes of a packet, without padding */
	uint32_t padding; /* zero bytes after it on disk */
};

struct packet_id {
	unsigned session, stream;
	uint64_t packet;
};

#define SHAPE_TAG 24 /* bytes; a smaller packet has the front of it */

#define SHAPE_HOSTNAME "loadgen"
#define SHAPE_PATH "ust/uid/0/64-bit"
#define SHAPE_NAME_MAX 64 /* of a session, a channel, a metadata text */

void shape_session_name(unsigned session, char out[SHAPE_NAME_MAX]);
void shape_channel_name(unsigned stream, char out[SHAPE_NAME_MAX]);
void shape_metadata(unsigned session, char out[SHAPE_NAME_MAX]);

/* How many packets a session has. */
static inline uint64_t
shape_total(const struct shape *s)
{
	return s->packets * s->streams;
}

/* Which packet is the Nth of a session's? Packet 0 of every stream, packet 1 of
 * every stream, and so on. */
static inline struct packet_id
shape_nth(const struct shape *s, unsigned session, uint64_t n)
{
	return (struct packet_id){ session, (unsigned)(n % s->streams),
		n / s->streams };
}

/* Once, before the functions below: makes the noise that one packet of S can
 * be. False: out of memory. */
bool shape_init(const struct shape *s);
void shape_tag(const struct packet_id *id, uint8_t out[SHAPE_TAG]);
/* The packet's bytes from OFFSET (at least SHAPE_TAG) to its end. */
const uint8_t *shape_noise(const struct packet_id *id, uint64_t offset);
/* Are the N bytes at P those of the packet from OFFSET on? */
bool shape_check(
    const struct packet_id *id, uint64_t offset, const uint8_t *p, size_t n);
/* All but the stream's handle. */
void shape_index(
    const struct shape *s, const struct packet_id *id, struct relay_index *out);

#endif
