/* SPDX-License-Identifier: MIT */
/* Packets within others: where the inner one begins. No state, any thread. */
#ifndef TOOLS_CAPTURE_TUNNEL_H
#define TOOLS_CAPTURE_TUNNEL_H

#include <stdint.h>

enum tunnel_type {
	TUNNEL_NONE,
	TUNNEL_UNKNOWN, /* there is a packet, or may be one, but not where */
	TUNNEL_IP,	/* RFC 2003, RFC 2473, RFC 4213 */
	TUNNEL_GRE,	/* RFC 2784, RFC 2890 */
	TUNNEL_VXLAN,	/* RFC 7348, and with a protocol (VXLAN-GPE) */
	TUNNEL_GENEVE,	/* RFC 8926 */
	TUNNEL_MPLS,	/* over UDP (RFC 7510) */
	TUNNEL_GTP,	/* GTP-U (3GPP TS 29.281) */
	TUNNEL_PIM,	/* Register (RFC 7761, 4.9.3) */
};

struct tunnel {
	enum tunnel_type type;
	uint16_t ether_type; /* of the inner packet, an enum ether_type */
	uint32_t offset;     /* at most N; the inner packet begins there */
};

/* The N captured bytes at P follow an IP header; PROTOCOL says what they are.
 * Of UDP the destination port decides; of what is not parsed, either one. */
void tunnel_find(
    struct tunnel *t, uint8_t protocol, const uint8_t *p, uint32_t n);

#endif
