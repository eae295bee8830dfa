/* SPDX-License-Identifier: MIT */
#include "tools/capture/link_layer.h"

#include <assert.h>
#include <string.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "tools/capture/record.h"

/* Protocols of PPP (IANA). */
enum { PPP_IPV4 = 0x0021, PPP_IPV6 = 0x0057, PPP_MPLS = 0x0281 };

uint16_t
link_layer_by_version(const struct reader *r)
{
	if (reader_left(r) == 0)
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

/* RFC 1661, RFC 1662: address and control may be missing, and the first byte of
 * the protocol, whose last byte is always odd. */
static uint16_t
ppp(struct reader *r)
{
	uint16_t protocol;

	if (reader_left(r) >= 2 && link_layer_u16(r->p) == 0xff03)
		(void)reader_take(r, 2);
	protocol = reader_u8(r);
	if (protocol % 2 == 0)
		protocol = (uint16_t)(protocol << 8 | reader_u8(r));
	if (protocol == PPP_IPV4)
		return ETHER_TYPE_IPV4;
	if (protocol == PPP_MPLS)
		return ETHER_TYPE_MPLS;
	return protocol == PPP_IPV6 ? ETHER_TYPE_IPV6 : ETHER_TYPE_NONE;
}

/* IEEE 802.2: IP has a number of its own; SNAP has an Ethernet type (RFC 1042,
 * IEEE 802.1H). */
static uint16_t
llc(struct reader *r)
{
	const uint8_t *p = reader_take(r, 3);

	if (p != NULL && memcmp(p, "\x06\x06\x03", 3) == 0)
		return ETHER_TYPE_IPV4;
	if (p == NULL || memcmp(p, "\xaa\xaa\x03", 3) != 0)
		return ETHER_TYPE_NONE;
	p = reader_take(r, 5);
	if (p == NULL || p[0] != 0 || p[1] != 0 || (p[2] != 0 && p[2] != 0xf8))
		return ETHER_TYPE_NONE;
	return link_layer_u16(p + 3);
}

/* IEEE 802.11-2016, 9.2: frame control tells what else is in the header. */
static uint16_t
wireless(struct reader *r, bool *is_piece)
{
	const uint8_t *frame = reader_take(r, 24), *qos;

	/* Version 0, data, with a body, not encrypted. */
	if (frame == NULL || (frame[0] & 0x4f) != 0x08 || frame[1] & 0x40)
		return ETHER_TYPE_NONE;
	/* More fragments; a fragment number. */
	*is_piece = (frame[1] & 0x04) != 0 || (frame[22] & 0x0f) != 0;
	if ((frame[1] & 0x03) == 0x03) /* a fourth address */
		(void)reader_take(r, 6);
	if (frame[0] & 0x80) {
		qos = reader_take(r, 2);
		*is_piece |= qos == NULL || (qos[0] & 0x80) != 0;
		if (frame[1] & 0x80) /* HT control */
			(void)reader_take(r, 4);
	}
	return llc(r);
}

static uint16_t
radiotap(struct reader *r, bool *is_piece)
{
	const uint8_t *p = reader_take(r, 4);
	/* Its length is little-endian. */
	const unsigned len = p == NULL ? 0 : p[2] | (unsigned)p[3] << 8;

	if (len < 4 || reader_take(r, len - 4) == NULL)
		return ETHER_TYPE_NONE;
	return wireless(r, is_piece);
}

/* RFC 3032: labels, of which the last is marked. */
static uint16_t
mpls(struct reader *r)
{
	const uint8_t *label;

	do {
		label = reader_take(r, 4);
		if (label == NULL)
			return ETHER_TYPE_NONE;
	} while ((label[2] & 1) == 0);
	return link_layer_by_version(r);
}

static uint16_t
vlan(struct link_layer *l, struct reader *r)
{
	const uint8_t *tag = reader_take(r, 4);

	if (tag == NULL)
		return ETHER_TYPE_NONE;
	if (l->n_vlans < LINK_LAYER_VLANS)
		l->vlans[l->n_vlans++] = link_layer_u16(tag);
	return l->ether_type = link_layer_u16(tag + 2);
}

/* Skip what may follow a link layer with an Ethernet type, up to IP. */
static uint16_t
after(struct link_layer *l, uint16_t type, struct reader *r)
{
	l->ether_type = type;
	for (;;) {
		switch (type) {
		case ETHER_TYPE_VLAN:
		case ETHER_TYPE_SERVICE_VLAN:
		case ETHER_TYPE_OLD_SERVICE_VLAN:
			type = vlan(l, r);
			break;
		case ETHER_TYPE_MPLS:
		case ETHER_TYPE_MPLS_MULTICAST:
			l->is_guess = true;
			return mpls(r);
		case ETHER_TYPE_PPPOE: /* RFC 2516 */
			(void)reader_take(r, 6);
			type = ppp(r);
			break;
		default: /* up to 1500 it is a length (IEEE 802.3) */
			if (type == ETHER_TYPE_NONE || type > 1500)
				return type;
			type = llc(r);
			break;
		}
	}
}

/* Skip a header of LEN bytes with an Ethernet type at OFF. */
static uint16_t
typed(struct link_layer *l, struct reader *r, uint32_t off, uint32_t len)
{
	const uint8_t *p = reader_take(r, len);

	return p == NULL ? ETHER_TYPE_NONE
			 : after(l, link_layer_u16(p + off), r);
}

static uint16_t
find(struct link_layer *l, uint16_t link_type, struct reader *r)
{
	switch (link_type) {
	case LINKTYPE_ETHERNET:
		l->ethernet = reader_left(r) >= 14 ? r->p : NULL;
		return typed(l, r, 12, 14);
	case LINKTYPE_LINUX_SLL:
		return typed(l, r, 14, 16);
	case LINKTYPE_LINUX_SLL2:
		return typed(l, r, 0, 20);
	case LINKTYPE_C_HDLC:
		return typed(l, r, 2, 4);
	case LINKTYPE_PPP:
		return after(l, ppp(r), r);
	case LINKTYPE_NULL: /* a family, whose number depends on the system */
	case LINKTYPE_LOOP:
		(void)reader_take(r, 4);
		return after(l, link_layer_by_version(r), r);
	case LINKTYPE_RAW:
	case LINKTYPE_IPV4:
	case LINKTYPE_IPV6:
		return after(l, link_layer_by_version(r), r);
	case LINKTYPE_IEEE802_11:
		return after(l, wireless(r, &l->is_piece), r);
	case LINKTYPE_RADIOTAP:
		return after(l, radiotap(r, &l->is_piece), r);
	default:
		return ETHER_TYPE_NONE;
	}
}

static void
set_network(struct link_layer *l, uint16_t network, const struct reader *r,
    const uint8_t *p)
{
	l->network = r->bad ? ETHER_TYPE_NONE : network;
	l->offset = (uint32_t)(r->p - p);
	assert(r->p <= r->end);
}

void
link_layer_find(
    struct link_layer *l, uint16_t link_type, const uint8_t *p, uint32_t n)
{
	struct reader r = reader_over(p, n);

	*l = (struct link_layer){ 0 };
	set_network(l, find(l, link_type, &r), &r, p);
}

void
link_layer_find_typed(
    struct link_layer *l, uint16_t ether_type, const uint8_t *p, uint32_t n)
{
	struct reader r = reader_over(p, n);

	*l = (struct link_layer){ 0 };
	set_network(l, after(l, ether_type, &r), &r, p);
}

bool
link_layer_is_known(uint16_t link_type)
{
	static const uint16_t known[] = { LINKTYPE_ETHERNET, LINKTYPE_LINUX_SLL,
		LINKTYPE_LINUX_SLL2, LINKTYPE_C_HDLC, LINKTYPE_PPP,
		LINKTYPE_RAW, LINKTYPE_IPV4, LINKTYPE_IPV6, LINKTYPE_NULL,
		LINKTYPE_LOOP, LINKTYPE_IEEE802_11, LINKTYPE_RADIOTAP };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i] == link_type)
			return true;
	return false;
}
