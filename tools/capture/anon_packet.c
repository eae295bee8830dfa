/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "tools/capture/anon_internal.h"
#include "tools/capture/record.h"

/* Protocol Numbers (IANA), IPv6's extension headers among them. */
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

enum { IPV4_LEN = 20, IPV6_LEN = 40 };

/* By what the pseudo-header's sum changes; the addresses in it are not always
 * those of the IP header (RFC 8200, 8.1; RFC 6275, 11.3.2). */
struct pseudo {
	uint16_t source, destination;
};

uint16_t
anon_add(uint16_t a, uint16_t b)
{
	const uint32_t sum = (uint32_t)a + b;

	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

uint16_t
anon_difference(uint16_t was, uint16_t is)
{
	return anon_add((uint16_t)~was, is);
}

uint16_t
anon_sum(const uint8_t *p, uint32_t n)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i + 1 < n; i += 2)
		sum += anon_u16(p + i);
	if (i < n)
		sum += (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

uint16_t
anon_address(
    const struct edit *e, uint8_t *p, uint32_t n, uint32_t off, uint32_t len)
{
	uint16_t was;

	if (off >= n)
		return 0;
	p += off;
	n = n - off < len ? n - off : len;
	was = anon_sum(p, n);
	if (n < len)
		memset(p, 0, n);
	else if (len == 4)
		anon_ipv4(e->anon, p);
	else
		anon_ipv6(e->anon, p);
	return anon_difference(was, anon_sum(p, n));
}

/* RFC 1624, equation 3. */
void
anon_checksum(const struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
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
		sum = (uint16_t)~anon_add(
		    (uint16_t)~anon_u16(p + off), difference);
	p[off] = (uint8_t)(sum >> 8);
	p[off + 1] = (uint8_t)sum;
}

/* Its checksum 0 means that there is none (RFC 768). */
static void
udp(const struct edit *e, uint8_t *p, uint32_t n, uint16_t difference)
{
	const uint32_t off = 6;

	if (n >= off + 2 && anon_u16(p + off) == 0)
		return;
	anon_checksum(e, p, n, off, difference);
	if (n >= off + 2 && anon_u16(p + off) == 0 && e->checksums == ANON_MEND)
		p[off] = p[off + 1] = 0xff;
}

/* RFC 2784, RFC 2890; its checksum is of all that follows. */
static void
gre(struct edit *e, uint8_t *p, uint32_t n)
{
	uint32_t off = 4;
	uint16_t was;

	/* version 0, without routes (RFC 1701) */
	if (n < 4 || p[0] & 0x40 || p[1] & 7)
		return;
	off += p[0] & 0x80 ? 4 : 0; /* checksum */
	off += p[0] & 0x20 ? 4 : 0; /* key */
	off += p[0] & 0x10 ? 4 : 0; /* number */
	if (n <= off)
		return;
	was = anon_sum(p + off, n - off);
	anon_network(e, anon_u16(p + 2), p + off, n - off);
	if (p[0] & 0x80)
		anon_checksum(e, p, n, 4,
		    anon_difference(was, anon_sum(p + off, n - off)));
}

static void
transport(struct edit *e, uint8_t protocol, uint8_t *p, uint32_t n,
    struct pseudo pseudo)
{
	const uint16_t difference = anon_add(pseudo.source, pseudo.destination);

	switch (protocol) {
	case PROTOCOL_TCP:
		anon_checksum(e, p, n, 16, difference);
		break;
	case PROTOCOL_UDP:
		udp(e, p, n, difference);
		break;
	case PROTOCOL_UDP_LITE:
	case PROTOCOL_DCCP:
		anon_checksum(e, p, n, 6, difference);
		break;
	case PROTOCOL_ICMP:
		anon_icmp(e, p, n);
		break;
	case PROTOCOL_ICMPV6:
		anon_icmpv6(e, p, n, difference);
		break;
	case PROTOCOL_IPV4:
		anon_network(e, ETHER_TYPE_IPV4, p, n);
		break;
	case PROTOCOL_IPV6:
		anon_network(e, ETHER_TYPE_IPV6, p, n);
		break;
	case PROTOCOL_GRE:
		gre(e, p, n);
		break;
	default:
		break;
	}
}

/* The addresses of an option, STEP bytes apart; 0 is a place that nobody has
 * filled. */
static void
option_addresses(
    const struct edit *e, uint8_t *p, uint32_t n, uint32_t off, uint32_t step)
{
	static const uint8_t none[4];

	for (; off < n; off += step)
		if (n - off < 4 || memcmp(p + off, none, 4) != 0)
			(void)anon_address(e, p, n, off, 4);
}

/* Of an IPv4 header of N bytes (RFC 791, 3.1). */
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

/* Skips authentication headers (RFC 4302), the only ones that IPv4 shares. */
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
	transport(e, protocol, p, n, d);
}

/* RFC 791. A header that claims to be too short is one without options, behind
 * which nothing is looked for. */
