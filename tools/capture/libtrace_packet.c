/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/libtrace_packet.h"

#include <linux/if_packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "tools/capture/record.h"

static const struct {
	libtrace_linktype_t libtrace;
	uint16_t pcap;
} rows[] = {
	{ TRACE_TYPE_ETH, LINKTYPE_ETHERNET },
	{ TRACE_TYPE_NONE, LINKTYPE_RAW },
	{ TRACE_TYPE_LINUX_SLL, LINKTYPE_LINUX_SLL },
	{ TRACE_TYPE_PPP, LINKTYPE_PPP },
	{ TRACE_TYPE_HDLC_POS, LINKTYPE_C_HDLC },
	{ TRACE_TYPE_80211, LINKTYPE_IEEE802_11 },
	{ TRACE_TYPE_80211_RADIO, LINKTYPE_RADIOTAP },
	{ TRACE_TYPE_80211_PRISM, 119 },
	{ TRACE_TYPE_OPENBSD_LOOP, LINKTYPE_LOOP },
	{ TRACE_TYPE_LLCSNAP, 100 }, /* ATM_RFC1483 */
	{ TRACE_TYPE_PFLOG, 117 },
};

/* An enum linktype; LINKTYPE_UNKNOWN if pcap has no number for it. */
static uint16_t
linktype_from_libtrace(libtrace_linktype_t type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].libtrace == type)
			return rows[i].pcap;
	return LINKTYPE_UNKNOWN;
}

libtrace_linktype_t
linktype_to_libtrace(uint16_t linktype)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].pcap == linktype)
			return rows[i].libtrace;
	return TRACE_TYPE_UNKNOWN;
}

/* Not a report of a capture card about itself. */
static bool
is_network(libtrace_linktype_t type)
{
	return type != TRACE_TYPE_DUCK && type != TRACE_TYPE_METADATA &&
	       type != TRACE_TYPE_NONDATA;
}

/* What libtrace counts of Ethernet and pcap does not. */
#define CHECKSUM_LEN 4
/* libtrace captures no more bytes of a packet. */
#define CAPTURED_MAX 65535

/* The header of a record in a pcap file, in the byte order of its writer. */
struct file_header {
	uint32_t seconds, part, cap_len, wire_len;
};

static uint32_t
word_at(const libtrace_packet_t *p, size_t offset)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)p->header + offset, sizeof(v));
	return v;
}

/* A captured length is small in one byte order only, unless it is 0. */
static uint32_t
of_file(const libtrace_packet_t *p)
{
	struct file_header h;
	bool is_swapped;

	memcpy(&h, p->header, sizeof(h));
	is_swapped = h.cap_len > CAPTURED_MAX;
	if (h.cap_len == 0)
		is_swapped = h.seconds != (uint32_t)trace_get_seconds(p);
	return is_swapped ? __builtin_bswap32(h.wire_len) : h.wire_len;
}

/* The header is a struct tpacket2_hdr, or, with some versions of libtrace 4, a
 * struct tpacket3_hdr: the one whose captured length fits. */
static bool
of_ring(const libtrace_packet_t *p, uint32_t *out)
{
	const uint32_t captured = (uint32_t)trace_get_capture_length(p);

	if (word_at(p, offsetof(struct tpacket2_hdr, tp_snaplen)) == captured)
		*out = word_at(p, offsetof(struct tpacket2_hdr, tp_len));
	else if (word_at(p, offsetof(struct tpacket3_hdr, tp_snaplen)) ==
		 captured)
		*out = word_at(p, offsetof(struct tpacket3_hdr, tp_len));
	else
		return false;
	return true;
}

/*
 * Read the length from the header that the format puts before the packet: for
 * pcap files struct pcap_pkthdr of libpcap, for rings that of the kernel.
 */
static bool
from_header(libtrace_packet_t *p, uint32_t *out)
{
	const ptrdiff_t len = (const uint8_t *)p->payload -
			      (const uint8_t *)p->header;

	if (p->header == NULL || p->payload == NULL)
		return false;
	if (p->type >= TRACE_RT_DATA_DLT && p->type <= TRACE_RT_DATA_DLT_END) {
		*out = len == sizeof(struct file_header) ? of_file(p)
							 : word_at(p, 20);
		return true;
	}
	if (p->type == TRACE_RT_DATA_LINUX_RING)
		return of_ring(p, out);
	return false;
}

