/* SPDX-License-Identifier: MIT */
#include "tools/capture/tunnel.h"

#include "common/reader.h"
#include "tools/capture/link_layer.h"

/* Ports of UDP (IANA). */
enum {
	PORT_L2TP = 1701,
	PORT_GTP = 2152,
	PORT_AMT = 2268,
	PORT_TEREDO = 3544,
	PORT_LISP = 4341,
	PORT_GRE = 4754,
	PORT_VXLAN = 4789,
	PORT_VXLAN_GPE = 4790,
	PORT_CAPWAP = 5247,
	PORT_FOU = 5555, /* Linux */
	PORT_GUE = 6080,
	PORT_GENEVE = 6081,
	PORT_MPLS = 6635,
	PORT_OLD_VXLAN = 8472, /* Linux */
	PORT_TZSP = 37008,
};

/* Version 0, without routes (RFC 1701). Its flags say what else is there. */
static uint16_t
gre(struct reader *r)
{
	const uint8_t *p = reader_take(r, 4);

	if (p == NULL || p[0] & 0x40 || p[1] & 7)
		return ETHER_TYPE_NONE;
	for (unsigned flag = 0x80; flag >= 0x10; flag /= 2)
		if (p[0] & flag) /* checksum, key, number */
			(void)reader_take(r, 4);
	return link_layer_u16(p + 2);
}

/* The protocol counts only where the port says that there is one. */
static uint16_t
vxlan(struct reader *r, bool has_protocol)
{
	static const uint16_t types[] = { ETHER_TYPE_NONE, ETHER_TYPE_IPV4,
		ETHER_TYPE_IPV6, ETHER_TYPE_ETHERNET, ETHER_TYPE_NONE,
		ETHER_TYPE_MPLS };
	const uint8_t *p = reader_take(r, 8);

	if (p == NULL || !has_protocol)
		return p == NULL ? ETHER_TYPE_NONE : ETHER_TYPE_ETHERNET;
	return p[3] < sizeof(types) / sizeof(types[0]) ? types[p[3]]
						       : ETHER_TYPE_NONE;
}

static uint16_t
geneve(struct reader *r)
{
	const uint8_t *p = reader_take(r, 8);

	if (p == NULL || reader_take(r, (p[0] & 63) * 4U) == NULL)
		return ETHER_TYPE_NONE;
	return link_layer_u16(p + 2);
}

/* A message of type 255, with what its flags say: a number, and further headers
 * of N words whose last byte is the type of the next one. */
static uint16_t
gtp(struct reader *r)
{
	const uint8_t *p = reader_take(r, 8);
	uint8_t next;

	if (p == NULL || (p[0] & 0xf0) != 0x30 || p[1] != 255)
		return ETHER_TYPE_NONE;
	if ((p[0] & 7) == 0)
		return link_layer_by_version(r);
	(void)reader_take(r, 3);
	next = reader_u8(r);
	while ((p[0] & 4) != 0 && next != 0 && !r->bad) {
		const uint32_t len = reader_u8(r) * 4U;

		if (len == 0 || reader_take(r, len - 2) == NULL)
			return ETHER_TYPE_NONE;
		next = reader_u8(r);
	}
	return link_layer_by_version(r);
}

/* From and to it come packets that are not parsed; of GTP, those are that go to
 * its port. */
static bool
is_unknown_tunnel(uint16_t port)
{
	switch (port) {
	case PORT_L2TP:
	case PORT_GTP:
	case PORT_AMT:
	case PORT_TEREDO:
	case PORT_LISP:
	case PORT_CAPWAP:
	case PORT_FOU:
	case PORT_GUE:
	case PORT_TZSP:
		return true;
	default:
		return false;
	}
}

static enum tunnel_type
udp(struct reader *r, uint16_t *type)
{
	const uint8_t *p = reader_take(r, 8);

	switch (p == NULL ? 0 : link_layer_u16(p + 2)) {
	case PORT_VXLAN:
	case PORT_OLD_VXLAN:
		*type = vxlan(r, false);
		return TUNNEL_VXLAN;
	case PORT_VXLAN_GPE:
		*type = vxlan(r, true);
		return TUNNEL_VXLAN;
	case PORT_GENEVE:
		*type = geneve(r);
		return TUNNEL_GENEVE;
	case PORT_MPLS:
		*type = ETHER_TYPE_MPLS;
		return TUNNEL_MPLS;
	case PORT_GTP:
		*type = gtp(r);
		return TUNNEL_GTP;
	case PORT_GRE:
		*type = gre(r);
		return TUNNEL_GRE;
	default:
		return p != NULL &&
			       (is_unknown_tunnel(link_layer_u16(p)) ||
				   is_unknown_tunnel(link_layer_u16(p + 2)))
			   ? TUNNEL_UNKNOWN
			   : TUNNEL_NONE;
	}
}

/* Version 2, type 1. Other messages have addresses of routers. */
static uint16_t
pim(struct reader *r)
{
	const uint8_t *p = reader_take(r, 8);

	return p == NULL || p[0] != 0x21 ? ETHER_TYPE_NONE
					 : link_layer_by_version(r);
}

void
tunnel_find(struct tunnel *t, uint8_t protocol, const uint8_t *p, uint32_t n)
{
	struct reader r = reader_over(p, n);

	*t = (struct tunnel){ .type = TUNNEL_NONE };
	switch (protocol) {
	case PROTOCOL_IPV4:
	case PROTOCOL_IPV6:
		t->type = TUNNEL_IP;
		t->ether_type = protocol == PROTOCOL_IPV4 ? ETHER_TYPE_IPV4
							  : ETHER_TYPE_IPV6;
		break;
	case PROTOCOL_GRE:
		t->type = TUNNEL_GRE;
		t->ether_type = gre(&r);
		break;
	case PROTOCOL_PIM:
		t->type = TUNNEL_PIM;
		t->ether_type = pim(&r);
		break;
	case PROTOCOL_UDP:
		t->type = udp(&r, &t->ether_type);
		break;
	default:
		return;
	}
	if (t->type != TUNNEL_NONE && (r.bad || t->ether_type == 0))
		t->type = TUNNEL_UNKNOWN;
	t->offset = (uint32_t)(r.p - p);
}
