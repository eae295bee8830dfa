/* SPDX-License-Identifier: MIT */
#include "tools/capture/headers.h"

#include <string.h>

#include "common/reader.h"
#include "tools/capture/record.h"

#define IPV4_LEN 20
#define IPV6_LEN 40
#define TCP_LEN 20
#define UDP_LEN 8

static void
find_transport(struct headers *h, const uint8_t *p, uint32_t n)
{
	const bool is_ipv4 = h->network_type == NETWORK_IPV4;
	enum transport_type type = TRANSPORT_UNKNOWN;
	uint32_t len = UDP_LEN; /* also that of ICMP */

	h->payload = p;
	h->payload_len = n;
	if (h->protocol == PROTOCOL_TCP) {
		type = TRANSPORT_TCP;
		len = TCP_LEN;
	} else if (h->protocol == PROTOCOL_UDP) {
		type = TRANSPORT_UDP;
	} else if (h->protocol == PROTOCOL_ICMP && is_ipv4) {
		type = TRANSPORT_ICMP;
	} else if (h->protocol == PROTOCOL_ICMPV6 && !is_ipv4) {
		type = TRANSPORT_ICMPV6;
	}
	if (type == TRANSPORT_UNKNOWN || n < len)
		return;
	h->transport_type = type;
	h->transport = p;
	h->transport_len = n;
}

static void
find_ipv4(struct headers *h, const uint8_t *p, uint32_t n)
{
	uint32_t len, total, fragment;

	if (n < IPV4_LEN || p[0] >> 4 != 4 || (p[0] & 0x0f) < 5)
		return;
	len = (p[0] & 0x0fU) * 4;
	total = link_layer_u16(p + 2);
	fragment = link_layer_u16(p + 6);
	/* 0: the network card will divide it (TCP segmentation offload). */
	if (total != 0 && total < n)
		n = total < len ? IPV4_LEN : total;
	h->network_type = NETWORK_IPV4;
	h->network = p;
	h->network_len = n;
	h->protocol = p[9];
	h->is_fragment = (fragment & 0x3fff) != 0;
	if ((fragment & 0x1fff) == 0 && n > len)
		find_transport(h, p + len, n - len);
}

/* Take an extension header of kind NEXT: its bytes, NULL if it is not complete.
 * Its length counts the bytes after the first 8. */
static const uint8_t *
take_extension(struct reader *r, uint8_t next)
{
	const uint8_t *p = reader_take(r, 8);

	if (p == NULL || next == PROTOCOL_FRAGMENT)
		return p;
	if (reader_take(r, next == PROTOCOL_AUTHENTICATION ? p[1] * 4U
							   : p[1] * 8U) == NULL)
		return NULL;
	return p;
}

static bool
is_skipped(uint8_t next)
{
	return next == PROTOCOL_HOP_BY_HOP || next == PROTOCOL_ROUTING ||
	       next == PROTOCOL_FRAGMENT || next == PROTOCOL_DESTINATION ||
	       next == PROTOCOL_AUTHENTICATION;
}

/* After the fixed header of IPv6 (RFC 8200, 4). */
static void
skip_extensions(struct headers *h, struct reader *r, uint8_t next)
{
	bool is_first = true;

	for (unsigned i = 0; is_first && is_skipped(next); i++) {
		const uint8_t *p = i == HEADERS_EXTENSIONS
				       ? NULL
				       : take_extension(r, next);

		if (p == NULL)
			return;
		if (next == PROTOCOL_FRAGMENT) {
			const unsigned fragment = link_layer_u16(p + 2);

			is_first = (fragment & 0xfff8) == 0;
			h->is_fragment |= (fragment & 0xfff9) != 0;
		}
		next = p[0];
	}
	if (is_skipped(next))
		return;
	h->protocol = next;
	if (is_first)
		find_transport(h, r->p, (uint32_t)reader_left(r));
}

