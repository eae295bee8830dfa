/* SPDX-License-Identifier: MIT */
/*
 * Prefix-preserving anonymisation of IP addresses (Crypto-PAn: Xu, Fan, Ammar,
 * Moon, "Prefix-Preserving IP Address Anonymization", 2002): two addresses that
 * share a prefix of N bits share one of N bits afterwards. The same key gives
 * the same IPv4 addresses as libtrace's traceanon; IPv6 addresses are treated
 * in the same way. One thread per object, which caches results in memory of a
 * fixed size.
 */
#ifndef TOOLS_CAPTURE_ANON_H
#define TOOLS_CAPTURE_ANON_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

#define ANON_KEY_LEN 32

struct anon;

/* KEY is copied. Fails with E_NOMEM only. */
enum status anon_create(
    struct anon **out, const uint8_t key[ANON_KEY_LEN]) MUST_CHECK;
void anon_destroy(struct anon *a); /* NULL is fine; the key is wiped */

/* Read a key: a regular file of exactly ANON_KEY_LEN bytes, to which its group
 * and others have no access. Not OK: *WHY is a constant string; errno is 0 or
 * the reason, and KEY is zeros. */
enum status anon_read_key(
    const char *file, uint8_t key[ANON_KEY_LEN], const char **why) MUST_CHECK;

/* In place, network order: 4 and 16 bytes. */
void anon_ipv4(struct anon *a, uint8_t address[4]);
void anon_ipv6(struct anon *a, uint8_t address[16]);

/* How to treat checksums that no longer match: those of IPv4's header, TCP,
 * UDP, UDP-Lite, DCCP, ICMP, ICMPv6, GRE and PIM. */
enum anon_checksums {
	/* Adjust them by the difference (RFC 1624): a right one stays right, a
	 * wrong one wrong. One that the sender's network card was to fill in
	 * reveals the sum of both true addresses even then: for traffic of this
	 * machine ANON_BLANK is the safe choice. */
	ANON_MEND,
	ANON_BLANK, /* 0, as traceanon does in the outer headers */
};

/*
 * Anonymise a packet of N bytes from its link layer on; LINK_TYPE is an enum
 * linktype. False: it has something that is not understood, and that may have
 * addresses, so its bytes must not be passed on. Addresses are replaced
 * (anon_ipv4(), anon_ipv6()) in
 * - IPv4 and IPv6 headers, also in the routes and time stamps of IPv4's
 *   options, IPv6's routing headers (types 0, 2, 4) and home address option;
 * - ARP: the protocol addresses of IPv4;
 * - ICMP redirects and router advertisements; ICMPv6 neighbour discovery (with
 *   prefixes, DNS servers and quotes in its options) and multicast listeners;
 * - packets that ICMP errors quote, and those inside tunnels
 *   (tools/capture/tunnel.h) and MPLS; up to ANON_DEPTH deep. Not in PIM over
 *   IPv6, whose checksum does not tell what it covers.
 * Each other protocol, message, option and extension is not understood, unless
 * it is listed as one without addresses. What is behind a packet's end (padding
 * of Ethernet) becomes zeros. MAC addresses stay, as do the payloads of TCP,
 * UDP, SCTP, ICMP and their like, which may say anything, also in fragments,
 * and of ESP, which is taken as encrypted.
 *
 * An address or a checksum that is cut off becomes zeros, so does the checksum
 * of an incomplete IPv4 header: it would reveal what is missing.
 */
#define ANON_DEPTH 8
bool anon_packet(struct anon *a, uint16_t link_type, uint8_t *p, uint32_t n,
    enum anon_checksums checksums) MUST_CHECK;

#endif
