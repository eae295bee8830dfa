/* SPDX-License-Identifier: MIT */
#include "tests/bench/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "proto/relay.h"
#include "tests/bench/mix.h"

/* The noise repeats after a prime, which no packet size divides. */
#define PERIOD 65521

static uint8_t *table; /* a period, and a packet */

bool
shape_init(const struct shape *s)
{
	const size_t n = PERIOD + (size_t)s->size;

	table = malloc(n);
	if (table == NULL)
		return false;
	for (size_t i = 0; i < PERIOD; i++)
		table[i] = (uint8_t)mix(i);
	for (size_t i = PERIOD; i < n; i++)
		table[i] = table[i - PERIOD];
	return true;
}

void
shape_session_name(unsigned session, char out[SHAPE_NAME_MAX])
{
	snprintf(out, SHAPE_NAME_MAX, "session-%u", session);
}

void
shape_channel_name(unsigned stream, char out[SHAPE_NAME_MAX])
{
	snprintf(out, SHAPE_NAME_MAX, "channel_%u", stream);
}

void
shape_metadata(unsigned session, char out[SHAPE_NAME_MAX])
{
	snprintf(
	    out, SHAPE_NAME_MAX, "/* CTF 1.8 */\n/* session %u */\n", session);
}

void
shape_tag(const struct packet_id *id, uint8_t out[SHAPE_TAG])
{
	const uint64_t words[] = { id->session, id->stream, id->packet };

	for (unsigned i = 0; i < SHAPE_TAG; i++)
		out[i] = (uint8_t)(words[i / 8] >> (56 - i % 8 * 8));
}

const uint8_t *
shape_noise(const struct packet_id *id, uint64_t offset)
{
	const uint64_t whose = mix(
	    mix(((uint64_t)id->session << 32) + id->stream) + id->packet);

	return table + whose % PERIOD + offset;
}

bool
shape_check(
    const struct packet_id *id, uint64_t offset, const uint8_t *p, size_t n)
{
	uint8_t tag[SHAPE_TAG];

	if (offset < SHAPE_TAG && n > 0) {
		size_t part = SHAPE_TAG - (size_t)offset;

		if (part > n)
			part = n;
		shape_tag(id, tag);
		if (memcmp(p, tag + offset, part) != 0)
			return false;
		offset += part;
		p += part;
		n -= part;
	}
	return n == 0 || memcmp(p, shape_noise(id, offset), n) == 0;
}

void
shape_index(
    const struct shape *s, const struct packet_id *id, struct relay_index *out)
{
	*out = (struct relay_index){
		.net_seq = id->packet,
		.packet_size = 8 * ((uint64_t)s->size + s->padding),
		.content_size = 8 * (uint64_t)s->size,
		.timestamp_begin = 1000 * (id->packet + 1) + id->stream,
		.timestamp_end = 1000 * (id->packet + 1) + 999,
		.events_discarded = id->packet / 7 + id->session,
		.ctf_stream = 0,
		.ctf_instance = id->stream,
		.packet_seq_num = id->packet,
	};
}
