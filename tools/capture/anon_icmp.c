/* SPDX-License-Identifier: MIT */
#include "tools/capture/anon_internal.h"

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

/* COUNT addresses of LEN bytes, the first at OFF, STEP bytes apart. */
static void
addresses(const struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
    uint32_t len, uint32_t step, uint32_t count)
{
	for (; count > 0 && off < n; count--, off += step)
		(void)anon_address(e, p, n, off, len);
}

/* The packet at OFF of N bytes, of an Ethernet type. */
static void
quote(struct edit *e, uint16_t type, uint8_t *p, uint32_t n, uint32_t off)
{
	if (off < n)
		anon_network(e, type, p + off, n - off);
}

void
anon_icmp(struct edit *e, uint8_t *p, uint32_t n)
{
	uint16_t was;

	if (n <= 4)
		return;
	was = anon_sum(p + 4, n - 4);
	switch (p[0]) {
	case ICMP_REDIRECT:
		(void)anon_address(e, p, n, 4, 4);
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
	anon_checksum(e, p, n, 2, anon_difference(was, anon_sum(p + 4, n - 4)));
}

/* One option of LEN bytes, of which N are there. */
static void
option(struct edit *e, uint8_t *p, uint32_t n, uint32_t len)
{
	const uint32_t have = n < len ? n : len;

	switch (p[0]) {
	case OPTION_PREFIX:
		if (len == 32)
			(void)anon_address(e, p, have, 16, 16);
		break;
	case OPTION_ROUTE: /* a prefix of as many bytes as there are */
		if (len == 24)
			(void)anon_address(e, p, have, 8, 16);
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

/* Those at OFF of N bytes. */
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
		const uint32_t sources = left >= 4 ? anon_u16(p + off + 2) : 0;
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
			(void)anon_address(e, p, n, 8, 16);
		break;
	}
}

void
anon_icmpv6(struct edit *e, uint8_t *p, uint32_t n, uint16_t difference)
{
	if (n > 8) {
		const uint16_t was = anon_sum(p + 8, n - 8);

		icmpv6_body(e, p, n);
		difference = anon_add(
		    difference, anon_difference(was, anon_sum(p + 8, n - 8)));
	}
	anon_checksum(e, p, n, 2, difference);
}
