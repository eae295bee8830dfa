/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "tools/capture/anon.h"
#include "tools/capture/link_layer.h"
#include "tools/capture/record.h"
#include "tools/capture/tunnel.h"

enum { IPV4_LEN = 20, IPV6_LEN = 40 };

/* Changes of the pseudo-header's sum; its addresses are not always those of the
 * IP header (RFC 8200, 8.1; RFC 6275, 11.3.2). */
struct pseudo {
	uint16_t source, destination;
};

/* Types of ICMP (RFC 792, RFC 1256). */
enum {
	ICMP_UNREACHABLE = 3,
	ICMP_QUENCH = 4,
	ICMP_REDIRECT = 5,
	ICMP_ROUTERS = 9,
	ICMP_TIME = 11,
	ICMP_PARAMETER = 12,
};

/* Types of ICMPv6 (RFC 4443, RFC 4861, RFC 2710, RFC 3810). */
enum {
	ICMPV6_ERROR_FIRST = 1,
	ICMPV6_ERROR_LAST = 4,
	ICMPV6_LISTENER_FIRST = 130,
	ICMPV6_LISTENER_LAST = 132,
	ICMPV6_ROUTER_SOLICITATION = 133,
	ICMPV6_ROUTERS = 134,
	ICMPV6_SOLICITATION = 135,
	ICMPV6_ADVERTISEMENT = 136,
	ICMPV6_REDIRECT = 137,
	ICMPV6_LISTENER_REPORT = 143,
};

/* Options of neighbour discovery (RFC 4861, RFC 4191, RFC 8106). */
enum {
	OPTION_PREFIX = 3,
	OPTION_REDIRECTED = 4,
	OPTION_ROUTE = 24,
	OPTION_DNS = 25,
};

/* A packet that is being changed. */
struct edit {
	struct anon *anon;
	enum anon_checksums checksums;
	unsigned depth; /* nesting of packets so far */
	bool may_tell; /* something was not understood: it may have addresses */
};

/* What has ETHER_TYPE: tags, labels, a network header and what follows it. */
static void network(
    struct edit *e, uint16_t ether_type, uint8_t *p, uint32_t n);

/* A link layer and what follows it. */
static void
frame(struct edit *e, uint16_t link_type, uint8_t *p, uint32_t n)
{
	struct link_layer l;

	link_layer_find(&l, link_type, p, n);
	network(e, l.network, p + l.offset, n - l.offset);
}