uint32_t
wire_length(libtrace_packet_t *p, libtrace_linktype_t type)
{
	const uint32_t checksum = type == TRACE_TYPE_ETH ? CHECKSUM_LEN : 0;
	uint32_t len;

	if (from_header(p, &len)) {
		/* libtrace's cached value, which filters use. */
		PACKET_CACHE(p)->wire_length =
		    len < LIBTRACE_PACKET_BUFSIZE - CHECKSUM_LEN
			? (int)(len + checksum)
			: LIBTRACE_PACKET_BUFSIZE - 1;
		return len;
	}
	PACKET_CACHE(p)->wire_length = -1; /* not known */
	len = (uint32_t)trace_get_wire_length(p);
	return len >= checksum ? len - checksum : len;
}

bool
packet_describe(libtrace_packet_t *p, struct record *r, const uint8_t **bytes)
{
	libtrace_linktype_t type;
	struct timespec ts;
	uint32_t left = 0;
	int direction;

	/* A message about the capture, as of pcapng and ERF in libtrace 4. */
	if (p->type < TRACE_RT_DATA_SIMPLE)
		return false;
	type = trace_get_link_type(p);
	r->wire_len = wire_length(p, type); /* before anything else */
	*bytes = trace_get_packet_buffer(p, &type, &left);
	if (*bytes == NULL)
		left = 0;
	if (!is_network(type))
		return false;
	ts = trace_get_timespec(p);
	direction = trace_get_direction(p);
	r->ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	r->cap_len = left;
	r->link_type = linktype_from_libtrace(type);
	/* libtrace may have no name for pcap's number. */
	if (r->link_type == LINKTYPE_UNKNOWN && p->type >= TRACE_RT_DATA_DLT &&
	    p->type <= TRACE_RT_DATA_DLT_END)
		r->link_type = (uint16_t)(p->type - TRACE_RT_DATA_DLT);
	r->direction = direction == TRACE_DIR_OUTGOING ||
			       direction == TRACE_DIR_INCOMING ||
			       direction == TRACE_DIR_OTHER
			   ? (uint8_t)direction
			   : DIRECTION_UNKNOWN;
	r->kind = RECORD_PACKET;
	return true;
}

void
libtrace_error(libtrace_t *trace, char why[SOURCE_WHY_MAX])
{
	libtrace_err_t e = trace_get_err(trace);

	e.problem[strcspn(e.problem, "\n")] = '\0';
	snprintf(why, SOURCE_WHY_MAX, "%s%s",
	    e.problem[0] != '\0' ? e.problem : "failed",
	    source_advice(e.problem));
}

/* libtrace compiles a filter with its first packet: try it with an empty one.
 */
static enum status
try_filter(libtrace_filter_t *filter)
{
	static const uint8_t nothing[64];
	libtrace_packet_t *p = trace_create_packet();
	enum status st = OK;

	if (p == NULL)
		return E_NOMEM;
	trace_construct_packet(p, TRACE_TYPE_ETH, nothing, sizeof(nothing));
	if (trace_apply_filter(filter, p) < 0)
		st = E_REFUSED;
	trace_destroy_packet(p);
	return st;
}

enum status
packet_filter_create(
    libtrace_filter_t **out, const char *text, char why[SOURCE_WHY_MAX])
{
	libtrace_filter_t *filter = trace_create_filter(text);
	enum status st = filter != NULL ? try_filter(filter) : E_NOMEM;

#ifdef HAVE_LIBTRACE_4
	if (filter != NULL)
		trace_destroy_filter(filter);
	filter = trace_create_filter(text);
	if (filter == NULL)
		st = E_NOMEM;
#endif
	*out = filter;
	if (st == E_REFUSED)
		snprintf(
		    why, SOURCE_WHY_MAX, "invalid filter \"%.400s\"", text);
	return st;
}
