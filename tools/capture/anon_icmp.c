/* SPDX-License-Identifier: MIT */
#include "tools/capture/anon_edit.h"
#include "tools/capture/link_layer.h"

/* Types of ICMP (RFC 792, RFC 1256). */
enum {
	ICMP_ECHO_REPLY = 0,
	ICMP_UNREACHABLE = 3,
	ICMP_QUENCH = 4,
	ICMP_REDIRECT = 5,
	ICMP_ECHO = 8,
	ICMP_ROUTERS = 9,
	ICMP_SOLICITATION = 10,
	ICMP_TIME = 11,
	ICMP_PARAMETER = 12,
	ICMP_CLOCK = 13,
	ICMP_CLOCK_REPLY = 14,
};

/* Types of ICMPv6 (RFC 4443, RFC 4861, RFC 2710, RFC 3810). */
enum {
	ICMPV6_UNREACHABLE = 1,
	ICMPV6_TOO_BIG = 2,
	ICMPV6_TIME = 3,
	ICMPV6_PARAMETER = 4,
	ICMPV6_ECHO = 128,
	ICMPV6_ECHO_REPLY = 129,
	ICMPV6_LISTENER_QUERY = 130,
	ICMPV6_LISTENER = 131,
	ICMPV6_LISTENER_DONE = 132,
	ICMPV6_ROUTER_SOLICITATION = 133,
	ICMPV6_ROUTERS = 134,
	ICMPV6_SOLICITATION = 135,
	ICMPV6_ADVERTISEMENT = 136,
	ICMPV6_REDIRECT = 137,
	ICMPV6_LISTENER_REPORT = 143,
};

/* Options of neighbour discovery (RFC 4861, RFC 3971, RFC 4191, RFC 8106). */
enum {
	OPTION_SOURCE_MAC = 1,
	OPTION_TARGET_MAC = 2,
	OPTION_PREFIX = 3,
	OPTION_REDIRECTED = 4,
	OPTION_MTU = 5,
	OPTION_NONCE = 14,
	OPTION_ROUTE = 24,
	OPTION_DNS = 25,
	OPTION_DOMAINS = 31,
};

/* An error with a quote of LEN bytes, behind which are extensions (RFC 4884);
 * 0: up to the end, unless an old sender has extensions after 128 bytes. */
static void
error(struct edit *e, uint16_t type, uint8_t *p, uint32_t n, uint32_t len)
{
	enum { QUOTE = 8, OLD = 128, VERSION = 0x2000 };

	if (len == 0 && n >= QUOTE + OLD + 2 &&
	    link_layer_u16(p + QUOTE + OLD) == VERSION)
		len = OLD;
	if (len > 0)
		edit_not_known_after(e, n, QUOTE + len);
	edit_quote(e, type, p, n, QUOTE);
}

/* Their number, the size of each in words, and each with a preference (RFC
 * 1256). Mobile IP's extensions follow (RFC 5944). */
static void
routers(struct edit *e, uint8_t *p, uint32_t n)
{
	if (n <= 8)
		return;
	if (p[5] != 2) {
		edit_not_known(e, n);
		return;
	}
	edit_addresses(e, p, n, 8, 4, 8, p[4]);
	edit_not_known_after(e, n, 8 + 8u * p[4]);
}

void
edit_icmp(struct edit *e, uint8_t *p, uint32_t n)
{
	uint16_t was;

	if (n <= 4)
		return;
	was = edit_sum_of(p + 4, n - 4);
	switch (p[0]) {
	case ICMP_ECHO_REPLY:
	case ICMP_ECHO:
	case ICMP_SOLICITATION:
	case ICMP_CLOCK:
	case ICMP_CLOCK_REPLY:
		return; /* no addresses */
	case ICMP_REDIRECT:
		(void)edit_address(e, p, n, 4, 4);
		edit_quote(e, ETHER_TYPE_IPV4, p, n, 8);
		break;
	case ICMP_QUENCH:
		edit_quote(e, ETHER_TYPE_IPV4, p, n, 8);
		break;
	case ICMP_UNREACHABLE:
	case ICMP_TIME:
	case ICMP_PARAMETER:
		error(e, ETHER_TYPE_IPV4, p, n, n < 6 ? 0 : p[5] * 4u);
		break;
	case ICMP_ROUTERS:
		routers(e, p, n);
		break;
	default:
		edit_not_known(e, n);
		return;
	}
	edit_checksum(
	    e, p, n, 2, edit_sum_difference(was, edit_sum_of(p + 4, n - 4)));
}