/* The sum of both, as of one after the other. */
static uint16_t
sum_add(uint16_t a, uint16_t b)
{
	const uint32_t sum = (uint32_t)a + b;

	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/* The change of a checksum whose data had the sum WAS. */
static uint16_t
sum_difference(uint16_t was, uint16_t is)
{
	return sum_add((uint16_t)~was, is);
}

/* The sum of RFC 1071, not complemented; an odd byte at the end is the first of
 * its pair. */
static uint16_t
sum_of(const uint8_t *p, uint32_t n)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i + 1 < n; i += 2)
		sum += link_layer_u16(p + i);
	if (i < n)
		sum += (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Replace the address of LEN bytes (4, 16) at OFF of N bytes; returns the
 * change of a checksum over it. */
static uint16_t
address(
    const struct edit *e, uint8_t *p, uint32_t n, uint32_t off, uint32_t len)
{
	uint16_t was;

	assert(len == 4 || len == 16);
	if (off >= n)
		return 0;
	p += off;
	n = n - off < len ? n - off : len;
	was = sum_of(p, n);
	if (n < len)
		memset(p, 0, n);
	else if (len == 4)
		anon_ipv4(e->anon, p);
	else
		anon_ipv6(e->anon, p);
	return sum_difference(was, sum_of(p, n));
}

/* Adjust the checksum at OFF of N bytes, whose data changed by DIFFERENCE (RFC
 * 1624, equation 3). */
static void
checksum(const struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
    uint16_t difference)
{
	uint16_t sum = 0;

	if (off >= n)
		return;
	if (n - off < 2) {
		p[off] = 0;
		return;
	}
	if (e->checksums == ANON_MEND)
		sum = (uint16_t)~sum_add(
		    (uint16_t)~link_layer_u16(p + off), difference);
	p[off] = (uint8_t)(sum >> 8);
	p[off + 1] = (uint8_t)sum;
}

/* Replace COUNT addresses of LEN bytes, the first at OFF, STEP bytes apart. */
static void
addresses(const struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
    uint32_t len, uint32_t step, uint32_t count)
{
	for (; count > 0 && off < n; count--, off += step)
		(void)address(e, p, n, off, len);
}

/* What follows is not understood. */
static void
not_known(struct edit *e, uint32_t n)
{
	e->may_tell |= n > 0;
}

/* Anonymise the quoted packet at OFF of N bytes. */
static void
quote(struct edit *e, uint16_t type, uint8_t *p, uint32_t n, uint32_t off)
{
	if (off < n)
		network(e, type, p + off, n - off);
}

static void
icmp(struct edit *e, uint8_t *p, uint32_t n)
{
	uint16_t was;

	if (n <= 4)
		return;
	was = sum_of(p + 4, n - 4);
	switch (p[0]) {
	case ICMP_REDIRECT:
		(void)address(e, p, n, 4, 4);
		quote(e, ETHER_TYPE_IPV4, p, n, 8);
		break;
	case ICMP_UNREACHABLE:
	case ICMP_QUENCH:
	case ICMP_TIME:
	case ICMP_PARAMETER:
		quote(e, ETHER_TYPE_IPV4, p, n, 8);
		break;
	case ICMP_ROUTERS: /* p[5] is the size of each in words */
		if (n >= 8 && p[5] > 0)
			addresses(e, p, n, 8, 4, p[5] * 4u, p[4]);
		break;
	default:
		return; /* no addresses */
	}
	checksum(e, p, n, 2, sum_difference(was, sum_of(p + 4, n - 4)));
}

/* An option of LEN bytes, of which N were captured. */
static void
option(struct edit *e, uint8_t *p, uint32_t n, uint32_t len)
{
	const uint32_t have = n < len ? n : len;

	switch (p[0]) {
	case OPTION_PREFIX:
		if (len == 32)
			(void)address(e, p, have, 16, 16);
		break;
	case OPTION_ROUTE: /* the prefix fills the option */
		if (len == 24)
			(void)address(e, p, have, 8, 16);
		break;
	case OPTION_DNS:
		addresses(e, p, have, 8, 16, 16, (len - 8) / 16);
		break;
	case OPTION_REDIRECTED:
		quote(e, ETHER_TYPE_IPV6, p, have, 8);
		break;
	default:
		break;
	}
}

/* The options at OFF of N bytes. */
static void
options(struct edit *e, uint8_t *p, uint32_t n, uint32_t off)
{
	while (n > off && n - off >= 2 && p[off + 1] > 0) {
		const uint32_t len = p[off + 1] * 8u;

		option(e, p + off, n - off, len);
		off += len;
	}
}

/* Records of multicast listeners (RFC 3810, 5.2). */
static void
listener_records(const struct edit *e, uint8_t *p, uint32_t n)
{
	uint32_t off = 8;

	while (n > off) {
		const uint32_t left = n - off;
		const uint32_t sources = left >= 4 ? link_layer_u16(p + off + 2)
						   : 0;
		const uint32_t extra = left >= 2 ? p[off + 1] * 4u : 0;

		addresses(e, p, n, off + 4, 16, 16, 1 + sources);
		off += 4 + 16 * (1 + sources) + extra;
	}
}

static void
neighbours(struct edit *e, uint8_t *p, uint32_t n, uint32_t off)
{
	addresses(e, p, n, 8, 16, 16, (off - 8) / 16);
	options(e, p, n, off);
}

static void
icmpv6_body(struct edit *e, uint8_t *p, uint32_t n)
{
	switch (p[0]) {
	case ICMPV6_ROUTER_SOLICITATION:
		options(e, p, n, 8);
		break;
	case ICMPV6_ROUTERS:
		options(e, p, n, 16);
		break;
	case ICMPV6_SOLICITATION:
	case ICMPV6_ADVERTISEMENT:
		neighbours(e, p, n, 24);
		break;
	case ICMPV6_REDIRECT:
		neighbours(e, p, n, 40);
		break;
	case ICMPV6_LISTENER_REPORT:
		listener_records(e, p, n);
		break;
	default:
		if (p[0] >= ICMPV6_ERROR_FIRST && p[0] <= ICMPV6_ERROR_LAST)
			quote(e, ETHER_TYPE_IPV6, p, n, 8);
		if (p[0] >= ICMPV6_LISTENER_FIRST &&
		    p[0] <= ICMPV6_LISTENER_LAST)
			(void)address(e, p, n, 8, 16);
		break;
	}
}

/* The pseudo-header changed by DIFFERENCE. */
static void
icmpv6(struct edit *e, uint8_t *p, uint32_t n, uint16_t difference)
{
	if (n > 8) {
		const uint16_t was = sum_of(p + 8, n - 8);

		icmpv6_body(e, p, n);
		difference = sum_add(
		    difference, sum_difference(was, sum_of(p + 8, n - 8)));
	}
	checksum(e, p, n, 2, difference);
}

/* The packet within the packet of PROTOCOL, whose header begins at P. */
static void
within(struct edit *e, uint8_t protocol, uint8_t *p, uint32_t n)
{
	struct tunnel t;

	tunnel_find(&t, protocol, p, n);
	if (t.type == TUNNEL_UNKNOWN)
		not_known(e, n);
	else if (t.type != TUNNEL_NONE && t.offset < n)
		network(e, t.ether_type, p + t.offset, n - t.offset);
}

enum { UDP_LEN = 8 };

/* A checksum of 0 means that there is none (RFC 768). */
static void
udp(struct edit *e, uint8_t *p, uint32_t n, uint16_t difference)
{
	const uint32_t off = 6;

	if (n > UDP_LEN) {
		const uint16_t was = sum_of(p + UDP_LEN, n - UDP_LEN);

		within(e, PROTOCOL_UDP, p, n);
		difference = sum_add(difference,
		    sum_difference(was, sum_of(p + UDP_LEN, n - UDP_LEN)));
	}

	if (n >= off + 2 && link_layer_u16(p + off) == 0)
		return;
	checksum(e, p, n, off, difference);
	if (n >= off + 2 && link_layer_u16(p + off) == 0 &&
	    e->checksums == ANON_MEND)
		p[off] = p[off + 1] = 0xff;
}

/* A checksum, if there is one, covers everything that follows. */
static void
gre(struct edit *e, uint8_t *p, uint32_t n)
{
	enum { OFFSET = 8 }; /* after it */
	const bool has_checksum = n > OFFSET && p[0] & 0x80;
	const uint16_t was = has_checksum ? sum_of(p + OFFSET, n - OFFSET) : 0;

	within(e, PROTOCOL_GRE, p, n);
	if (has_checksum)
		checksum(e, p, n, 4,
		    sum_difference(was, sum_of(p + OFFSET, n - OFFSET)));
}

/* RFC 9260: addresses are in the chunks that begin an association, and in
 * reports of errors. The checksum does not cover those of IP. */
static void
sctp(struct edit *e, const uint8_t *p, uint32_t n)
{
	enum { DATA = 0, SACK = 3, SHUTDOWN = 7, SHUTDOWN_ACK = 8 };
	enum { COOKIE_ACK = 11, SHUTDOWN_COMPLETE = 14 };
	uint32_t off = 12, len;

	for (; off < n; off += (len + 3) & ~UINT32_C(3)) {
		len = n - off < 4 ? 4 : link_layer_u16(p + off + 2);
		switch (p[off]) {
		case DATA:
		case SACK:
		case SHUTDOWN:
		case SHUTDOWN_ACK:
		case COOKIE_ACK:
		case SHUTDOWN_COMPLETE:
			break;
		default:
			not_known(e, n - off);
			return;
		}
		if (len < 4) {
			not_known(e, n - off);
			return;
		}
	}
}

/* RFC 7761, 4.9: the checksum covers 8 bytes, or all of old senders. */
static void
pim(struct edit *e, uint8_t *p, uint32_t n)
{
	enum { LEN = 8 };
	const bool covers_all = n > LEN && sum_of(p, LEN) != 0xffff;
	const uint16_t was = covers_all ? sum_of(p + LEN, n - LEN) : 0;

	within(e, PROTOCOL_PIM, p, n);
	checksum(e, p, n, 2,
	    covers_all ? sum_difference(was, sum_of(p + LEN, n - LEN)) : 0);
}

static void
transport(struct edit *e, uint8_t protocol, uint8_t *p, uint32_t n,
    struct pseudo pseudo)
{
	const uint16_t difference = sum_add(pseudo.source, pseudo.destination);

	switch (protocol) {
	case PROTOCOL_TCP:
		checksum(e, p, n, 16, difference);
		break;
	case PROTOCOL_UDP:
		udp(e, p, n, difference);
		break;
	case PROTOCOL_UDP_LITE:
	case PROTOCOL_DCCP:
		checksum(e, p, n, 6, difference);
		break;
	case PROTOCOL_ICMP:
		icmp(e, p, n);
		break;
	case PROTOCOL_ICMPV6:
		icmpv6(e, p, n, difference);
		break;
	case PROTOCOL_IPV4:
	case PROTOCOL_IPV6:
		within(e, protocol, p, n);
		break;
	case PROTOCOL_GRE:
		gre(e, p, n);
		break;
	case PROTOCOL_SCTP:
		sctp(e, p, n);
		break;
	case PROTOCOL_ESP: /* encrypted */
	case PROTOCOL_NONE:
		break;
	default: /* routing, multicast groups, ... */
		not_known(e, n);
		break;
	}
}

/* Replace the addresses of an option, STEP bytes apart; 0 is an unused place.
 */
static void
option_addresses(
    const struct edit *e, uint8_t *p, uint32_t n, uint32_t off, uint32_t step)
{
	static const uint8_t none[4];

	for (; off < n; off += step)
		if (n - off < 4 || memcmp(p + off, none, 4) != 0)
			(void)address(e, p, n, off, 4);
}

/* The options of an IPv4 header of N bytes (RFC 791, 3.1). */
static void
ipv4_options(const struct edit *e, uint8_t *p, uint32_t n)
{
	enum {
		END = 0,
		NOTHING = 1,
		ROUTE = 7,
		TIME = 68,
		LOOSE = 131,
		STRICT = 137
	};
	uint32_t off = IPV4_LEN;

	while (off < n && p[off] != END) {
		const uint32_t len = n - off < 2 ? 1 : p[off + 1];
		const uint32_t end = n - off < len ? n : off + len;

		if (p[off] == NOTHING) {
			off++;
			continue;
		}
		if (len < 2)
			return;
		if (p[off] == ROUTE || p[off] == LOOSE || p[off] == STRICT)
			option_addresses(e, p, end, off + 3, 4);
		/* 1, 3: an address before each time */
		if (p[off] == TIME && end - off > 4 && p[off + 3] & 1)
			option_addresses(e, p, end, off + 4, 8);
		off += len;
	}
}

/* Skips authentication headers (RFC 4302), the only extension headers of IPv4.
 */
static void
ipv4_transport(
    struct edit *e, uint8_t protocol, uint8_t *p, uint32_t n, struct pseudo d)
{
	while (protocol == PROTOCOL_AUTHENTICATION && n >= 2) {
		const uint32_t len = (p[1] + 2u) * 4;

		if (n <= len)
			return;
		protocol = p[0];
		p += len;
		n -= len;
	}
	/* IPv6's checksum does not tell what it covers. */
	if (protocol == PROTOCOL_PIM)
		pim(e, p, n);
	else
		transport(e, protocol, p, n, d);
}

/* RFC 791. A header that claims to be too short is treated as one without
 * options, and nothing after it is searched. */
static void
ipv4(struct edit *e, uint8_t *p, uint32_t n)
{
	uint32_t len = IPV4_LEN;
	struct pseudo pseudo;
	uint16_t was, difference;
	bool is_bad;

	if (n == 0 || p[0] >> 4 != 4) {
		not_known(e, n);
		return;
	}
	is_bad = (p[0] & 15) * 4 < IPV4_LEN;
	if (is_bad)
		not_known(e, n);
	else
		len = (p[0] & 15) * 4u;
	if (n >= 4 && link_layer_u16(p + 2) >= len && link_layer_u16(p + 2) < n)
		n = link_layer_u16(p + 2); /* the rest is padding of Ethernet */
	was = n < len ? 0 : sum_of(p + IPV4_LEN, len - IPV4_LEN);
	pseudo.source = address(e, p, n, 12, 4);
	pseudo.destination = address(e, p, n, 16, 4);
	ipv4_options(e, p, n < len ? n : len);
	if (n < len) {
		for (uint32_t i = 10; i < 12 && i < n; i++)
			p[i] = 0;
		return;
	}
	difference = sum_add(pseudo.source, pseudo.destination);
	checksum(e, p, n, 10,
	    sum_add(difference,
		sum_difference(was, sum_of(p + IPV4_LEN, len - IPV4_LEN))));
	if (!is_bad && (link_layer_u16(p + 6) & 0x1fff) == 0)
		ipv4_transport(e, p[9], p + len, n - len, pseudo);
}

/* A routing header of N captured bytes: types 0 (RFC 5095: obsolete), 2 (RFC
 * 6275) and 4 (RFC 8754). The last address of the route counts for the
 * pseudo-header until it is reached. */
static void
routing(const struct edit *e, uint8_t *p, uint32_t n, struct pseudo *pseudo)
{
	uint32_t most, count, last;

	if (n < 8 || (p[2] != 0 && p[2] != 2 && p[2] != 4))
		return;
	count = most = p[1] / 2u;
	if (p[2] == 4 && p[4] + 1u < most)
		count = p[4] + 1u;
	last = p[2] == 4 ? 0 : count - 1;
	for (uint32_t i = 0; i < count; i++) {
		const uint16_t difference = address(e, p, n, 8 + 16 * i, 16);

		if (i == last && p[3] > 0)
			pseudo->destination = difference;
	}
}

/* The home address option (RFC 6275, 6.3) in a header of N bytes. */
static void
home_address(
    const struct edit *e, uint8_t *p, uint32_t n, struct pseudo *pseudo)
{
	enum { PAD1 = 0, HOME_ADDRESS = 0xc9 };
	uint32_t off = 2;

	while (off < n) {
		if (p[off] == PAD1) {
			off++;
			continue;
		}
		if (n - off < 2)
			return;
		if (p[off] == HOME_ADDRESS && p[off + 1] == 16)
			pseudo->source = address(e, p, n, off + 2, 16);
		off += 2u + p[off + 1];
	}
}

/* Anonymise an extension header of RFC 8200. False: TYPE is not one. *LEN is
 * its length; 0: what follows is unknown. */
static bool
extension(struct edit *e, uint8_t type, uint8_t *p, uint32_t n,
    struct pseudo *pseudo, uint32_t *len)
{
	uint32_t have;

	*len = n < 2 ? 0 : (p[1] + 1u) * 8;
	have = n < *len ? n : *len;
	switch (type) {
	case PROTOCOL_ROUTING:
		routing(e, p, have, pseudo);
		return true;
	case PROTOCOL_DESTINATION:
		home_address(e, p, have, pseudo);
		return true;
	case PROTOCOL_HOP_BY_HOP:
		return true;
	case PROTOCOL_MOBILITY:
	case PROTOCOL_HIP:
	case PROTOCOL_SHIM6:
		not_known(e, n);
		return true;
	case PROTOCOL_FRAGMENT:
		*len = n < 4 || link_layer_u16(p + 2) >> 3 != 0 ? 0 : 8;
		return true;
	case PROTOCOL_AUTHENTICATION:
		*len = n < 2 ? 0 : (p[1] + 2u) * 4;
		return true;
	default:
		return false;
	}
}

/* RFC 8200. */
static void
ipv6(struct edit *e, uint8_t *p, uint32_t n)
{
	struct pseudo pseudo;
	uint32_t off = IPV6_LEN, len;
	uint8_t next;

	if (n == 0 || p[0] >> 4 != 6) {
		not_known(e, n);
		return;
	}
	if (n >= 6 && link_layer_u16(p + 4) > 0 &&
	    link_layer_u16(p + 4) + off < n)
		n = link_layer_u16(p + 4) + off;
	pseudo.source = address(e, p, n, 8, 16);
	pseudo.destination = address(e, p, n, 24, 16);
	if (n <= off)
		return;
	next = p[6];
	while (extension(e, next, p + off, n - off, &pseudo, &len)) {
		if (len == 0 || n - off <= len)
			return;
		next = p[off];
		off += len;
	}
	transport(e, next, p + off, n - off, pseudo);
}

/* RFC 826, RFC 903. Hardware addresses stay. */
static void
arp(struct edit *e, uint8_t *p, uint32_t n)
{
	if (n < 8 || link_layer_u16(p + 2) != ETHER_TYPE_IPV4 || p[5] != 4) {
		not_known(e, n);
		return;
	}
	(void)address(e, p, n, 8u + p[4], 4);
	(void)address(e, p, n, 12u + 2u * p[4], 4);
}

static void
network(struct edit *e, uint16_t ether_type, uint8_t *p, uint32_t n)
{
	struct link_layer l;

	if (e->depth > ANON_DEPTH) {
		not_known(e, n);
		return;
	}
	e->depth++;
	link_layer_find_typed(&l, ether_type, p, n);
	p += l.offset;
	n -= l.offset;
	switch (l.network) {
	case ETHER_TYPE_IPV4:
		ipv4(e, p, n);
		break;
	case ETHER_TYPE_IPV6:
		ipv6(e, p, n);
		break;
	case ETHER_TYPE_ARP:
	case ETHER_TYPE_RARP:
		arp(e, p, n);
		break;
	case ETHER_TYPE_ETHERNET:
		frame(e, LINKTYPE_ETHERNET, p, n);
		break;
	default:
		not_known(e, n);
		break;
	}
	e->depth--;
}

bool
anon_packet(struct anon *a, uint16_t link_type, uint8_t *p, uint32_t n,
    enum anon_checksums checksums)
{
	struct edit e = { .anon = a, .checksums = checksums };

	frame(&e, link_type, p, n);
	return !e.may_tell;
}
