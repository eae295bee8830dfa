/* SPDX-License-Identifier: MIT */
/*
 * The trace of a capture, CTF 1.8, little-endian and aligned to bytes: packets
 * of the network as events, the header and context of each CTF packet, and the
 * metadata that describes them. One stream class. Times are nanoseconds since
 * the Unix epoch. No state, any thread.
 */
#ifndef TOOLS_CAPTURE_CTF_H
#define TOOLS_CAPTURE_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"
#include "ctf/packet.h"
#include "tools/capture/headers.h"
#include "tools/capture/record.h"

/* What an event contains of its packet. */
enum payload {
	PAYLOAD_NONE,	 /* time, link type, direction, lengths */
	PAYLOAD_HEADERS, /* and the fields of its headers */
	PAYLOAD_FULL,	 /* and all bytes that were captured */
	PAYLOAD_SUMMARY, /* a text, time, direction, length */
};

/* Ids of the event classes. */
enum event_id {
	EVENT_PACKET,
	EVENT_IPV4,
	EVENT_IPV6,
	EVENT_STATS,
	EVENT_IPV4_TUNNEL, /* with the headers of the packet within */
	EVENT_IPV6_TUNNEL,
	EVENT_IDS
};

/* Bytes of a packet that PAYLOAD_HEADERS needs: Ethernet, four tags, IPv6 with
 * extension headers, TCP; or, within UDP, these again without tags. */
#define EVENT_HEADERS_LEN 192

/* No event of a packet with LEN bytes is larger. */
#define EVENT_SIZE_MAX(len) (256 + (size_t)(len))

/* Encode a packet's record, whose headers are H (unused with PAYLOAD_NONE). OUT
 * has EVENT_SIZE_MAX(r->len) bytes. Returns the size. */
size_t event_encode(uint8_t *out, const struct record *r,
    const struct headers *h, enum payload payload);
/* The same for a record of statistics. */
size_t event_encode_stats(uint8_t *out, const struct record *r);
/* Decode an event with PAYLOAD_FULL: OUT, and *BYTES, which has out->len bytes.
 * Statistics have none. E_MALFORMED. */
enum status event_decode(
    struct reader *r, struct record *out, const uint8_t **bytes) MUST_CHECK;

/* The id of the stream class. */
#define CTF_STREAM_CLASS 0

struct ctf_trace {
	uint8_t uuid[CTF_UUID_LEN];
	const char *hostname; /* borrowed, like all strings */
	const char *const *uris;
	unsigned n_uris; /* inputs */
	uint32_t snaplen;
	enum payload payload;
	bool is_anonymised;
};

/* Text (TSDL); any bytes in strings are escaped. E_NOMEM. */
enum status ctf_metadata(
    struct buf *out, const struct ctf_trace *trace) MUST_CHECK;

/* Is this the metadata of a trace with PAYLOAD_FULL? E_REFUSED: *WHY says why
 * not, as the end of a sentence about the trace: "was not made by ...". */
enum status ctf_metadata_check(
    const char *text, size_t n, const char **why) MUST_CHECK;

/* The size of what precedes the events of a packet; a multiple of 8. */
#define CTF_HEADER_LEN 88
#define CTF_UUID_AT 4 /* bytes */

struct ctf_packet {
	uint64_t instance;			 /* stream_instance_id */
	uint64_t timestamp_begin, timestamp_end; /* ns */
	uint64_t content_size;			 /* bytes, with the header */
	uint64_t packet_size;	   /* bytes, at least content_size */
	uint64_t packet_seq_num;   /* from 0 in each stream */
	uint64_t events_discarded; /* in the stream so far */
	uint32_t cpu_id;	   /* thread */
	uint32_t input;		   /* of trace->uris */
};

void ctf_header_encode(uint8_t out[CTF_HEADER_LEN],
    const struct ctf_trace *trace, const struct ctf_packet *packet);

#endif