/* An option of LEN bytes, of which N were captured. */
static void
option(struct edit *e, uint8_t *p, uint32_t n, uint32_t len)
{
	const uint32_t have = n < len ? n : len;

	switch (p[0]) {
	case OPTION_SOURCE_MAC:
	case OPTION_TARGET_MAC:
	case OPTION_MTU:
	case OPTION_NONCE:
	case OPTION_DOMAINS:
		break;
	case OPTION_PREFIX:
		(void)edit_address(e, p, have, 16, 16);
		edit_not_known_after(e, have, 32);
		break;
	case OPTION_ROUTE: /* it may have the half of a prefix */
		if (len >= 24)
			(void)edit_address(e, p, have, 8, 16);
		edit_not_known_after(e, have, len >= 24 ? 24 : 8);
		break;
	case OPTION_DNS:
		edit_addresses(e, p, have, 8, 16, 16, (len - 8) / 16);
		edit_not_known_after(e, have, 8 + (len - 8) / 16 * 16);
		break;
	case OPTION_REDIRECTED:
		edit_quote(e, ETHER_TYPE_IPV6, p, have, 8);
		break;
	default:
		edit_not_known(e, have);
		break;
	}
}

/* The options at OFF of N bytes. */
static void
options(struct edit *e, uint8_t *p, uint32_t n, uint32_t off)
{
	while (n > off && n - off >= 2) {
		const uint32_t len = p[off + 1] * 8u;

		if (len == 0) {
			edit_not_known(e, n - off);
			return;
		}
		option(e, p + off, n - off, len);
		off += len;
	}
}

/* A query, which may have sources (RFC 3810, 5.1), or a message of RFC 2710. */
static void
listener(struct edit *e, uint8_t *p, uint32_t n)
{
	uint32_t end = 24;

	(void)edit_address(e, p, n, 8, 16);
	if (p[0] == ICMPV6_LISTENER_QUERY) {
		const uint32_t count = n < 28 ? 0 : link_layer_u16(p + 26);

		edit_addresses(e, p, n, 28, 16, 16, count);
		end = 28 + 16 * count;
	}
	edit_not_known_after(e, n, end);
}

/* Records of multicast listeners (RFC 3810, 5.2). */
static void
listener_records(struct edit *e, uint8_t *p, uint32_t n)
{
	uint32_t off = 8;

	for (uint32_t left = link_layer_u16(p + 6); left > 0 && off < n;
	     left--) {
		const uint32_t sources = n - off >= 4
					     ? link_layer_u16(p + off + 2)
					     : 0;

		edit_addresses(e, p, n, off + 4, 16, 16, 1 + sources);
		if (n - off >= 2) /* auxiliary data */
			edit_not_known(e, p[off + 1]);
		off += 4 + 16 * (1 + sources);
	}
	edit_not_known_after(e, n, off);
}

static void
neighbours(struct edit *e, uint8_t *p, uint32_t n, uint32_t off)
{
	edit_addresses(e, p, n, 8, 16, 16, (off - 8) / 16);
	options(e, p, n, off);
}

static void
icmpv6_body(struct edit *e, uint8_t *p, uint32_t n)
{
	switch (p[0]) {
	case ICMPV6_ECHO:
	case ICMPV6_ECHO_REPLY:
		break;
	case ICMPV6_UNREACHABLE:
	case ICMPV6_TIME:
		error(e, ETHER_TYPE_IPV6, p, n, p[4] * 8u);
		break;
	case ICMPV6_TOO_BIG:
	case ICMPV6_PARAMETER:
		edit_quote(e, ETHER_TYPE_IPV6, p, n, 8);
		break;
	case ICMPV6_LISTENER_QUERY:
	case ICMPV6_LISTENER:
	case ICMPV6_LISTENER_DONE:
		listener(e, p, n);
		break;
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
		edit_not_known(e, n);
		break;
	}
}

void
edit_icmpv6(struct edit *e, uint8_t *p, uint32_t n, uint16_t difference)
{
	if (n > 8) {
		const uint16_t was = edit_sum_of(p + 8, n - 8);

		icmpv6_body(e, p, n);
		difference = edit_sum_add(difference,
		    edit_sum_difference(was, edit_sum_of(p + 8, n - 8)));
	}
	edit_checksum(e, p, n, 2, difference);
}
