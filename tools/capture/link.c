/* SPDX-License-Identifier: MIT */
#include "tools/capture/link.h"

#include <string.h>

#include "tools/capture/record.h"

/* More link types (tcpdump.org). */
enum {
	LINKTYPE_IPV4 = 228,
	LINKTYPE_IPV6 = 229,
	LINKTYPE_LINUX_SLL2 = 276,
};

/* Protocols of PPP (IANA). */
enum { PPP_IPV4 = 0x0021, PPP_IPV6 = 0x0057 };

/* The rest of a packet. */
struct rest {
	const uint8_t *p;
	uint32_t n;
};

static bool
skip(struct rest *r, uint32_t n)
{
	if (r->n < n)
		return false;
	r->p += n;
	r->n -= n;
	return true;
}

/* The 16 bits at OFF, big-endian; 0 if they were not captured. */
static uint16_t
u16_at(const struct rest *r, uint32_t off)
{
	return r->n >= off + 2 ? link_u16(r->p + off) : 0;
}

/* Tells IPv4 and IPv6 by the version, with which a header begins. */
static uint16_t
by_version(const struct rest *r)
{
	if (r->n == 0)
		return ETHER_TYPE_NONE;
	switch (r->p[0] >> 4) {
	case 4:
		return ETHER_TYPE_IPV4;
	case 6:
		return ETHER_TYPE_IPV6;
	default:
		return ETHER_TYPE_NONE;
	}
}

/* RFC 1661; address and control may be missing, and the first byte of the
 * protocol. */
static uint16_t
ppp(struct rest *r)
{
	uint16_t protocol;

	if (u16_at(r, 0) == 0xff03)
		(void)skip(r, 2);
	if (r->n == 0)
		return ETHER_TYPE_NONE;
	protocol = r->p[0] & 1 ? r->p[0] : u16_at(r, 0);
	if (!skip(r, r->p[0] & 1 ? 1 : 2))
		return ETHER_TYPE_NONE;
	if (protocol == PPP_IPV4)
		return ETHER_TYPE_IPV4;
	return protocol == PPP_IPV6 ? ETHER_TYPE_IPV6 : ETHER_TYPE_NONE;
}

/* RFC 3032: labels, of which the last is marked. */
static uint16_t
mpls(struct rest *r)
{
	bool is_last = false;

	while (!is_last) {
		if (r->n < 4)
			return ETHER_TYPE_NONE;
		is_last = r->p[2] & 1;
		(void)skip(r, 4);
	}
	return by_version(r);
}

/* IEEE 802.2 with a header of SNAP (RFC 1042). */
static uint16_t
snap(struct rest *r)
{
	static const uint8_t header[] = { 0xaa, 0xaa, 3, 0, 0, 0 };
	uint16_t type;

	if (r->n < 8 || memcmp(r->p, header, sizeof(header)) != 0)
		return ETHER_TYPE_NONE;
	type = u16_at(r, 6);
	(void)skip(r, 8);
	return type;
}

/* Skips what may follow a link layer with an Ethernet type, up to IP. */
static uint16_t
behind(uint16_t type, struct rest *r)
{
	for (;;) {
		switch (type) {
		case ETHER_TYPE_VLAN:
		case ETHER_TYPE_SERVICE_VLAN:
		case ETHER_TYPE_OLD_SERVICE_VLAN:
			type = u16_at(r, 2);
			if (!skip(r, 4))
				return ETHER_TYPE_NONE;
			continue;
		case ETHER_TYPE_MPLS:
		case ETHER_TYPE_MPLS_MULTICAST:
			return mpls(r);
		case ETHER_TYPE_PPPOE: /* RFC 2516 */
			return skip(r, 6) ? ppp(r) : ETHER_TYPE_NONE;
		default: /* up to 1500 it is a length (IEEE 802.3) */
			return type != 0 && type <= 1500 ? snap(r) : type;
		}
	}
}

/* Skips a header of LEN bytes with an Ethernet type at OFF. */
static uint16_t
typed(struct rest *r, uint32_t off, uint32_t len)
{
	const uint16_t type = u16_at(r, off);

	return skip(r, len) ? behind(type, r) : ETHER_TYPE_NONE;
}

/* A data frame that is not encrypted (IEEE 802.11, 9.2.4 and 9.3.2). */
static uint16_t
wireless(struct rest *r)
{
	uint32_t len = 24;

	/* protocol version 0, data, with a body, not protected */
	if (r->n < 2 || (r->p[0] & 0x4f) != 0x08 || r->p[1] & 0x40)
		return ETHER_TYPE_NONE;
	if ((r->p[1] & 3) == 3)
		len += 6; /* a fourth address */
	if (r->p[0] & 0x80)
		len += r->p[1] & 0x80 ? 6 : 2; /* QoS; HT control */
	return skip(r, len) ? behind(snap(r), r) : ETHER_TYPE_NONE;
}

static uint16_t
radiotap(struct rest *r)
{
	/* its length is little-endian */
	if (r->n < 4 || !skip(r, (uint32_t)(r->p[2] | r->p[3] << 8)))
		return ETHER_TYPE_NONE;
	return wireless(r);
}

static uint16_t
find(uint16_t link_type, struct rest *r)
{
	switch (link_type) {
	case LINKTYPE_ETHERNET:
		return typed(r, 12, 14);
	case LINKTYPE_LINUX_SLL:
		return typed(r, 14, 16);
	case LINKTYPE_LINUX_SLL2:
		return typed(r, 0, 20);
	case LINKTYPE_C_HDLC:
		return typed(r, 2, 4);
	case LINKTYPE_PPP:
		return ppp(r);
	case LINKTYPE_RAW:
	case LINKTYPE_IPV4:
	case LINKTYPE_IPV6:
		return by_version(r);
	case LINKTYPE_NULL: /* a family, whose number depends on the system */
	case LINKTYPE_LOOP:
		return skip(r, 4) ? by_version(r) : ETHER_TYPE_NONE;
	case LINKTYPE_IEEE802_11:
		return wireless(r);
	case LINKTYPE_RADIOTAP:
		return radiotap(r);
	default:
		return ETHER_TYPE_NONE;
	}
}

uint16_t
link_find(uint16_t link_type, const uint8_t *p, uint32_t n, uint32_t *offset)
{
	struct rest r = { p, n };
	const uint16_t type = find(link_type, &r);

	*offset = n - r.n;
	return type;
}

bool
link_is_known(uint16_t link_type)
{
	static const uint16_t known[] = { LINKTYPE_ETHERNET, LINKTYPE_LINUX_SLL,
		LINKTYPE_LINUX_SLL2, LINKTYPE_C_HDLC, LINKTYPE_PPP,
		LINKTYPE_RAW, LINKTYPE_IPV4, LINKTYPE_IPV6, LINKTYPE_NULL,
		LINKTYPE_LOOP, LINKTYPE_IEEE802_11, LINKTYPE_RADIOTAP };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i] == link_type)
			return true;
	return false;
}
