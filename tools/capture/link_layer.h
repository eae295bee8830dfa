/* SPDX-License-Identifier: MIT */
/* Where the network header of a packet is. No state, any thread. */
#ifndef TOOLS_CAPTURE_LINK_LAYER_H
#define TOOLS_CAPTURE_LINK_LAYER_H

#include <stdbool.h>
#include <stdint.h>

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
	PROTOCOL_ESP = 50,
	PROTOCOL_AUTHENTICATION = 51,
	PROTOCOL_ICMPV6 = 58,
	PROTOCOL_NONE = 59,
	PROTOCOL_DESTINATION = 60,
	PROTOCOL_PIM = 103,
	PROTOCOL_SCTP = 132,
	PROTOCOL_MOBILITY = 135,
	PROTOCOL_UDP_LITE = 136,
	PROTOCOL_HIP = 139,
	PROTOCOL_SHIM6 = 140,
};

/* 16 bits in network order. */
static inline uint16_t
link_layer_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The Ethernet type of IPv4 or IPv6, by the version with which R begins; 0: it
 * is neither. */
struct reader;
uint16_t link_layer_by_version(const struct reader *r);

/* Tags of IEEE 802.1Q and 802.1ad that are kept; all are skipped. */
#define LINK_LAYER_VLANS 4

struct link_layer {
	const uint8_t *ethernet; /* 14 bytes; NULL: another link layer */
	/* Tag control information, host order. */
	uint16_t vlans[LINK_LAYER_VLANS];
	uint8_t n_vlans;
	uint16_t ether_type; /* after the tags, also where another link layer
				has it in its own way; 0: none. Less than 0x600:
				a length (IEEE 802.3) */
	uint16_t network; /* the Ethernet type of what begins at OFFSET, after
			     MPLS, PPPoE or SNAP; 0: not known */
	uint32_t offset;  /* at most N */
	bool is_piece; /* in IEEE 802.11: not a whole packet, but a fragment or
			  an aggregate */
	bool is_guess; /* NETWORK, by the first bits after labels of MPLS; they
			  may be those of an Ethernet frame */
};

/* Skip the link layer of the N bytes at P. LINK_TYPE is an enum linktype. In
 * IEEE 802.11 only data frames are skipped that are not encrypted. */
void link_layer_find(
    struct link_layer *l, uint16_t link_type, const uint8_t *p, uint32_t n);
/* The same from what follows an Ethernet type, as in GRE or Geneve. */
void link_layer_find_typed(
    struct link_layer *l, uint16_t ether_type, const uint8_t *p, uint32_t n);
/* False: link_layer_find() finds nothing in any packet of this link type. */
bool link_layer_is_known(uint16_t link_type);

#endif
