/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/wire.h"

#include <linux/if_packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* What libtrace counts of Ethernet and pcap does not. */
#define CHECKSUM_LEN 4
/* A packet that libtrace reads has no more bytes captured. */
#define CAPTURED_MAX 65535

/* The header of a record in a pcap file, in the order of who wrote it. */
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

/* Captured lengths are small in one order only, but 0. */
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
 * struct tpacket3_hdr: the one in which the captured length is where it must
 * be. */
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
 * As the header says that the format put in front of the packet: of pcap files,
 * struct pcap_pkthdr of libpcap, those of the kernel's ring. What int:
 * has there is libtrace's own: both lengths, the larger one is that of the wire
 * if the other is the captured one.
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
	if (p->type == TRACE_RT_DATA_LINUX_NATIVE && len >= 28) {
		const uint32_t a = word_at(p, 20), b = word_at(p, 24);

		*out = a > b ? a : b;
		p->wire_length = LIBTRACE_PACKET_BUFSIZE - 1;
		return (a < b ? a : b) == trace_get_capture_length(p);
	}
	return false;
}

uint32_t
wire_length(libtrace_packet_t *p, libtrace_linktype_t type)
{
	const uint32_t checksum = type == TRACE_TYPE_ETH ? CHECKSUM_LEN : 0;
	uint32_t len;

	if (from_header(p, &len)) {
		/* Its note of it; filters look at it. */
		p->wire_length = len < LIBTRACE_PACKET_BUFSIZE - CHECKSUM_LEN
				     ? (int)(len + checksum)
				     : LIBTRACE_PACKET_BUFSIZE - 1;
		return len;
	}
	p->wire_length = -1; /* not known */
	len = (uint32_t)trace_get_wire_length(p);
	return len >= checksum ? len - checksum : len;
}
