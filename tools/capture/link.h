/* SPDX-License-Identifier: MIT */
/* Where the network header of a packet is. No state, any thread. */
#ifndef TOOLS_CAPTURE_LINK_H
#define TOOLS_CAPTURE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/reader.h"

/* Ethernet types (IEEE 802 Numbers, IANA). */
enum ether_type {
	ETHER_TYPE_NONE = 0,
	ETHER_TYPE_IPV4 = 0x0800,
	ETHER_TYPE_ARP = 0x0806,
	ETHER_TYPE_ETHERNET = 0x6558, /* in GRE (RFC 1701) */
	ETHER_TYPE_RARP = 0x8035,
	ETHER_TYPE_VLAN = 0x8100,
	ETHER_TYPE_IPV6 = 0x86dd,
	ETHER_TYPE_MPLS = 0x8847,
	ETHER_TYPE_MPLS_MULTICAST = 0x8848,
	ETHER_TYPE_PPPOE = 0x8864,
	ETHER_TYPE_SERVICE_VLAN = 0x88a8,
	ETHER_TYPE_OLD_SERVICE_VLAN = 0x9100,
};

/* Protocol Numbers (IANA), including IPv6's extension headers. */
enum protocol {
	PROTOCOL_HOP_BY_HOP = 0,
	PROTOCOL_ICMP = 1,
	PROTOCOL_IPV4 = 4,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_DCCP = 33,
	PROTOCOL_IPV6 = 41,
	PROTOCOL_ROUTING = 43,
	PROTOCOL_FRAGMENT = 44,
	PROTOCOL_GRE = 47,
	PROTOCOL_AUTHENTICATION = 51,
	PROTOCOL_ICMPV6 = 58,
	PROTOCOL_DESTINATION = 60,
	PROTOCOL_MOBILITY = 135,
	PROTOCOL_UDP_LITE = 136,
	PROTOCOL_HIP = 139,
	PROTOCOL_SHIM6 = 140,
};

/* 16 bits in network order. */
static inline uint16_t
link_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The network header begins at *OFFSET of the N bytes at P, at most N. Returns
 * its Ethernet type; ETHER_TYPE_NONE if that is not known. LINK_TYPE is an enum
 * linktype. */
uint16_t link_find(
    uint16_t link_type, const uint8_t *p, uint32_t n, uint32_t *offset);
/* False: link_find() finds nothing in any packet of this link type. */
bool link_is_known(uint16_t link_type);

/* Each of these skips a link layer, and returns the Ethernet type of what
 * follows. *IS_PIECE: it is not a whole packet, but a fragment or an
 * aggregate. */
uint16_t link_ppp(struct reader *r);
uint16_t link_wireless(struct reader *r, bool *is_piece);
uint16_t link_radiotap(struct reader *r, bool *is_piece);
/* IPv4 or IPv6, by the version with which a header begins. Skips nothing. */
uint16_t link_by_version(const struct reader *r);

#endif