static void
find_ipv6(struct headers *h, const uint8_t *p, uint32_t n)
{
	struct reader r;
	uint32_t payload;

	if (n < IPV6_LEN || p[0] >> 4 != 6)
		return;
	payload = link_layer_u16(p + 4);
	/* 0: more than the field can say (RFC 2675), or offload as above. */
	if (payload != 0 && IPV6_LEN + payload < n)
		n = IPV6_LEN + payload;
	h->network_type = NETWORK_IPV6;
	h->network = p;
	h->network_len = n;
	r = reader_over(p + IPV6_LEN, n - IPV6_LEN);
	skip_extensions(h, &r, p[6]);
}

/* What begins in the N bytes at P after the link layer. */
static void
find_network(struct headers *h, const uint8_t *p, uint32_t n)
{
	p += h->link.offset;
	n -= h->link.offset;
	if (h->link.is_piece)
		return;
	if (h->link.network == ETHER_TYPE_IPV4)
		find_ipv4(h, p, n);
	else if (h->link.network == ETHER_TYPE_IPV6)
		find_ipv6(h, p, n);
}

void
headers_find(
    struct headers *h, uint16_t link_type, const uint8_t *p, uint32_t n)
{
	*h = (struct headers){ 0 };
	link_layer_find(&h->link, link_type, p, n);
	find_network(h, p, n);
}

enum tunnel_type
headers_find_inner(struct headers *h, const struct headers *outer)
{
	const uint8_t *p = outer->payload;
	uint32_t n = outer->payload_len;
	struct tunnel t;

	if (p == NULL)
		return TUNNEL_NONE;
	tunnel_find(&t, outer->protocol, p, n);
	if (t.type == TUNNEL_NONE || t.type == TUNNEL_UNKNOWN)
		return TUNNEL_NONE;
	p += t.offset;
	n -= t.offset;
	*h = (struct headers){ 0 };
	if (t.ether_type == ETHER_TYPE_ETHERNET)
		link_layer_find(&h->link, LINKTYPE_ETHERNET, p, n);
	else
		link_layer_find_typed(&h->link, t.ether_type, p, n);
	find_network(h, p, n);
	return h->network_type == NETWORK_UNKNOWN ? TUNNEL_NONE : t.type;
}

/* The finalizer of MurmurHash3 (Appleby, public domain): each bit of V changes
 * each bit of the result with a probability of about one half. */
static uint64_t
mix(uint64_t v)
{
	v = (v ^ v >> 33) * 0xff51afd7ed558ccd;
	v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53;
	return v ^ v >> 33;
}

static uint64_t
four_bytes(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t
eight_bytes(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t
mix_ipv6(const uint8_t *address, uint64_t port)
{
	return mix(eight_bytes(address) + mix(eight_bytes(address + 8) ^ port));
}

uint32_t
headers_flow_hash(const struct headers *h)
{
	const uint8_t *ip = h->network;
	uint64_t ports[2] = { 0, 0 }, protocol = 0, both;
	uint32_t hash;

	if (h->network_type == NETWORK_UNKNOWN)
		return 0;
	if (!h->is_fragment)
		protocol = h->protocol;
	if (!h->is_fragment && (h->transport_type == TRANSPORT_TCP ||
				   h->transport_type == TRANSPORT_UDP)) {
		ports[0] = link_layer_u16(h->transport);
		ports[1] = link_layer_u16(h->transport + 2);
	}
	/* A sum does not depend on which endpoint comes first. */
	if (h->network_type == NETWORK_IPV4)
		both = mix(four_bytes(ip + 12) << 16 | ports[0]) +
		       mix(four_bytes(ip + 16) << 16 | ports[1]);
	else
		both = mix_ipv6(ip + 8, ports[0]) + mix_ipv6(ip + 24, ports[1]);
	hash = (uint32_t)mix(both + protocol);
	return hash != 0 ? hash : 1;
}
