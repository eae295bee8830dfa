/* SPDX-License-Identifier: MIT */
/*
 * Packets as events of CTF 1.8, little-endian and aligned to bytes; ctf.h has
 * the metadata that describes them. No state, any thread.
 */
#ifndef TOOLS_CAPTURE_EVENT_H
#define TOOLS_CAPTURE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "tools/capture/headers.h"
#include "tools/capture/record.h"

/* What of a packet an event has. */
enum payload {
	PAYLOAD_NONE,	 /* time, link type, direction, lengths */
	PAYLOAD_HEADERS, /* and the fields of its headers */
	PAYLOAD_FULL,	 /* and all bytes that were captured */
};

/* Ids of the event classes. */
enum event_id { EVENT_PACKET, EVENT_IPV4, EVENT_IPV6, EVENT_STATS };

/* Bytes of a packet that PAYLOAD_HEADERS looks at: Ethernet, four tags, IPv6
 * with extension headers, TCP. */
#define EVENT_HEADERS_LEN 160

/* No event of a packet with LEN bytes is larger. */
#define EVENT_SIZE_MAX(len) (192 + (size_t)(len))

/* Encode a packet's record, whose headers are H (PAYLOAD_NONE: not looked at).
 * OUT has EVENT_SIZE_MAX(r->len) bytes. Returns the size. */
size_t event_encode(uint8_t *out, const struct record *r,
    const struct headers *h, enum payload payload);
/* A record of statistics. */
size_t event_encode_stats(uint8_t *out, const struct record *r);

#endif
