/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "tools/capture/anon.h"
#include "tools/capture/anon_edit.h"
#include "tools/capture/link_layer.h"
#include "tools/capture/record.h"
#include "tools/capture/tunnel.h"

enum { IPV4_LEN = 20, IPV6_LEN = 40 };

/* Changes of the pseudo-header's sum; its addresses are not always those of the
 * IP header (RFC 8200, 8.1; RFC 6275, 11.3.2). */
struct pseudo {
	uint16_t source, destination;
};

/* Are these N bytes an IP packet, not a frame whose MAC address begins like
 * one? The length or the checksum tells. Fewer than a header have no address of
 * what is in a frame. */
static bool
is_ip(const uint8_t *p, uint32_t n)
{
	const uint32_t len = n < IPV4_LEN ? 0 : (p[0] & 15) * 4u;

	if (n < IPV4_LEN)
		return true;
	if (p[0] >> 4 == 6)
		return n == link_layer_u16(p + 4) + (uint32_t)IPV6_LEN;
	return n == link_layer_u16(p + 2) ||
	       (len >= IPV4_LEN && len <= n && edit_sum_of(p, len) == 0xffff);
}

static void
check_guess(
    struct edit *e, const struct link_layer *l, const uint8_t *p, uint32_t n)
{
	if (l->is_guess && !is_ip(p + l->offset, n - l->offset))
		edit_not_known(e, n);
}

/* A link layer and what follows it. */
static void
frame(struct edit *e, uint16_t link_type, uint8_t *p, uint32_t n)
{
	struct link_layer l;

	link_layer_find(&l, link_type, p, n);
	check_guess(e, &l, p, n);
	edit_network(e, l.network, p + l.offset, n - l.offset);
}

/* The packet within the packet of PROTOCOL, whose header begins at P. */
static void
within(struct edit *e, uint8_t protocol, uint8_t *p, uint32_t n)
{
	struct tunnel t;

	tunnel_find(&t, protocol, p, n);
	if (t.type == TUNNEL_UNKNOWN)
		edit_not_known(e, n);
	else if (t.type != TUNNEL_NONE && t.offset < n)
		edit_network(e, t.ether_type, p + t.offset, n - t.offset);
}

enum { UDP_LEN = 8 };

/* A checksum of 0 means that there is none (RFC 768). */
static void
udp(struct edit *e, uint8_t *p, uint32_t n, uint16_t difference)
{
	const uint32_t off = 6;

	if (n > UDP_LEN) {
		const uint16_t was = edit_sum_of(p + UDP_LEN, n - UDP_LEN);

		within(e, PROTOCOL_UDP, p, n);
		difference = edit_sum_add(
		    difference, edit_sum_difference(was,
				    edit_sum_of(p + UDP_LEN, n - UDP_LEN)));
	}

	if (n >= off + 2 && link_layer_u16(p + off) == 0)
		return;
	edit_checksum(e, p, n, off, difference);
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
	const uint16_t was = has_checksum ? edit_sum_of(p + OFFSET, n - OFFSET)
					  : 0;

	within(e, PROTOCOL_GRE, p, n);
	if (has_checksum)
		edit_checksum(e, p, n, 4,
		    edit_sum_difference(
			was, edit_sum_of(p + OFFSET, n - OFFSET)));
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
			edit_not_known(e, n - off);
			return;
		}
		if (len < 4) {
			edit_not_known(e, n - off);
			return;
		}
	}
}

/* RFC 7761, 4.9: the checksum covers 8 bytes, or all of old senders. */
static void
pim(struct edit *e, uint8_t *p, uint32_t n)
{
	enum { LEN = 8 };
	const bool covers_all = n > LEN && edit_sum_of(p, LEN) != 0xffff;
	const uint16_t was = covers_all ? edit_sum_of(p + LEN, n - LEN) : 0;

	within(e, PROTOCOL_PIM, p, n);
	edit_checksum(e, p, n, 2,
	    covers_all ? edit_sum_difference(was, edit_sum_of(p + LEN, n - LEN))
		       : 0);
}

/* The options of IPv4 or TCP from OFF to N; TAKE anonymises one of N bytes, or
 * returns false. */
