/* SPDX-License-Identifier: MIT */
/*
 * Where the headers of a packet are. Nothing is copied; a pointer that is not
 * NULL points to a whole header. The input may be any bytes, of any length. No
 * state, any thread.
 */
#ifndef TOOLS_CAPTURE_HEADERS_H
#define TOOLS_CAPTURE_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/capture/link_layer.h"
#include "tools/capture/tunnel.h"

/* Extension headers of IPv6 that are skipped: each kind that RFC 8200
 * recommends once, and the second one of destination options. */
#define HEADERS_EXTENSIONS 6

enum network_type { NETWORK_UNKNOWN, NETWORK_IPV4, NETWORK_IPV6 };
enum transport_type {
	TRANSPORT_UNKNOWN, /* also: a fragment that is not the first */
	TRANSPORT_TCP,
	TRANSPORT_UDP,
	TRANSPORT_ICMP,	  /* over IPv4 */
	TRANSPORT_ICMPV6, /* over IPv6 */
};

struct headers {
	struct link_layer link;
	enum network_type network_type;
	const uint8_t *network; /* 20 bytes of IPv4 (RFC 791), 40 of IPv6 (RFC
				   8200) */
	uint32_t network_len; /* captured bytes from it on, without those after
				 the length that it claims */

	enum transport_type transport_type;
	bool is_fragment; /* of a packet that has more of them */
	uint8_t protocol; /* of the transport, after IPv6's extension headers; 0
			     if it is not known */
	const uint8_t *payload;	  /* what PROTOCOL names; NULL: not captured, or
				     in an earlier fragment */
	uint32_t payload_len;	  /* captured bytes from it on, as network_len
				     counts */
	const uint8_t *transport; /* 20 bytes of TCP (RFC 9293), 8 of UDP (RFC
				     768) or ICMP (RFC 792, RFC 4443) */
	uint32_t transport_len;	  /* captured bytes from it on, as network_len
				     counts */
};

/* P has N bytes from the link layer on; LINK_TYPE is an enum linktype. */
void headers_find(
    struct headers *h, uint16_t link_type, const uint8_t *p, uint32_t n);

/* The headers of the packet within the packet of OUTER; of several in each
 * other, the outermost. TUNNEL_NONE: there is none with a network header. */
enum tunnel_type headers_find_inner(
    struct headers *h, const struct headers *outer);

/*
 * A hash that is equal for both directions of a flow: of addresses, protocol
 * and, where they are known, ports. All fragments of a packet have the same:
 * that of the addresses alone. 0: there is no network header. Made for "modulo
 * N"; another machine may have other values.
 */
uint32_t headers_flow_hash(const struct headers *h);

#endif