static void
ipv4(struct edit *e, uint8_t *p, uint32_t n)
{
	uint32_t len = IPV4_LEN;
	struct pseudo pseudo;
	uint16_t was, difference;
	bool is_bad;

	if (n == 0 || p[0] >> 4 != 4)
		return;
	is_bad = (p[0] & 15) * 4 < IPV4_LEN;
	if (!is_bad)
		len = (p[0] & 15) * 4u;
	if (n >= 4 && anon_u16(p + 2) >= len && anon_u16(p + 2) < n)
		n = anon_u16(p + 2); /* behind it, Ethernet fills up */
	was = n < len ? 0 : anon_sum(p + IPV4_LEN, len - IPV4_LEN);
	pseudo.source = anon_address(e, p, n, 12, 4);
	pseudo.destination = anon_address(e, p, n, 16, 4);
	ipv4_options(e, p, n < len ? n : len);
	if (n < len) {
		for (uint32_t i = 10; i < 12 && i < n; i++)
			p[i] = 0;
		return;
	}
	difference = anon_add(pseudo.source, pseudo.destination);
	anon_checksum(e, p, n, 10,
	    anon_add(difference,
		anon_difference(was, anon_sum(p + IPV4_LEN, len - IPV4_LEN))));
	if (!is_bad && (anon_u16(p + 6) & 0x1fff) == 0)
		ipv4_transport(e, p[9], p + len, n - len, pseudo);
}

/* A routing header of N bytes, or what is there of it: types 0 (RFC 5095: once
 * in use), 2 (RFC 6275) and 4 (RFC 8754). The last address of the way is the
 * one that counts, as long as it is still to come. */
static void
routing(const struct edit *e, uint8_t *p, uint32_t n, struct pseudo *pseudo)
{
	const uint32_t room = p[1] / 2u;
	uint32_t count = room, last;

	if (n < 8 || (p[2] != 0 && p[2] != 2 && p[2] != 4))
		return;
	if (p[2] == 4 && p[4] + 1u < room)
		count = p[4] + 1u;
	last = p[2] == 4 ? 0 : count - 1;
	for (uint32_t i = 0; i < count; i++) {
		const uint16_t difference = anon_address(
		    e, p, n, 8 + 16 * i, 16);

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
			pseudo->source = anon_address(e, p, n, off + 2, 16);
		off += 2u + p[off + 1];
	}
}

/* An extension header of RFC 8200: its length, 0 if it is none, or nothing can
 * be known of what is behind it. N is at least 2. */
static uint32_t
extension(
    struct edit *e, uint8_t type, uint8_t *p, uint32_t n, struct pseudo *pseudo)
{
	const uint32_t len = (p[1] + 1u) * 8;
	const uint32_t have = n < len ? n : len;

	switch (type) {
	case PROTOCOL_ROUTING:
		routing(e, p, have, pseudo);
		return len;
	case PROTOCOL_DESTINATION:
		home_address(e, p, have, pseudo);
		return len;
	case PROTOCOL_HOP_BY_HOP:
	case PROTOCOL_MOBILITY:
	case PROTOCOL_HIP:
	case PROTOCOL_SHIM6:
		return len;
	case PROTOCOL_FRAGMENT:
		return n < 4 || anon_u16(p + 2) >> 3 != 0 ? 0 : 8;
	case PROTOCOL_AUTHENTICATION:
		return (p[1] + 2u) * 4;
	default:
		return 0;
	}
}

static bool
is_extension(uint8_t type)
{
	switch (type) {
	case PROTOCOL_ROUTING:
	case PROTOCOL_DESTINATION:
	case PROTOCOL_HOP_BY_HOP:
	case PROTOCOL_MOBILITY:
	case PROTOCOL_HIP:
	case PROTOCOL_SHIM6:
	case PROTOCOL_FRAGMENT:
	case PROTOCOL_AUTHENTICATION:
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
	uint32_t off = IPV6_LEN;
	uint8_t next;

	if (n == 0 || p[0] >> 4 != 6)
		return;
	if (n >= 6 && anon_u16(p + 4) > 0 && anon_u16(p + 4) + off < n)
		n = anon_u16(p + 4) + off;
	pseudo.source = anon_address(e, p, n, 8, 16);
	pseudo.destination = anon_address(e, p, n, 24, 16);
	if (n <= off)
		return;
	for (next = p[6]; is_extension(next);) {
		const uint32_t len = n - off < 2 ? 0
						 : extension(e, next, p + off,
						       n - off, &pseudo);

		if (len == 0 || n - off <= len)
			return;
		next = p[off];
		off += len;
	}
	transport(e, next, p + off, n - off, pseudo);
}

/* RFC 826, RFC 903. Hardware addresses stay. */
static void
arp(const struct edit *e, uint8_t *p, uint32_t n)
{
	if (n < 8 || anon_u16(p + 2) != ETHER_TYPE_IPV4 || p[5] != 4)
		return;
	(void)anon_address(e, p, n, 8u + p[4], 4);
	(void)anon_address(e, p, n, 12u + 2u * p[4], 4);
}

static void
ethernet(struct edit *e, uint8_t *p, uint32_t n)
{
	uint32_t offset;
	const uint16_t type = anon_link(LINKTYPE_ETHERNET, p, n, &offset);

	anon_network(e, type, p + offset, n - offset);
}

void
anon_network(struct edit *e, uint16_t ether_type, uint8_t *p, uint32_t n)
{
	if (e->depth > ANON_DEPTH)
		return;
	e->depth++;
	switch (ether_type) {
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
		ethernet(e, p, n);
		break;
	default:
		break;
	}
	e->depth--;
}

void
anon_packet(struct anon *a, uint16_t link_type, uint8_t *p, uint32_t n,
    enum anon_checksums checksums)
{
	struct edit e = { .anon = a, .checksums = checksums };
	uint32_t offset;
	const uint16_t type = anon_link(link_type, p, n, &offset);

	anon_network(&e, type, p + offset, n - offset);
}