static void
each_option(struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
    bool (*take)(const struct edit *e, uint8_t *p, uint32_t n))
{
	enum { END = 0, NOTHING = 1 };
	uint32_t len;

	for (; off < n && p[off] != END; off += len) {
		const uint32_t left = n - off;

		len = 1;
		if (p[off] == NOTHING || left < 2)
			continue;
		len = p[off + 1];
		if (len < 2 || !take(e, p + off, left < len ? left : len))
			edit_not_known(e, left);
		if (len < 2)
			return;
	}
	while (off < n && p[off] == END)
		off++;
	edit_not_known_after(e, n, off);
}

/* IANA, TCP Option Kind Numbers. One of Multipath TCP has addresses (RFC 8684,
 * 3.4.1). */
static bool
tcp_option(const struct edit *e, uint8_t *p, uint32_t n)
{
	enum { MSS = 2, SCALE = 3, SACK_PERMITTED = 4, SACK = 5, TIMES = 8 };
	enum { MD5 = 19, USER_TIMEOUT = 28, AUTHENTICATION = 29 };
	enum { MULTIPATH = 30, FAST_OPEN = 34, ADD_ADDRESS = 3 };

	(void)e;
	switch (p[0]) {
	case MSS:
	case SCALE:
	case SACK_PERMITTED:
	case SACK:
	case TIMES:
	case MD5:
	case USER_TIMEOUT:
	case AUTHENTICATION:
	case FAST_OPEN:
		return true;
	case MULTIPATH:
		return n < 3 || p[2] >> 4 != ADD_ADDRESS;
	default:
		return false;
	}
}

static void
tcp(struct edit *e, uint8_t *p, uint32_t n, uint16_t difference)
{
	const uint32_t len = n <= 12 ? 0 : (p[12] >> 4) * 4u;

	each_option(e, p, n < len ? n : len, 20, tcp_option);
	edit_checksum(e, p, n, 16, difference);
}

static void
transport(struct edit *e, uint8_t protocol, uint8_t *p, uint32_t n,
    struct pseudo pseudo)
{
	const uint16_t difference = edit_sum_add(
	    pseudo.source, pseudo.destination);

