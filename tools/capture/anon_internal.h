/* SPDX-License-Identifier: MIT */
/* Between the files of anon_packet(). */
#ifndef TOOLS_CAPTURE_ANON_INTERNAL_H
#define TOOLS_CAPTURE_ANON_INTERNAL_H

#include <stdint.h>

#include "tools/capture/anon.h"

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

static inline uint16_t
anon_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* Where the network header is: at *OFFSET of the N bytes, at most N; returns
 * what it is, ETHER_TYPE_NONE if that is not known. */
uint16_t anon_link(
    uint16_t link_type, const uint8_t *p, uint32_t n, uint32_t *offset);

/* A packet that is being changed. */
struct edit {
	struct anon *anon;
	enum anon_checksums checksums;
	unsigned depth; /* packets within packets so far */
};

/* The sum of RFC 1071, not complemented; an odd byte at the end is the first of
 * its pair. */
uint16_t anon_sum(const uint8_t *p, uint32_t n);
/* What a checksum's data has changed by, as its sum was and is. */
uint16_t anon_difference(uint16_t was, uint16_t is);
/* Of both, one after the other. */
uint16_t anon_add(uint16_t a, uint16_t b);

/* The address of LEN bytes (4, 16) at OFF of N bytes; returns by what a
 * checksum of them changes. */
uint16_t anon_address(
    const struct edit *e, uint8_t *p, uint32_t n, uint32_t off, uint32_t len);
/* The checksum at OFF of N bytes, whose data changed by DIFFERENCE. */
void anon_checksum(const struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
    uint16_t difference);

/* A network header and what is behind it. */
void anon_network(struct edit *e, uint16_t ether_type, uint8_t *p, uint32_t n);
/* ICMP and ICMPv6; the pseudo-header of the latter changed by DIFFERENCE. */
void anon_icmp(struct edit *e, uint8_t *p, uint32_t n);
void anon_icmpv6(struct edit *e, uint8_t *p, uint32_t n, uint16_t difference);

#endif
