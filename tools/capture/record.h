/* SPDX-License-Identifier: MIT */
/* A captured packet as it is passed between threads: this header, then LEN
 * bytes of the packet from its link layer on, then zeros up to a multiple of 8.
 */
#ifndef TOOLS_CAPTURE_RECORD_H
#define TOOLS_CAPTURE_RECORD_H

#include <stdint.h>

/* Values of LINKTYPE in pcap files (tcpdump.org, "Link-layer header types"). */
enum linktype {
	LINKTYPE_NULL = 0,
	LINKTYPE_ETHERNET = 1,
	LINKTYPE_PPP = 9,
	LINKTYPE_RAW = 101, /* IPv4 or IPv6 */
	LINKTYPE_C_HDLC = 104,
	LINKTYPE_IEEE802_11 = 105,
	LINKTYPE_LOOP = 108, /* OpenBSD's */
	LINKTYPE_LINUX_SLL = 113,
	LINKTYPE_RADIOTAP = 127,
	LINKTYPE_IPV4 = 228,
	LINKTYPE_IPV6 = 229,
	LINKTYPE_LINUX_SLL2 = 276,
	LINKTYPE_UNKNOWN = 65535, /* none of these numbers */
};

enum direction {
	DIRECTION_OUTGOING = 0,
	DIRECTION_INCOMING = 1,
	DIRECTION_OTHER = 2,
	DIRECTION_UNKNOWN = 255,
};

enum record_kind {
	RECORD_PACKET,
	RECORD_STATS, /* a struct record_stats instead of a packet's bytes */
};

struct record {
	uint64_t ns; /* since the Unix epoch; never decreases within a stream */
	uint32_t wire_len; /* bytes; as pcap counts, without a checksum of
			      Ethernet */
	uint32_t cap_len;  /* bytes that were captured, at most --snaplen */
	uint32_t len; /* bytes here, at most CAP_LEN and LARGE_RECORD_LEN_MAX */
	uint16_t link_type; /* enum linktype, or another number of its list */
	uint8_t direction;  /* enum direction */
	uint8_t kind;	    /* enum record_kind */
};

/* Since the start of an input. */
struct record_stats {
	uint64_t received;	 /* packets that we read */
	uint64_t dropped_kernel; /* dropped by the kernel */
	uint64_t dropped_local;	 /* dropped by this program */
};

#define RECORD_ALIGN 8
/* The most bytes of a packet that fit into a batch. libpcap reads no more of
 * most link types, and of none (D-Bus) more than the second number. */
#define RECORD_LEN_MAX (256 * 1024)
#define LARGE_RECORD_LEN_MAX (128 * 1024 * 1024)

static inline uint8_t *
record_bytes(struct record *r)
{
	return (uint8_t *)(r + 1);
}

/* The size of a record with LEN bytes. */
static inline uint32_t
record_size(uint32_t len)
{
	return (uint32_t)sizeof(struct record) +
	       ((len + RECORD_ALIGN - 1) & ~(uint32_t)(RECORD_ALIGN - 1));
}

static inline struct record *
record_next(struct record *r)
{
	return (struct record *)((uint8_t *)r + record_size(r->len));
}

#endif