	switch (protocol) {
	case PROTOCOL_TCP:
		tcp(e, p, n, difference);
		break;
	case PROTOCOL_UDP:
		udp(e, p, n, difference);
		break;
	case PROTOCOL_UDP_LITE:
	case PROTOCOL_DCCP:
		edit_checksum(e, p, n, 6, difference);
		break;
	case PROTOCOL_ICMP:
		edit_icmp(e, p, n);
		break;
	case PROTOCOL_ICMPV6:
		edit_icmpv6(e, p, n, difference);
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
		break;
	default: /* routing, multicast groups, ... */
		edit_not_known(e, n);
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
			(void)edit_address(e, p, n, off, 4);
}

/* RFC 791, 3.1; RFC 2113. */
static bool
ipv4_option(const struct edit *e, uint8_t *p, uint32_t n)
{
	enum { ROUTE = 7, TIME = 68, LOOSE = 131, STRICT = 137, ALERT = 148 };
	/* of TIME: times alone, with addresses, or at addresses */
	enum { TIMES = 0, RECORDED = 1, PRESCRIBED = 3 };
	const uint8_t flag = n < 4 ? TIMES : p[3] & 15;

	switch (p[0]) {
	case ALERT:
		return true;
	case ROUTE:
	case LOOSE:
	case STRICT:
		option_addresses(e, p, n, 3, 4);
		return true;
	case TIME:
		if (flag == RECORDED || flag == PRESCRIBED)
			option_addresses(e, p, n, 4, 8);
		return flag <= RECORDED || flag == PRESCRIBED;
	default:
		return false;
	}
}

/* A fragment that is not the first. */
static void
later_fragment(struct edit *e, uint8_t protocol, uint32_t n)
{
	switch (protocol) {
	case PROTOCOL_TCP:
	case PROTOCOL_UDP:
	case PROTOCOL_ICMP:
	case PROTOCOL_ICMPV6:
	case PROTOCOL_ESP:
		break;
	default:
		edit_not_known(e, n);
		break;
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
		edit_not_known(e, n);
		return;
	}
	is_bad = (p[0] & 15) * 4 < IPV4_LEN;
	if (is_bad)
		edit_not_known(e, n);
	else
		len = (p[0] & 15) * 4u;
	if (n >= 4 && link_layer_u16(p + 2) >= len)
		n = edit_trim(p, n, link_layer_u16(p + 2)); /* of Ethernet */
	was = n < len ? 0 : edit_sum_of(p + IPV4_LEN, len - IPV4_LEN);
	pseudo.source = edit_address(e, p, n, 12, 4);
	pseudo.destination = edit_address(e, p, n, 16, 4);
	each_option(e, p, n < len ? n : len, IPV4_LEN, ipv4_option);
	if (n < len) {
		for (uint32_t i = 10; i < 12 && i < n; i++)
			p[i] = 0;
		return;
	}
	difference = edit_sum_add(pseudo.source, pseudo.destination);
	edit_checksum(e, p, n, 10,
	    edit_sum_add(
		difference, edit_sum_difference(was,
				edit_sum_of(p + IPV4_LEN, len - IPV4_LEN))));
	if ((link_layer_u16(p + 6) & 0x1fff) != 0)
		later_fragment(e, p[9], n - len);
	else if (!is_bad)
		ipv4_transport(e, p[9], p + len, n - len, pseudo);
}

/* A routing header of N captured bytes: types 0 (RFC 5095: obsolete), 2 (RFC
 * 6275) and 4 (RFC 8754). The last address of the route counts for the
 * pseudo-header until it is reached. */
static void
routing(struct edit *e, uint8_t *p, uint32_t n, struct pseudo *pseudo)
{
	uint32_t most, count, last;

	if (n < 8 || (p[2] != 0 && p[2] != 2 && p[2] != 4)) {
		edit_not_known_after(e, n, 2);
		return;
	}
	count = most = p[1] / 2u;
	if (p[2] == 4 && p[4] + 1u < most)
		count = p[4] + 1u;
	last = p[2] == 4 ? 0 : count - 1;
	for (uint32_t i = 0; i < count; i++) {
		const uint16_t difference = edit_address(
		    e, p, n, 8 + 16 * i, 16);

		if (i == last && p[3] > 0)
			pseudo->destination = difference;
	}
	edit_not_known_after(e, n, 8 + 16 * count);
}

/* The options in a header of N bytes (RFC 8200, RFC 2711, RFC 2675; RFC 6275,
 * 6.3). */
static void
ipv6_options(struct edit *e, uint8_t *p, uint32_t n, struct pseudo *pseudo)
{
	enum { PAD1 = 0, PADN = 1, ALERT = 5, JUMBO = 0xc2 };
	enum { HOME_ADDRESS = 0xc9 };
	uint32_t off = 2, len;

	for (; off < n; off += len) {
		const uint32_t left = n - off;

		len = p[off] == PAD1 || left < 2 ? 1 : 2u + p[off + 1];
		if (len == 1 || p[off] == PADN || p[off] == ALERT ||
		    p[off] == JUMBO)
			continue;
		if (p[off] == HOME_ADDRESS && len == 18)
			pseudo->source = edit_address(e, p, n, off + 2, 16);
		else
			edit_not_known(e, left);
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
	case PROTOCOL_HOP_BY_HOP:
		ipv6_options(e, p, have, pseudo);
		return true;
	case PROTOCOL_MOBILITY:
	case PROTOCOL_HIP:
	case PROTOCOL_SHIM6:
		edit_not_known(e, n);
		return true;
	case PROTOCOL_FRAGMENT:
		*len = n < 4 ? 0 : 8;
		if (*len == 0 || link_layer_u16(p + 2) >> 3 == 0)
			return true;
		*len = 0;
		later_fragment(e, p[0], n);
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
		edit_not_known(e, n);
		return;
	}
	if (n >= 6 && link_layer_u16(p + 4) > 0)
		n = edit_trim(p, n, off + link_layer_u16(p + 4));
	pseudo.source = edit_address(e, p, n, 8, 16);
	pseudo.destination = edit_address(e, p, n, 24, 16);
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
		edit_not_known(e, n);
		return;
	}
	n = edit_trim(p, n, 16u + 2u * p[4]);
	(void)edit_address(e, p, n, 8u + p[4], 4);
	(void)edit_address(e, p, n, 12u + 2u * p[4], 4);
}

void
edit_network(struct edit *e, uint16_t ether_type, uint8_t *p, uint32_t n)
{
	struct link_layer l;

	if (e->depth > ANON_DEPTH) {
		edit_not_known(e, n);
		return;
	}
	e->depth++;
	link_layer_find_typed(&l, ether_type, p, n);
	check_guess(e, &l, p, n);
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
		edit_not_known(e, n);
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
